"""An agent that speaks ACP works, is cancelled, and is told from one that does not."""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from batchdeck.core.agents.acp import AcpAgent
from batchdeck.core.agents.acp_process import LEAVE_SECONDS
from batchdeck.core.agents.adapter import Assignment, Control, Outcome, Question
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.executors.process_tree import process_fields
from batchdeck.core.executors.processes import OwnSession, marks
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.telling.transcript import teller_of, told_lines
from tests.core.agents.support import room_for

pytestmark = pytest.mark.anyio
AGENT = Path(__file__).parents[2] / "support" / "acp_agent.py"
PATIENCE = 30
DOLLARS = {"amount": 0.5, "currency": "USD"}


def assignment(folder: Path, prompt: str, *words: str, **fields: Any) -> Assignment:
    session, said = fields.pop("session", None), fields.pop("said", ())
    command = fields.pop("command", (sys.executable, str(AGENT), *words))
    return Assignment(
        turn=1,
        attempt=uuid.uuid4().hex,
        number=1,
        agent=Agent("a", AgentKind.ACP, command=command, **fields),
        prompt=prompt,
        runs=folder,
        session=session,
        said=said,
        environment=dict(os.environ),
    )


async def outcome_of(asked: Assignment, handshake_seconds: float = PATIENCE) -> Outcome:
    agent = AcpAgent(LocalExecutor(), handshake_seconds)
    with anyio.fail_after(2 * PATIENCE):
        outcome = await agent.run(asked, Control(started=lambda process: None))
    assert asked.attempt not in marks(), "nothing is left running"
    return outcome


def output(asked: Assignment) -> str:
    return (asked.run / "output").read_text()


async def test_a_prompt_is_answered_with_text_usage_and_the_sessions_id(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "think hm\nsay hello")
    outcome = await outcome_of(asked)
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "hello")
    assert (outcome.tokens_in, outcome.tokens_out, outcome.cost) == (10, 5, None)
    assert outcome.session
    told = told_lines(teller_of(asked.agent), output(asked).encode())
    assert [(str(line.kind), line.words) for line in told] == [
        ("thought", "hm"),
        ("text", "hello"),
        ("usage", "10 tokens in, 5 out"),
        ("result", "end turn"),
    ]


async def test_a_cost_is_that_of_the_whole_session(tmp_path: Path) -> None:
    line = update(sessionUpdate="usage_update", size=9, used=1, cost=DOLLARS)
    outcome = await outcome_of(assignment(tmp_path, f"raw {line}\nsay on", price_input=1.0))
    assert (outcome.text, outcome.session_cost, outcome.cost) == ("on", 0.5, None)


async def test_an_earlier_session_is_loaded_and_what_it_replays_is_no_output(
    tmp_path: Path,
) -> None:
    asked = assignment(tmp_path, "loaded", session="abc")
    outcome = await outcome_of(asked)
    assert (outcome.session, outcome.text) == ("abc", "abc")
    assert "long ago" not in output(asked)


async def test_updates_keep_their_order(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "count 2000"))
    assert outcome.text.split() == [str(number) for number in range(2_000)]


async def test_a_permission_that_nobody_gave_is_denied_and_told(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "tool rm -rf build")
    outcome = await outcome_of(asked)
    assert outcome.text.strip() == "got n"
    (told,) = [line for line in output(asked).splitlines() if "batchdeck/permission" in line]
    assert json.loads(told)["params"] == {"title": "rm -rf build", "decision": "deny"}


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("max_tokens", TurnState.INCOMPLETE),
        ("max_turn_requests", TurnState.INCOMPLETE),
        ("refusal", TurnState.FAILED),
        ("cancelled", TurnState.INCOMPLETE),
    ],
)
async def test_only_the_end_of_a_turn_is_a_success(
    tmp_path: Path, reason: str, state: TurnState
) -> None:
    outcome = await outcome_of(assignment(tmp_path, f"stop {reason}"))
    assert outcome.state is state


async def test_rubbish_between_messages_is_skipped(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "rubbish \x1b[1mbanner\nsay on", "noise"))
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "on")


