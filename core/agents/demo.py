"""Demo agents: they play a script in this process, without a key and without a network."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from batchdeck.core.agents.adapter import Assignment, Control, Outcome, Question
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.private import make_private_folder

_DEFAULT_LINES = 6

_SAYINGS = (
    "reading the files that the task names",
    "found {number} places that need a change",
    "editing part {number}",
    "running the checks",
    "{number} checks passed",
    "looking at the difference once more",
    "writing down what was done",
)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one attempt is going to do."""

    seconds: float
    lines: tuple[str, ...]
    fails: bool
    asks: bool


class DemoAgent:
    """Plays `script: {seconds, fail, ask, lines, seed}`; the same attempt always plays the same.

    `seconds` is a number or `[low, high]`, `fail` and `ask` are probabilities, `lines` a count. An
    attempt that goes on with an answered question does not ask again.
    """

    outlives = False

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        """See `Adapter.run`."""
        part = _cast(assignment)
        control.started(None)
        if part.lines:
            await anyio.to_thread.run_sync(make_private_folder, assignment.run)
        if not await _play(part, assignment.run, control):
            return Outcome(TurnState.CANCELLED, AttemptEnd.STOPPED, error="stopped")
        return _outcome(part, assignment)

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        """A demo agent ends with its supervisor, so there is nothing to go on with."""
        return Outcome(TurnState.LOST, AttemptEnd.LOST, error="lost: it ended with its supervisor")

    async def end_leftovers(self, run: Path) -> int:
        """See `Adapter.end_leftovers`: it has no process."""
        return 0

    def never_started(self, run: Path) -> bool:
        """See `Adapter.never_started`."""
        return True

    def at_work(self, run: Path) -> bool:
        """See `Adapter.at_work`: never longer than somebody watches."""
        return False


def _cast(assignment: Assignment) -> _Part:
    script = assignment.agent.script
    if script.get("lines", 1) == 0 and not any(map(script.get, ("seconds", "fail", "ask"))):
        return _AT_ONCE
    key = assignment.task or assignment.turn
    draw = random.Random(f"{script.get('seed', 0)}/{key}/{assignment.number}")
    seconds = script.get("seconds", 0)
    span = draw.uniform(*seconds) if isinstance(seconds, list | tuple) else float(seconds)
    fails = draw.random() < script.get("fail", 0)
    asks = draw.random() < script.get("ask", 0) and assignment.session is None
    lines = tuple(_lines(draw, script.get("lines", _DEFAULT_LINES)))
    return _Part(seconds=span, lines=lines, fails=fails, asks=asks)


_AT_ONCE = _Part(seconds=0.0, lines=(), fails=False, asks=False)


def _lines(draw: random.Random, how_many: int) -> Iterator[str]:
    for number in range(how_many):
        saying = _SAYINGS[number % len(_SAYINGS)]
        yield saying.format(number=draw.randint(2, 40))


async def _play(part: _Part, run: Path, control: Control) -> bool:
    """Takes its time and writes its lines; False where it was stopped."""
    rest = part.seconds / (len(part.lines) + 1)
    for line in part.lines:
        if await _stopped_within(rest, control):
            return False
        _write(run / "output", line)
    return not await _stopped_within(rest, control)


async def _stopped_within(seconds: float, control: Control) -> bool:
    if seconds <= 0:
        await anyio.lowlevel.checkpoint()
        return control.stop.is_set()
    with anyio.move_on_after(seconds):
        await control.stop.wait()
    return control.stop.is_set()


def _write(output: Path, line: str) -> None:
    with open(output, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def _outcome(part: _Part, assignment: Assignment) -> Outcome:
    if part.asks:
        question = Question("Which of the two shall I keep?", ("the first", "the second"))
        session = f"demo-{assignment.turn}"
        return Outcome(TurnState.WAITING, exit_code=0, question=question, session=session)
    text = part.lines[-1] if part.lines else ""
    if part.fails:
        return Outcome(TurnState.FAILED, exit_code=1, text=text, error="exit code 1: as scripted")
    return Outcome(
        TurnState.SUCCEEDED, exit_code=0, text=text or "done", session=assignment.session
    )
