"""The answer to a question: one of its choices, or a text."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from batchdeck.core.commands import Receipt
from batchdeck.core.text import clean_line, clean_text
from batchdeck.tui.present.fitting import inert, without_piles
from batchdeck.tui.questions import Question
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.choice import Choice

_MOST_DIGITS = 9
_CHOICE_LENGTH = 400
_CHOICE_WIDTH, _FEW_LINES = 66, 5
"""Where the choices need more lines, they share the room with the question."""


class AnswerScreen(LiveModal[None]):
    AUTO_FOCUS = ""
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"), (18, "-middling"), (24, "-usual"), (30, "-tall")
    ]  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "keep", "Back", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("pagedown", "scroll_question(1)", show=False),
        Binding("pageup", "scroll_question(-1)", show=False),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question
        self._suggested = clean_line(question.suggested or "")
        self._first = self._suggested
        """What stands there at first: what was written before, else what is suggested."""

    def compose(self) -> ComposeResult:
        asked = self._question
        self._first = self.deck_app.drafts.of(asked.draft) or self._suggested
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(inert(asked.title, 60))
            with VerticalScroll(can_focus=False, id="question"):
                yield Static(Content(without_piles(clean_text(asked.words))), markup=False)
            if asked.choices:
                with Vertical(id="choices"):  # no scroller: arrows go from choice to choice
                    for number, choice in enumerate(asked.choices, 1):
                        key = str(number) if number <= _MOST_DIGITS else ""
                        yield Choice(inert(choice, _CHOICE_LENGTH), key, id=f"choice-{number}")
            else:
                answer = Input(
                    self._first,
                    placeholder="your answer",
                    compact=True,
                    # the next letter takes the place of what is suggested, not of one's own words
                    select_on_focus=self._first == self._suggested,
                )
                answer.cursor_blink = False
                yield answer
            yield Static(self._keys(), id="words", markup=False)

    def on_mount(self) -> None:
        lines = (1 + len(choice) // _CHOICE_WIDTH for choice in self._question.choices)
        self.set_class(sum(lines) > _FEW_LINES, "-many")
        first = self._question.first_choice
        if first is not None:
            self.query_one(f"#choice-{first + 1}").focus()
        elif not self._question.choices:
            self.query_one(Input).focus()
        self.call_after_refresh(self._tell_if_long)

    def _keys(self) -> str:
        if self._question.needs_a_choice:
            return "a number or ↓ chooses · enter answers · esc back"
        kept = "your draft · " if self._first != self._suggested else ""
        return f"{kept}enter answers · esc back"

    def _tell_if_long(self) -> None:
        if self.ready and self.query_one("#question").max_scroll_y:
            self.say(f"{self._keys()} · pgdn shows more of it")

    def action_scroll_question(self, pages: int) -> None:
        question = self.query_one("#question")
        question.scroll_relative(y=pages * max(1, question.size.height - 1), animate=False)

    def watch_scene(self) -> None:
        gone = not self._question.is_open(self.scene.view)
        if self.ready and gone and not self.under_way and self._finished is None:
            self.deck_app.say("that question has been answered elsewhere")
            self.finish(None)
            self.deck_app.drop_draft(self._question.draft)

    def on_key(self, event: events.Key) -> None:
        choices = self._question.choices
        if choices and event.character and event.character.isdecimal():
            number = int(event.character)
            if 1 <= number <= min(len(choices), _MOST_DIGITS):
                event.stop()
                self._answer(choices[number - 1])

    @on(Button.Pressed)
    def _chosen(self, event: Button.Pressed) -> None:
        event.stop()
        if not self.just_opened:
            number = int((event.button.id or "choice-1").removeprefix("choice-"))
            self._answer(self._question.choices[number - 1])

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        if self.just_opened and event.value == self._first:
            return  # an enter that follows letters is meant for them, however quick they were
        if event.value.strip():
            self._answer(event.value.strip())
        else:
            self.say("There is nothing to answer with yet.")

    def _answer(self, answer: str) -> None:
        if not self.under_way:
            self.say("sending …")
            self.send(self._question.command(answer), self._answered)

    def _answered(self, receipt: Receipt) -> None:
        self.finish(None)
        self.deck_app.say(self._question.done)
        self.deck_app.drop_draft(self._question.draft)

    @on(Input.Changed)
    def _remember(self, event: Input.Changed) -> None:
        own = "" if event.value.strip() == self._suggested.strip() else event.value
        self.deck_app.drafts.note(self._question.draft, own)

    def action_keep(self) -> None:
        self.finish(None)
        if self.deck_app.drafts.of(self._question.draft) and not self.under_way:
            self.deck_app.say("kept as a draft: it stands there when you open the same again")
        self.deck_app.save_drafts()