async def test_much_on_standard_error_stops_nobody(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "stderr 1000000\nsay on"))
    assert outcome.text == "on"


async def test_an_agent_that_dies_in_its_work_is_incomplete(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "say half\ncrash"))
    assert (outcome.state, outcome.text) == (TurnState.INCOMPLETE, "half")


async def test_a_handshake_that_hangs_fails_in_time_with_the_raw_line(tmp_path: Path) -> None:
    command = ("sh", "-c", "echo loading; exec sleep 3600")
    outcome = await outcome_of(assignment(tmp_path, "hi", command=command), 3)
    assert outcome.surroundings == "agent"
    told = "sh speaks no ACP: it did not answer within 3 s; it printed: loading"
    assert outcome.error == told


async def test_a_program_that_speaks_no_acp_is_told_by_what_it_printed(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "hi", command=("echo", "usage: echo")))
    assert outcome.surroundings == "agent"
    assert (outcome.error or "").endswith("it ended before it answered; it printed: usage: echo")


async def test_a_missing_program_holds_its_agent(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "hi", command=("no-such-program",)))
    assert outcome.surroundings == "agent"


@asynccontextmanager
async def at_work(
    asked: Assignment, started: Callable[[int | None], None] = lambda process: None
) -> AsyncIterator[tuple[Control, list[Outcome]]]:
    """An attempt that has said something, and is to be stopped by the test."""
    control, ended = Control(started), []

    async def work() -> None:
        ended.append(await AcpAgent(LocalExecutor()).run(asked, control))

    with anyio.fail_after(2 * PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            while not (asked.run / "output").exists() or "busy" not in output(asked):
                await anyio.sleep(0.02)
            yield control, ended


async def test_a_stop_cancels_the_prompt_by_the_protocol(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "say busy\nwait")
    async with at_work(asked) as (control, ended):
        control.stop.set()
    assert (ended[0].state, ended[0].end) == (TurnState.CANCELLED, AttemptEnd.STOPPED)
    assert ended[0].session, "the conversation can go on"


async def test_one_that_hears_no_cancel_is_ended_with_all_its_processes(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "say busy\ndeaf", "stubborn")
    async with at_work(asked) as (control, ended):
        control.stop.set()
    assert ended[0].state is TurnState.CANCELLED
    assert asked.attempt not in marks()


WITHOUT_MARK = {
    "it obeys": ("outlives",),
    "it obeys nothing": ("outlives", "stubborn"),
}


@pytest.mark.parametrize("words", WITHOUT_MARK.values(), ids=WITHOUT_MARK)
async def test_one_that_shows_no_mark_and_outlives_its_input_is_ended_all_the_same(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    clean = ("env", "-i", f"PATH={os.environ['PATH']}", sys.executable, str(AGENT), *words)
    asked = assignment(tmp_path, "say busy\nwait", command=clean)
    began: list[int | None] = []
    async with at_work(asked, began.append) as (control, ended):
        control.stop.set()
        with anyio.move_on_after(2 * LEAVE_SECONDS):
            while not ended:
                await anyio.sleep(0.02)
        in_time = bool(ended)
        for left in OwnSession(began[0] or 0).signal(signal.SIGKILL):
            assert not in_time, f"process {left} is left"
    assert in_time
    assert ended[0].state is TurnState.CANCELLED


async def test_a_child_without_a_mark_in_a_session_of_its_own_ends_with_its_agent(
    tmp_path: Path,
) -> None:
    noted = tmp_path / "child"
    child = f"trap '' TERM; echo $$ > {noted}; exec sleep 600"
    script = 'setsid env -i sh -c "$0" & exec "$@"'
    command = ("sh", "-c", script, child, sys.executable, str(AGENT))
    asked = assignment(tmp_path, "say busy\nwait", command=command)
    async with at_work(asked) as (control, _ended):
        while not (noted.exists() and noted.read_text().strip()):
            await anyio.sleep(0.02)
        control.stop.set()
    fields = process_fields(int(noted.read_text()))
    assert fields is None or fields[0] == b"Z"


async def test_a_stop_that_comes_when_all_is_done_undoes_nothing(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "say busy\nfinish_when_cancelled")
    async with at_work(asked) as (control, ended):
        control.stop.set()
    assert (ended[0].state, ended[0].text) == (TurnState.SUCCEEDED, "busy")


async def test_a_question_that_it_leaves_is_asked(tmp_path: Path) -> None:
    words = '{"question": "which?", "choices": ["a", "b"]}'
    outcome = await outcome_of(assignment(tmp_path, f"say hm\nask {words}"))
    assert (outcome.state, outcome.text) == (TurnState.WAITING, "hm")
    assert outcome.question == Question("which?", ("a", "b"))
    assert outcome.session, "the answer goes on with it"


SAID = (("operator", "the first"), ("agent", "its answer"))


@pytest.mark.parametrize("how", ["forgetful", "lost"])
async def test_one_that_has_its_session_no_more_is_told_the_exchange_again(
    tmp_path: Path, how: str
) -> None:
    outcome = await outcome_of(
        assignment(tmp_path, "and now\nrepeat", how, session="abc", said=SAID)
    )
    assert outcome.state is TurnState.SUCCEEDED
    assert outcome.session not in (None, "abc")
    assert outcome.text == (
        "You were told:\nthe first\n\nYou said:\nits answer\n\nNow you are told:\nand now\nrepeat"
    )


async def test_one_that_has_its_session_is_told_nothing_twice(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "repeat", session="abc", said=SAID))
    assert outcome.text == "repeat"


def update(**told: object) -> str:
    params = {"sessionId": "s", "update": told}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})


