"""Whom a message is for, and what stands in its way."""

from __future__ import annotations

from dataclasses import dataclass

from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.consequences import BusyAnswer, message_turn, would_wait
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
        turn = message_turn(scene.view, self.agent, self.conversation, self.task)
        return would_wait(scene.view, turn, scene.now_ms)


def of_agent(name: str) -> Addressee:
    return Addressee(name, name)


def of_turn(turn: Turn, scene: Scene) -> Addressee:
    """The conversation that a turn belongs to."""
    return Addressee(
        f"c{turn.conversation}", turn.agent, turn.conversation, turn.task, scene.name_of(turn)
    )
