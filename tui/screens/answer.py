"""The answer to an ask: one of its choices, or a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from batchdeck.core.answer_check import fitting_words
from batchdeck.core.commands import AnswerAsk, Command, Receipt
from batchdeck.core.model.ask import Ask
from batchdeck.core.text import clean_line, clean_text
from batchdeck.core.view import DeckView
from batchdeck.tui.present.fitting import inert, without_piles
from batchdeck.tui.present.receipts import refused_words
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.choice import Choice

_MOST_CHOICES = 9
_KEYS = "enter answers · esc back"
_KEYS_WHERE_LONG = f"{_KEYS} · pgdn shows more of it"


class AnswerScreen(LiveModal[None]):
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-middling"), (30, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("pagedown", "scroll_question(1)", show=False),
        Binding("pageup", "scroll_question(-1)", show=False),
    ]

    def __init__(
        self,
        ask: Ask,
        title: str,
        *,
        command: Callable[[str], Command] | None = None,
        done: str = "",
        is_open: Callable[[DeckView], bool] | None = None,
    ) -> None:
        """`command` is what an answer becomes, `is_open` whether it is still wanted; by default
        both are those of the ask."""
        super().__init__()
        self._ask = ask
        self._title = title
        self._command = command or (lambda answer: AnswerAsk(ask=ask.id, answer=answer))
        self._done = done
        self._is_open = is_open or (lambda view: ask.id in view.asks)
        self._sending = False

    def compose(self) -> ComposeResult:
        ask = self._ask
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(inert(self._title, 60))
            with VerticalScroll(can_focus=False, id="question"):
                words = "\n".join([ask.question, *fitting_words(ask)])
                yield Static(Content(without_piles(clean_text(words))), markup=False)
            for number, choice in enumerate(ask.choices[:_MOST_CHOICES], 1):
                yield Choice(inert(choice, 60), str(number), id=f"choice-{number}")
            if not ask.choices:
                answer = Input(
                    clean_line(ask.default or ""), placeholder="your answer", compact=True
                )
                answer.cursor_blink = False
                yield answer
            yield Static(_KEYS, id="words", markup=False)

    def on_mount(self) -> None:
        self.query_one(self._first()).focus()
        self.call_after_refresh(self._tell_if_long)

    def _first(self) -> str:
        """What Enter would answer with: the choice that the agent suggests, else the first."""
        choices = self._ask.choices[:_MOST_CHOICES]
        if not choices:
            return "Input"
        suggested = choices.index(self._ask.default) if self._ask.default in choices else 0
        return f"#choice-{suggested + 1}"

    def _tell_if_long(self) -> None:
        if self.query_one("#question").max_scroll_y:
            self._say(_KEYS_WHERE_LONG)

    def action_scroll_question(self, pages: int) -> None:
        question = self.query_one("#question")
        question.scroll_relative(y=pages * max(1, question.size.height - 1), animate=False)

    def watch_scene(self) -> None:
        if self.ready and not self._is_open(self.scene.view) and not self._sending:
            self.deck_app.say("that question has been answered elsewhere")
            self.finish(None)

    def on_key(self, event: events.Key) -> None:
        if event.character and event.character.isdigit() and self._ask.choices:
            number = int(event.character)
            if 1 <= number <= len(self._ask.choices[:_MOST_CHOICES]):
                event.stop()
                self._send(self._ask.choices[number - 1])

    @on(Button.Pressed)
    def _chosen(self, event: Button.Pressed) -> None:
        event.stop()
        number = int((event.button.id or "choice-1").removeprefix("choice-"))
        self._send(self._ask.choices[number - 1])

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self._send(event.value.strip())
        else:
            self._say("There is nothing to answer with yet.")

    def _send(self, answer: str) -> None:
        if self._sending or self._finished is not None:
            return
        self._sending = True
        self._say("sending …")
        self.deck_app.submit(self._command(answer), self._answered)

    def _answered(self, receipt: Receipt) -> None:
        self._sending = False
        if receipt.accepted:
            self.finish(None)
            self.deck_app.say(self._done)
            return
        self._say(refused_words(receipt))

    def _say(self, words: str) -> None:
        self.query_one("#words", Static).update(Content(words))