def answer(result: object) -> str:
    """To the prompt, which is the third request."""
    return json.dumps({"jsonrpc": "2.0", "id": 2, "result": result})


STRANGE = {
    "an update of a new kind": update(sessionUpdate="brand_new", secret="s3cret"),
    "an update without a kind": update(secret="s3cret"),
    "a text of a new kind": update(sessionUpdate="agent_message_chunk", content={"type": "smell"}),
    "a notification of a new kind": '{"jsonrpc": "2.0", "method": "brand/new", "params": [1]}',
    "an id that is a list": '{"jsonrpc": "2.0", "id": [1], "result": {}}',
    "a method that is a number": '{"jsonrpc": "2.0", "id": 7, "method": 8}',
    "an answer that nobody waits for": '{"jsonrpc": "2.0", "id": 99, "error": "no"}',
}


@pytest.mark.parametrize("line", STRANGE.values(), ids=STRANGE)
async def test_what_nobody_knows_is_kept_in_the_output_and_otherwise_passed_over(
    tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = assignment(tmp_path, f"raw {line}\nsay on")
    outcome = await outcome_of(asked)
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "on")
    assert line in output(asked)
    assert caplog.text == ""


async def test_a_new_way_to_stop_is_incomplete_and_keeps_the_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = answer({"stopReason": "brand_new"})
    outcome = await outcome_of(assignment(tmp_path, f"say half\nraw {line}\nwait"))
    assert (outcome.state, outcome.text) == (TurnState.INCOMPLETE, "half")
    assert "stopReason 'brand_new'" in (outcome.error or "")
    assert caplog.text == ""


async def test_tokens_that_are_counted_in_a_new_way_are_unknown(tmp_path: Path) -> None:
    line = answer({"stopReason": "end_turn", "usage": {"inputTokens": "many"}})
    outcome = await outcome_of(assignment(tmp_path, f"say all\nraw {line}\nwait"))
    assert (outcome.state, outcome.text, outcome.tokens_in) == (TurnState.SUCCEEDED, "all", None)


async def test_an_error_that_is_a_word_fails_the_turn_with_it(tmp_path: Path) -> None:
    line = '{"jsonrpc": "2.0", "id": 2, "error": "out of order"}'
    outcome = await outcome_of(assignment(tmp_path, f"raw {line}\nwait"))
    assert (outcome.state, outcome.error) == (TurnState.FAILED, "out of order")


