"""What fails in our own watching of an attempt is no end of it: its agent works on, and counts."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.command import CommandAgent
from batchdeck.core.agents.dialects.registry import Reading
from batchdeck.core.commands import AddBatch
from batchdeck.core.deck import dispatcher
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.executors import local, records
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.paths import DeckPaths
from tests.core.agents.support import assignment, command_agent, outcome_of
from tests.core.executors.support import census
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import PATIENCE, Puppets, bench

pytestmark = pytest.mark.anyio

RESULT = '{"type": "result", "subtype": "success", "result": "fine"}'


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield from census(tmp_path / ".batchdeck")


@pytest.fixture(autouse=True)
def again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "AGAIN_SECONDS", 0.05)


def no_more_files() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def fails_once(
    inner: Callable[..., Any], error: Callable[[], Exception], then: Path
) -> Callable[..., Any]:
    """As `inner`, whose first call fails; `then` is made, so that the agent can go on after it."""

    def outer(*given: Any) -> Any:
        if then.exists():
            return inner(*given)
        then.touch()
        raise error()

    return outer


@pytest.mark.parametrize("error", [no_more_files, RuntimeError], ids=["files", "threads"])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Reading, "go_on"),
        (local, "_until_taken_in"),
        (local, "_agent_pid"),
        (CommandAgent, "_stop_what_lingers"),
    ],
)
async def test_a_fault_of_our_own_leaves_the_attempt_its_slot_and_the_turn_its_end(
    owner: Any,
    name: str,
    error: Callable[[], Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = tmp_path / "go"
    monkeypatch.setattr(owner, name, fails_once(getattr(owner, name), error, go))
    agent = command_agent(output="claude-stream-json")
    tasks = [TaskSpec("T1", "coder", folder=str(tmp_path), prompt=f"wait={go} say='{RESULT}'")]
    paths = DeckPaths(tmp_path / ".batchdeck")
    adapters = {AgentKind.COMMAND: CommandAgent(LocalExecutor())}
    async with open_deck(paths, DeckOptions(environment=dict(os.environ)), adapters) as deck:
        await deck.submit(AddBatch(spec=batch_spec("b", tasks, [agent], max_attempts=2)))
        view = deck.view
        with anyio.fail_after(2 * PATIENCE):
            while not view.turns or view.live or view.queued:
                view = await deck.wait_newer(view.revision)

        assert [turn.state for turn in view.turns.values()] == [TurnState.SUCCEEDED]
        assert [turn.attempts for turn in view.turns.values()] == [1]
        assert len(list((paths.root / "runs").iterdir())) == 1
        started = [event for event in await deck.events(0, 100) if event.kind == "turn.started"]
        assert len(started) <= 1


class Unwatched(Puppets):
    """Agents that work on when the watching of them fails."""

    def __init__(self, failures: int) -> None:
        super().__init__(outlives=True)
        self.failures = failures
        self.adopted: list[str] = []
        self.working = True
        self.began = True

    async def run(self, assignment: Assignment, control: Control) -> Outcome:
        if self.failures:
            self.failures -= 1
            self.begun.append(assignment.turn)
            raise RuntimeError("can't start new thread")
        return await super().run(assignment, control)

    async def adopt(self, assignment: Assignment, control: Control) -> Outcome:
        self.adopted.append(assignment.attempt)
        return await self.run(assignment, control)

    def never_started(self, run: Path) -> bool:
        return not self.began

    def at_work(self, run: Path) -> bool:
        return self.working


def two_tasks() -> Any:
    return batch_spec("b", [TaskSpec("T1", "a"), TaskSpec("T2", "a")], [demo_agent("a", 1)])


async def test_an_attempt_at_work_is_adopted_and_nothing_starts_beside_it(tmp_path: Path) -> None:
    puppets = Unwatched(failures=5)
    async with bench(tmp_path, puppets) as here:
        await here.add(two_tasks())
        await puppets.until_begun_again(1, 6)
        attempt = here.view.turns[1].attempt
        assert here.view.live == (1,)
        assert puppets.adopted == [attempt] * 5

        await here.end(1)
        await puppets.until_begun(2)
        assert here.view.turns[1].state is TurnState.SUCCEEDED
        assert puppets.begun == [1] * 6 + [2]


async def test_what_nobody_can_tell_of_is_taken_to_be_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puppets = Unwatched(failures=5)

    def at_work(run: Path) -> bool:
        raise no_more_files()

    monkeypatch.setattr(puppets, "at_work", at_work)
    async with bench(tmp_path, puppets) as here:
        await here.add(two_tasks())
        await puppets.until_begun_again(1, 6)
        assert here.view.live == (1,)
        await here.end(1)
        assert here.view.turns[1].state is TurnState.SUCCEEDED


async def test_an_end_that_cannot_be_found_out_is_a_failure_after_some_tries(
    tmp_path: Path,
) -> None:
    puppets = Unwatched(failures=dispatcher.TRIES_AT_AN_END)
    puppets.working = False
    async with bench(tmp_path, puppets) as here:
        await here.add(two_tasks())
        await puppets.until_begun(2)
        turn = here.view.turns[1]
        assert turn.state is TurnState.FAILED
        assert turn.error is not None
        assert "RuntimeError" in turn.error
        assert len(puppets.adopted) == dispatcher.TRIES_AT_AN_END - 1


async def test_an_attempt_that_never_began_fails_at_once(tmp_path: Path) -> None:
    puppets = Unwatched(failures=1)
    puppets.began = False
    async with bench(tmp_path, puppets) as here:
        await here.add(two_tasks())
        await puppets.until_begun(2)
        assert here.view.turns[1].state is TurnState.FAILED
        assert puppets.adopted == []


async def test_an_attempt_whose_folder_cannot_be_looked_at_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = fails_once(records.evidence, no_more_files, tmp_path / "looked")
    monkeypatch.setattr(records, "evidence", looks)

    outcome = await outcome_of(assignment(tmp_path, command_agent(), "say=done"))

    assert (outcome.state, outcome.end) == (TurnState.SUCCEEDED, AttemptEnd.EXITED)
