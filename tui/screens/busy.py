"""The busy prompt: what is in the way of a message, live, and what can be done about it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from batchdeck.core.commands import OnBusy, Receipt, Send, new_id
from batchdeck.core.rules.consequences import BusyAnswer
from batchdeck.core.rules.gates import passable, shut
from batchdeck.core.text import one_line
from batchdeck.core.view import DeckView
from batchdeck.tui.present.addressee import Addressee
from batchdeck.tui.present.busy import (
    force_line,
    no_use_in_front,
    queue_line,
    standing_lines,
    title,
)
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.present.receipts import refused_words
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.usual import usual_words
from batchdeck.tui.screens.confirm import ConfirmScreen
from batchdeck.tui.screens.live import LiveModal
from batchdeck.tui.widgets.choice import Choice
from batchdeck.tui.widgets.choice_row import ChoiceRow

_LINES, _SHORT_LINES = 9, 5
"""Of what stands in the way: where there is room, and on a screen of few lines."""
_CATCH_UP_SECONDS = 0.3
"""After so long the view has overtaken the receipt that opened the prompt."""


KEPT = "kept"
"""The result where the text stays a draft."""


class BusyScreen(LiveModal[Receipt | str | None]):
    """Shows the text and does not edit it: escape takes it back to where it was written."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-middling")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "choose('next')", "Next in queue", show=False),
        Binding("f", "choose('now')", "Send now", show=False),
        Binding("r", "choose('replace')", "Replace", show=False),
        Binding("d", "choose('keep')", "Keep as draft", show=False),
        Binding("escape", "choose('cancel')", "Cancel", show=False),
    ]

    def __init__(self, addressee: Addressee, text: str, receipt: Receipt) -> None:
        super().__init__()
        self._addressee = addressee
        self._text = text
        self._refusal = receipt
        self._answer: BusyAnswer | None = None
        self._opening_view: DeckView | None = None
        self._command_id = new_id()
        self._remark = ""
        self._replaced: int | None = None
        self._usual = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="dialog"):
            yield Static(id="standing", markup=False)
            yield Static(id="consequences", markup=False)
            yield Static(Content(self._quoted()), id="text", markup=False)
            remark = Static(id="remark", markup=False)
            remark.display = False
            yield remark
            with ChoiceRow():
                yield Choice("Add to queue", "enter", id="queue")
                yield Choice("Next in queue", "n", id="next")
                yield Choice("Send now", "f", id="now")
                yield Choice("Replace", "r", id="replace")
                yield Choice("Keep as draft", "d", id="keep")
                yield Choice("Cancel", "esc", id="cancel")

    def on_mount(self) -> None:
        self._usual = usual_words(self.scene.view, self._addressee.agent)
        self._show_refusal(self._refusal)
        self.query_one("#queue", Choice).focus()

    def watch_scene(self, scene: Scene) -> None:
        if self.ready and scene.view is not self._opening_view:
            self._show(self._addressee.standing(scene))

    def on_resize(self) -> None:
        if self._answer is not None:
            self._show(self._answer)

    def _show_refusal(self, receipt: Receipt) -> None:
        self._opening_view = self.scene.view
        self._show(self._as_refused(receipt))
        self.set_timer(_CATCH_UP_SECONDS, self._catch_up)

    def _catch_up(self) -> None:
        self._opening_view = None
        self._show(self._addressee.standing(self.scene))

    def _as_refused(self, receipt: Receipt) -> BusyAnswer:
        """What the deck said when it refused, which the view may not show yet."""
        gates = shut(receipt.gates)
        answer = self._addressee.standing(self.scene)
        return replace(
            answer,
            gates=gates,
            position=receipt.position or answer.position,
            passable=bool(gates) and passable(gates),
        )

    def _show(self, answer: BusyAnswer) -> None:
        self._answer = answer
        most = _SHORT_LINES if self.has_class("-short") else _LINES
        self._put("#standing", "\n".join(standing_lines(answer, self.scene, most)))
        self._put("#consequences", self._consequences(answer))
        self._put("#remark", self._remark)
        dialog = self.query_one("#dialog")
        words = Content(inert(title(answer, self._addressee), 60))
        if dialog.border_title != words.markup:
            dialog.border_title = words
        dialog.set_class(answer.free, "-free")
        self.query_one("#queue", Choice).call_it("Send" if answer.free else "Add to queue")
        self.query_one("#next").display = not answer.free
        self.query_one("#next").disabled = bool(self._no_use_in_front(answer))
        self.query_one("#now").display = answer.passable and not answer.free
        self._offer_replacing(answer)

    def _offer_replacing(self, answer: BusyAnswer) -> None:
        """Where one running turn is all that stands in the way."""
        self._replaced = self._addressee.replaceable(self.scene, answer.gates)
        choice = self.query_one("#replace", Choice)
        choice.display = self._replaced is not None
        if self._replaced is not None:
            choice.call_it(f"Replace #{self._replaced}")

    def _consequences(self, answer: BusyAnswer) -> str:
        if answer.free:
            return "Nothing is in the way any more: enter sends it."
        no_use = self._no_use_in_front(answer)
        queued = queue_line(answer, self._addressee.agent, no_use)
        folder = self._addressee.free_folder(self.scene)
        lines = [queued, self._usual, force_line(answer, self.scene.view.deck, folder)]
        return "\n".join(line for line in lines if line)

    def _no_use_in_front(self, answer: BusyAnswer) -> str:
        return no_use_in_front(answer, self._addressee.place_in_front(self.scene))

    def _put(self, selector: str, words: str) -> None:
        place = self.query_one(selector, Static)
        content = Content("\n".join(inert(line) for line in words.split("\n")))
        if place.content != content:
            place.update(content)
            place.display = bool(words)

    def _quoted(self) -> str:
        return f"> {inert(one_line(self._text, 180))}"

    # what the operator chooses

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_choose(event.button.id or "cancel")

    def action_choose(self, choice: str) -> None:
        if self.under_way or self._answer is None:
            return
        if choice == "cancel":
            self.dismiss(None)
            return
        if choice == "keep":
            self.finish(KEPT)
            return
        if choice == "replace":
            self._ask_to_replace()
            return
        if choice == "now" and not self._answer.passable:
            self.say(force_line(self._answer, self.scene.view.deck))
            return
        if choice == "next" and self._no_use_in_front(self._answer):
            return  # why it is off stands in the prompt
        self.send(self._command(choice, self._answer), self.finish, self._refused)

    def _ask_to_replace(self) -> None:
        turn_id, app = self._replaced, self.deck_app
        turn = None if turn_id is None else self.scene.view.turns.get(turn_id)
        if turn is None or turn_id is None:
            self.say("No single running turn is in the way: there is none to replace.")
            return
        name = f"#{turn_id} {self.scene.name_of(turn)}"

        def then(sure: bool | None) -> None:
            if sure:
                self._replace(turn_id)

        app.open(ConfirmScreen(f"Stop {name}?", "Your message goes next.", "Stop it", "r"), then)

    def _replace(self, turn_id: int) -> None:
        """In one step: nobody else gets the slot of what is stopped."""
        self.say(f"stopping #{turn_id} …")
        send = Send(id=self._command_id, to=self._addressee.to, text=self._text)
        self.send(replace(send, replacing=turn_id), self.finish, self._refused)

    def _command(self, choice: str, answer: BusyAnswer) -> Send:
        send = Send(id=self._command_id, to=self._addressee.to, text=self._text)
        if answer.free:
            return send
        if choice == "now":
            passing = frozenset(gate.name for gate in answer.gates)
            return replace(send, on_busy=OnBusy.FORCE, passing=passing)
        return replace(send, on_busy=OnBusy.QUEUE, front=choice == "next")

    def _refused(self, receipt: Receipt) -> None:
        # a refused command is spent: another try must not be answered from memory
        self._command_id = new_id()
        self.say(refused_words(receipt))
        if shut(receipt.gates):
            self._show_refusal(receipt)

    def say(self, words: str) -> None:
        if not self.ready:
            super().say(words)
            return
        self._remark = words
        self._put("#remark", words)
