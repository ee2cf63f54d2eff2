"""What an earlier supervisor left running: settled by evidence, before anything is admitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.deck.dispatcher import Dispatcher, fenced, interrupted
from batchdeck.core.deck.engine import Engine
from batchdeck.core.deck.letters import Ended
from batchdeck.core.deck.losing import MOST_INTERRUPTIONS
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.state import DeckState
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.turn import AttemptEnd, Turn, TurnState
from batchdeck.core.points import reached
from batchdeck.core.text import counted


@dataclass(frozen=True, slots=True)
class Found:
    """What became of the turns that were running."""

    adopted: int = 0
    """They work on."""
    ended: int = 0
    """They had ended by then; what they left is read."""
    fenced: int = 0
    interrupted: int = 0

    @property
    def total(self) -> int:
        return self.adopted + self.ended + self.fenced + self.interrupted

    @property
    def words(self) -> str:
        if not self.total:
            return "Nothing was running."
        parts = [
            (self.adopted, "work on" if self.adopted > 1 else "works on"),
            (self.ended, "had ended"),
            (self.fenced, "never started and queued again"),
            (self.interrupted, "interrupted and queued again"),
        ]
        told = ", ".join(f"{number} {what}" for number, what in parts if number)
        return f"Of {counted(self.total, 'running turn')}: {told}."


async def settle_attempts(
    engine: Engine,
    dispatcher: Dispatcher,
    state: DeckState,
    reader: Reader,
    options: DeckOptions,
    *,
    crashed: bool = False,
) -> Found:
    """Settles each turn that was running: adopted, fenced, or back at its place.

    Killed in the middle, it may simply be run again: fencing is idempotent, adopting changes
    nothing, and each letter is one transaction. `crashed`: the supervisor before did not stop in
    order, so what it interrupted counts as such.
    """
    live = [state.turns[turn] for turn in tuple(state.live)]
    left = await _leftovers(dispatcher, state, reader, live)
    adopted: list[Turn] = []
    ended = 0
    counts = {"fenced": 0, "interrupted": 0}
    for turn in live:
        reached("recover")
        kind = state.agents[turn.agent].kind
        if kind is AgentKind.ACP and turn.attempt is not None:
            gone = replace(_GONE_WITH_IT, leftovers=left[turn.id])
            engine.post(Ended(turn.id, turn.attempt, gone))
            counts["interrupted"] += 1
        elif turn.attempt is None or not dispatcher.outlives(kind):
            outcome = await _interrupted(turn, reader) if crashed else interrupted()
            engine.post(Ended(turn.id, turn.attempt or "", outcome))
            counts["interrupted"] += 1
        elif await anyio.to_thread.run_sync(
            dispatcher.never_started, kind, reader.paths.run(turn.attempt)
        ):
            engine.post(Ended(turn.id, turn.attempt, fenced()))
            counts["fenced"] += 1
        else:
            run = reader.paths.run(turn.attempt)
            ended += not await anyio.to_thread.run_sync(dispatcher.at_work, kind, run)
            adopted.append(turn)
    await engine.settle()
    if options.dispatch:
        begun = await reader.begun_attempts()
        _adopt(engine, dispatcher, state, reader, adopted, begun, options)
    return Found(adopted=len(adopted) - ended, ended=ended, **counts)


_GONE_WITH_IT = Outcome(
    TurnState.LOST, AttemptEnd.INTERRUPTED, error="its supervisor ended, and its process with it"
)
"""Of an agent that may have changed anything by then: a person says whether it begins again."""


async def _leftovers(
    dispatcher: Dispatcher, state: DeckState, reader: Reader, live: Sequence[Turn]
) -> dict[int, int]:
    """Ends, all at once, what is left of ACP agents: by turn, how many processes that were."""
    left: dict[int, int] = {}

    async def end(turn: int, attempt: str) -> None:
        left[turn] = await dispatcher.end_leftovers(AgentKind.ACP, reader.paths.run(attempt))

    async with anyio.create_task_group() as ending:
        for turn in live:
            if state.agents[turn.agent].kind is AgentKind.ACP and turn.attempt is not None:
                ending.start_soon(end, turn.id, turn.attempt)
    return left


async def _interrupted(turn: Turn, reader: Reader) -> Outcome:
    """Back to its place, unless crashes have ended it so often that a person should look."""
    words = "its supervisor died"
    if await reader.interruptions(turn) < MOST_INTERRUPTIONS:
        return replace(interrupted(), error=words)
    return Outcome(TurnState.LOST, AttemptEnd.INTERRUPTED, error=f"{words}, once more")


def _adopt(
    engine: Engine,
    dispatcher: Dispatcher,
    state: DeckState,
    reader: Reader,
    adopted: list[Turn],
    begun: frozenset[str],
    options: DeckOptions,
) -> None:
    dispatcher.set_limit(max(1, len(adopted)))
    for turn in adopted:
        assignment = reader.assignment(state, turn, "", options.environment)
        dispatcher.launch(turn, assignment, adopt=True, told=turn.attempt in begun)
        if turn.state is TurnState.STOPPING:
            dispatcher.stop(turn.id)
