"""Why a turn waits: every gate, who holds it, and what would free it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.rules.gates import shut
from batchdeck.core.rules.order import ordinal
from batchdeck.tui.present.fitting import fit, inert
from batchdeck.tui.present.gates import WhyLine, frees_line, why_lines
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import state_word, what
from batchdeck.tui.screens.live import LiveModal

_GATE, _WORDS, _HOLDERS = 12, 26, 52
_SENTENCES = {
    TurnState.RUNNING: "It does not wait for a slot: it runs.",
    TurnState.STOPPING: "It does not wait: it is being stopped.",
    TurnState.WAITING: "It waits for your answer (! shows it).",
}


class WhyScreen(LiveModal[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,w,enter", "dismiss", "Back", show=False)
    ]

    def __init__(self, turn_id: int) -> None:
        super().__init__()
        self._turn_id = turn_id
        self._shown: tuple[str, Content] | None = None

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", id="dialog"):
            yield Static(id="gates", markup=False)

    def on_mount(self) -> None:
        self.query_one("#dialog").focus()
        self._show()

    def watch_scene(self) -> None:
        if self.ready:
            self._show()

    def _show(self) -> None:
        turn = self.scene.view.turns.get(self._turn_id)
        shown = ("gone", Content("This turn is not known any more.")) if turn is None else None
        if turn is not None:
            shown = _explained(turn, self.scene)
        if shown is None or shown == self._shown:
            return
        self._shown = shown
        self.query_one("#dialog").border_title = Content(inert(shown[0], 60))
        self.query_one("#gates", Static).update(shown[1])


def _explained(turn: Turn, scene: Scene) -> tuple[str, Content]:
    name = f"#{turn.id} {scene.name_of(turn)}"
    if turn.state is not TurnState.QUEUED:
        return f"{name} · {state_word(turn, scene)}", Content(_state_words(turn, scene))
    gates = scene.gates(turn)
    lines = [_painted(line) for line in why_lines(gates, scene.view.deck, scene.now_ms)]
    free = frees_line(shut(gates))
    last = f"Free {inert(free)}." if free else "Every gate is open: it starts next."
    lines += [Content(""), Content.styled(last, "bold")]
    return f"why {name} waits · {ordinal(scene.place(turn))}", Content("\n").join(lines)


def _state_words(turn: Turn, scene: Scene) -> str:
    words = what(turn, scene)
    sentence = _SENTENCES.get(turn.state, f"It has ended: {turn.state}.")
    return f"{sentence}\n{inert(words)}" if words else sentence


def _painted(line: WhyLine) -> Content:
    sign, tone = ("✓", "done") if line.open else ("✗", "alert")
    words = fit(line.words, max(_WORDS, min(len(line.words), 48)))
    text = f" {fit(line.gate, _GATE)} {words}  {inert(line.holders, _HOLDERS)}"
    return Content.assemble((sign, f"$status-{tone}"), (text.rstrip(), "" if line.open else "bold"))
