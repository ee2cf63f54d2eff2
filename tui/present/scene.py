"""A scene: one view at one moment, with what its rows are drawn from worked out at most once."""

from __future__ import annotations

from functools import cached_property

from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch, BatchState
from batchdeck.core.model.gate import Gate
from batchdeck.core.model.task import Task
from batchdeck.core.model.turn import Turn
from batchdeck.core.rules.gates import gates_of, shut
from batchdeck.core.rules.standing import Standing
from batchdeck.core.view import DeckView
from batchdeck.tui.present.ended import Ended, EndedTasks
from batchdeck.tui.present.named_conversations import named_conversations
from batchdeck.tui.present.needs import Need, Needs
from batchdeck.tui.present.queues import Queues


class Kept:
    """What is worked out from view to view, for as long as somebody looks at one deck."""

    def __init__(self) -> None:
        self.needs = Needs()
        self.ended = EndedTasks()


class Scene:
    """What a screen draws from.

    Args:
        kept: What its likes before were drawn from; without it everything is looked through.
        queues: The queues of this very view, where somebody keeps them anyway; counting a place
            afresh costs a walk over all turns.
    """

    def __init__(
        self,
        view: DeckView,
        now_ms: int,
        queues: Queues | None = None,
        remark: str = "",
        bars: bool = True,
        kept: Kept | None = None,
    ) -> None:
        self.view = view
        self.now_ms = now_ms
        self.remark = remark
        """What every screen says below its headline."""
        self.bars = bars
        """Whether bars are drawn; a slow terminal has better use for its bytes."""
        self._queues = queues
        self._kept = kept or Kept()

    @cached_property
    def queues(self) -> Queues:
        """The agents' queues in the order of service."""
        if self._queues is not None and self._queues.view is self.view:
            return self._queues
        queues = Queues()
        queues.update(self.view)
        return queues

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """What needs a person, the urgent first."""
        return self._kept.needs.of(self.view)

    @cached_property
    def ended_at_work(self) -> Ended:
        """How the tasks of the batches at work stand."""
        return self._kept.ended.of(self.view, (batch.name for batch in self.active_batches))

    @cached_property
    def standing(self) -> Standing:
        return Standing(self.view)

    @cached_property
    def asks_by_turn(self) -> dict[int, Ask]:
        """The oldest of each."""
        oldest: dict[int, Ask] = {}
        for ask in self.view.asks.values():
            oldest.setdefault(ask.turn, ask)
        return oldest

    @cached_property
    def active_batches(self) -> tuple[Batch, ...]:
        return active_batches(self.view)

    def gates(self, turn: Turn) -> tuple[Gate, ...]:
        """Every gate of a queued turn."""
        return gates_of(turn, self.standing, self.now_ms)

    def shut_gates(self, turn: Turn) -> tuple[Gate, ...]:
        return shut(self.gates(turn))

    def place(self, turn: Turn) -> int:
        """1-based place among its agent's queued turns."""
        return self.queues.place(turn)

    def task_of(self, turn: Turn) -> Task | None:
        return None if turn.task is None else self.view.tasks.get(turn.task)

    def name_of(self, turn: Turn) -> str:
        """Its task as people call it, or its conversation."""
        task = self.task_of(turn)
        if task is None:
            number = turn.conversation
            return named_conversations.of(self.view).get(number, f"c{number}")
        return task.name if len(self.active_batches) > 1 else task.key


EMPTY_SCENE = Scene(DeckView(), 0)
"""What a widget shows before it has been given anything."""


def active_batches(view: DeckView) -> tuple[Batch, ...]:
    """The batches at work; none at work: the latest one, so that its end can be read."""
    running = tuple(b for b in view.batches.values() if b.state is BatchState.RUNNING)
    return running or tuple(view.batches.values())[-1:]
