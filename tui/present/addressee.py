"""Whom a message is for, and what stands in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from batchdeck.core.model.gate import Gate, GateName
from batchdeck.core.model.turn import LIVE, Turn
from batchdeck.core.rules.consequences import BusyAnswer, message_turn, place_in_front, would_wait
from batchdeck.core.rules.freeing import frees_alone
from batchdeck.core.rules.gates import evaluate
from batchdeck.tui.present.scene import Scene


@dataclass(frozen=True, slots=True)
class Addressee:
    """An agent, or one of its conversations; what is written stays with it."""

    to: str
    """As a command names it: `coder`, `c12`."""
    agent: str
    conversation: int | None = None
    task: int | None = None
    about: str = ""
    """The task's or conversation's name."""

    @property
    def label(self) -> str:
        return f"{self.agent} about {self.about}" if self.about else self.agent

    def standing(self, scene: Scene) -> BusyAnswer:
        """What a message would wait for if it were sent now."""
        return would_wait(scene.view, self._turn(scene), scene.now_ms)

    def place_in_front(self, scene: Scene) -> int:
        """The place that a message would get if it were to go next."""
        return place_in_front(scene.view, self._turn(scene))

    def replaceable(self, scene: Scene, gates: Sequence[Gate]) -> int | None:
        """The running turn whose end alone would let the message start."""
        holder = frees_alone(self._turn(scene), scene.view, gates, scene.now_ms)
        turn = None if holder is None else scene.view.turns[holder.turn]
        return None if turn is None or turn.state not in LIVE else turn.id

    def free_folder(self, scene: Scene) -> str | None:
        """The folder that the message would work in, where nobody else is in it."""
        gates = evaluate(self._turn(scene), scene.view, scene.now_ms)
        folders = (gate for gate in gates if gate.name is GateName.FOLDER and gate.open)
        return next((gate.subject for gate in folders), None)

    def _turn(self, scene: Scene) -> Turn:
        return message_turn(scene.view, self.agent, self.conversation, self.task)


def of_agent(name: str) -> Addressee:
    return Addressee(name, name)


def of_turn(turn: Turn, scene: Scene) -> Addressee:
    """The conversation that a turn belongs to."""
    return Addressee(
        f"c{turn.conversation}", turn.agent, turn.conversation, turn.task, scene.name_of(turn)
    )