async def test_an_answer_counts_although_its_output_could_not_be_kept(tmp_path: Path) -> None:
    asked = assignment(tmp_path, "big 50000\nsay all the same")
    with room_for(20_000):
        outcome = await outcome_of(asked)
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "all the same")


async def test_a_time_limit_ends_it(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "deaf", timeout_seconds=3.0))
    assert (outcome.state, outcome.end) == (TurnState.FAILED, AttemptEnd.TIMED_OUT)


@pytest.mark.parametrize("size", [70_000, 5_000_000, 20_000_000])
async def test_a_long_message_is_taken_or_dropped_and_the_next_ones_count(
    tmp_path: Path, size: int
) -> None:
    outcome = await outcome_of(assignment(tmp_path, f"big {size}\nsay on"))
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "on")


async def test_a_method_that_nobody_knows_is_refused_at_once(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "unheard"))
    assert outcome.text == "-32601"


async def test_tokens_have_a_price_where_the_agent_names_no_cost(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "say hello", price_input=1.0, price_output=2.0))
    assert outcome.cost == pytest.approx(20e-6)


SUPERVISOR = """
import sys
from pathlib import Path
import anyio
from batchdeck.core.agents.acp import AcpAgent
from batchdeck.core.agents.adapter import Control
from batchdeck.core.executors.local import LocalExecutor
from tests.core.agents.test_acp import AGENT, assignment

clean = ("env", "-i", sys.executable, str(AGENT), "outlives")
asked = assignment(Path(sys.argv[1]), "say busy\\nwait", command=clean)
anyio.run(AcpAgent(LocalExecutor()).run, asked, Control(lambda process: None))
"""


async def test_one_without_a_mark_that_outlives_its_killed_supervisor_is_ended_by_the_next(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", SUPERVISOR, str(tmp_path)]
    with anyio.fail_after(2 * PATIENCE):
        async with await anyio.open_process(command, cwd=Path(__file__).parents[3]) as supervisor:
            while not [out for out in tmp_path.glob("*/output") if "busy" in out.read_text()]:
                await anyio.sleep(0.02)
            supervisor.kill()
            await supervisor.wait()
        (run,) = tmp_path.iterdir()
        agent = json.loads((run / "agent.json").read_text())["agent"]
        assert process_fields(agent), "it works on"
        assert await AcpAgent(LocalExecutor()).end_leftovers(run) == 1
    fields = process_fields(agent)
    assert fields is None or fields[0] == b"Z"
    assert await AcpAgent(LocalExecutor()).end_leftovers(run) == 0


OTHER_USER = """
import os, signal, sys, time
from pathlib import Path
import anyio
from batchdeck.core.agents.acp import AcpAgent
from batchdeck.core.agents.adapter import Control
from batchdeck.core.executors.local import LocalExecutor
from tests.core.agents.test_acp import assignment, output, PATIENCE

async def main():
    begun, ended = [], []
    control = Control(begun.append)
    asked = assignment(Path(sys.argv[1]), "say busy\\nwait", "outlives")

    async def work():
        ended.append(await AcpAgent(LocalExecutor()).run(asked, control))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        while not (asked.run / "output").exists() or "busy" not in output(asked):
            await anyio.sleep(0.02)
        os.setresuid(65534, 65534, 0)  # nobody, as a person is to what runs by `sudo`
        since = time.monotonic()
        control.stop.set()
        while not ended:
            await anyio.sleep(0.02)
    print(time.monotonic() - since < 5, ended[0].error)
    os.seteuid(0)
    os.killpg(begun[0], signal.SIGKILL)

anyio.run(main)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start what it may not end")
async def test_one_that_belongs_to_another_user_is_left_in_time_and_told(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER_USER, str(tmp_path)]
    with anyio.fail_after(2 * PATIENCE):
        done = await anyio.run_process(command, cwd=Path(__file__).parents[3], check=False)
    said = done.stdout.decode()
    assert said.startswith("True stopped; its process "), done.stderr.decode()
    assert said.endswith("could not be ended, and may work on\n")
