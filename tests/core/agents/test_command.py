"""A command agent's attempt ends as its process, its output and its files say."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from batchdeck.core.agents.adapter import Control, Outcome, Question
from batchdeck.core.agents.command import CommandAgent
from batchdeck.core.executors import attempt_files, runner
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.executors.places import identify
from batchdeck.core.model.agent import PromptVia
from batchdeck.core.model.turn import AttemptEnd, TurnState
from tests.core.agents.support import (
    SCRIPTED,
    assignment,
    command_agent,
    control,
    outcome_of,
    scripted,
    shell,
)
from tests.core.executors.support import left, until

pytestmark = pytest.mark.anyio


async def test_exit_code_0_is_a_success_and_its_output_the_text(tmp_path: Path) -> None:
    outcome = await scripted(tmp_path, "say=hello lines=2")

    assert outcome == Outcome(TurnState.SUCCEEDED, exit_code=0, text="hello\nline 0\nline 1")


async def test_another_exit_code_is_a_failure_with_the_last_words(tmp_path: Path) -> None:
    outcome = await scripted(tmp_path, "say='it broke' exit=3")

    assert (outcome.state, outcome.exit_code) == (TurnState.FAILED, 3)
    assert outcome.error == "exit code 3: it broke"
    assert outcome.surroundings is None


async def test_an_end_by_a_signal_is_named(tmp_path: Path) -> None:
    outcome = await scripted(tmp_path, "signal=9")

    assert (outcome.state, outcome.exit_code) == (TurnState.FAILED, -9)
    assert outcome.error == "ended by signal 9 (KILL)"


@pytest.mark.parametrize("code", [126, 127])
async def test_exit_codes_of_a_missing_program_are_the_surroundings(
    tmp_path: Path, code: int
) -> None:
    assert (await scripted(tmp_path, f"exit={code}")).surroundings == "agent"


async def test_escapes_in_the_output_stay_outside(tmp_path: Path) -> None:
    outcome = await shell(tmp_path, r"printf '\033[31mred\033[0m\n\033]0;title\007x\r\n'; exit 1")

    assert outcome.text == "red\nx"
    assert outcome.error == "exit code 1: x"


async def test_leftovers_are_counted(tmp_path: Path) -> None:
    given = assignment(tmp_path, command_agent(), "fork=setsid fork=background")

    assert (await outcome_of(given)).leftovers == 2
    assert left(given.attempt) == []


@pytest.mark.parametrize(
    ("patterns", "state"),
    [
        ({"success_pattern": "^all done$"}, TurnState.SUCCEEDED),
        ({"success_pattern": "ALL"}, TurnState.INCOMPLETE),
        ({"failure_pattern": "half"}, TurnState.FAILED),
        ({"success_pattern": "all", "failure_pattern": "half"}, TurnState.FAILED),
        ({"success_pattern": r"half\nall"}, TurnState.SUCCEEDED),
        ({"failure_pattern": "whole"}, TurnState.SUCCEEDED),
    ],
)
async def test_patterns_judge_beside_exit_code_0(
    tmp_path: Path, patterns: dict[str, str], state: TurnState
) -> None:
    outcome = await scripted(tmp_path, "say=half say='all done'", **patterns)

    assert outcome.state is state


async def test_a_pattern_at_the_beginning_of_a_long_output_is_found(tmp_path: Path) -> None:
    outcome = await scripted(tmp_path, "say=begun lines=200000", success_pattern="begun")

    assert outcome.state is TurnState.SUCCEEDED
    assert len(outcome.text) <= 256 * 1024
    assert outcome.text.endswith("line 199999")


@pytest.mark.parametrize(
    ("last", "state"),
    [('{"a": 1}', TurnState.SUCCEEDED), ('{"a": ', TurnState.INCOMPLETE)],
)
async def test_json_lines_need_a_last_line_that_parses(
    tmp_path: Path, last: str, state: TurnState
) -> None:
    outcome = await scripted(tmp_path, f"say=words say='{last}'", output="jsonl")

    assert outcome.state is state


async def test_a_missing_program_holds_the_agent(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, command_agent(("nowhere-to-be-found",))))

    assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, "agent")
    assert outcome.error == "the command 'nowhere-to-be-found' was not found on the agent's PATH"


async def test_a_program_is_never_taken_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    agent = command_agent(("tool",), env={"PATH": f":.:{tmp_path.name}"})

    outcome = await outcome_of(assignment(tmp_path, agent, folder=tmp_path))

    assert outcome.surroundings == "agent"


async def test_the_agents_own_path_is_what_counts(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tool"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o700)
    agent = command_agent(("tool",), env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"})

    assert (await outcome_of(assignment(tmp_path, agent))).text == "mine"


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("#!/bin/sh\n", 0o600, "may not be executed"),
        ("#!/nowhere/sh\n", 0o700, "names an interpreter in its first line that is missing"),
        ("no first line", 0o700, "is not a program"),
        (None, 0o700, "was not found"),
    ],
)
async def test_what_cannot_be_started_is_told_in_words(
    tmp_path: Path, text: str | None, mode: int, words: str
) -> None:
    program = tmp_path / "tool"
    if text is not None:
        program.write_text(text)
        program.chmod(mode)

    outcome = await outcome_of(assignment(tmp_path, command_agent((str(program),))))

    assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, "agent")
    assert words in (outcome.error or "")


async def test_a_folder_as_a_program_is_told_in_words(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, command_agent((str(tmp_path),))))

    assert outcome.surroundings == "agent"


async def test_a_missing_or_changed_folder_holds_the_folder(tmp_path: Path) -> None:
    gone = assignment(tmp_path, command_agent(), folder=tmp_path / "gone")
    changed = assignment(tmp_path, command_agent(), folder=tmp_path, folder_key="1:2")

    for given in (gone, changed):
        outcome = await outcome_of(given)
        assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, "folder")
        assert str(given.folder) in (outcome.error or "")


async def test_the_folder_that_was_admitted_is_worked_in(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    folder = tmp_path / "link"
    agent = command_agent(("pwd", "-P"))
    key = identify(folder).key

    given = assignment(tmp_path, agent, folder=folder, folder_key=key)

    assert (await outcome_of(given)).text == str(tmp_path)


async def test_without_a_folder_it_works_in_a_scratch_folder_of_its_own(tmp_path: Path) -> None:
    given = assignment(tmp_path, command_agent(("pwd",)))

    assert (await outcome_of(given)).text == str(given.run / "scratch")


# ---------------------------------------------------------------- what the process sees


async def seen(tmp_path: Path, environment: dict[str, str], **given: object) -> dict[str, str]:
    fields = {name: given.pop(name) for name in ("task", "batch") if name in given}
    agent = command_agent(("/usr/bin/env", "-0"), **given)
    assigned = assignment(tmp_path, agent, "p", environment=environment, **fields)
    await outcome_of(assigned)
    output = (assigned.run / attempt_files.OUTPUT).read_text()
    return dict(line.split("=", 1) for line in output.split("\0") if line)


async def test_an_agent_sees_its_base_what_is_passed_and_nothing_else(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/h", "SECRET": "s", "KEY": "k", "TERM": "x"}

    variables = await seen(
        tmp_path, environment, pass_env=("KEY", "ABSENT"), env={"OWN": "o"}, task="T1", batch="b"
    )

    ours = {name for name in variables if name.startswith("BATCHDECK_")}
    assert {name: variables[name] for name in set(variables) - ours} == {
        "PATH": os.environ["PATH"],
        "HOME": "/h",
        "TERM": "dumb",
        "KEY": "k",
        "OWN": "o",
    }
    assert variables["BATCHDECK_TURN"] == "12"
    assert variables["BATCHDECK_TASK"] == "T1"
    assert variables["BATCHDECK_BATCH"] == "b"
    assert variables["BATCHDECK_ATTEMPT"] == "1"
    assert Path(variables["BATCHDECK_PROMPT_FILE"]).read_text() == "p"
    assert {"BATCHDECK_RUN", "BATCHDECK_ASK"} <= ours


async def test_a_turn_without_a_batch_has_no_variable_for_one(tmp_path: Path) -> None:
    variables = await seen(tmp_path, dict(os.environ))

    assert {"BATCHDECK_BATCH", "BATCHDECK_TASK"}.isdisjoint(variables)


async def test_the_definition_beats_what_is_passed(tmp_path: Path) -> None:
    variables = await seen(
        tmp_path, {"KEY": "k", "PATH": "/usr/bin"}, pass_env=("KEY",), env={"KEY": "o"}
    )

    assert variables["KEY"] == "o"


@pytest.mark.parametrize("via", [PromptVia.STDIN, PromptVia.FILE, PromptVia.ARG])
async def test_the_prompt_arrives_by_each_way(tmp_path: Path, via: PromptVia) -> None:
    extra = {PromptVia.FILE: ("--file",), PromptVia.ARG: ("--arg",)}.get(via, ())

    outcome = await scripted(tmp_path, "say='né 漢'", command=(*SCRIPTED, *extra), prompt_via=via)

    assert outcome.text == "né 漢"


async def test_a_prompt_is_in_no_argument_and_no_public_file(tmp_path: Path) -> None:
    given = assignment(tmp_path, command_agent(), "say=x")

    await outcome_of(given)

    assert "say=x" not in (given.run / attempt_files.SPEC).read_text()
    assert (given.run / "prompt").stat().st_mode & 0o777 == 0o600
    assert given.run.stat().st_mode & 0o777 == 0o700


async def test_a_prompt_too_long_for_an_argument_is_refused_in_words(tmp_path: Path) -> None:
    agent = command_agent(("echo",), prompt_via=PromptVia.ARG)

    outcome = await outcome_of(assignment(tmp_path, agent, "x" * 131_072))

    assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, None)
    assert (outcome.error or "").startswith("the prompt has 131,072 bytes and an argument may have")


async def test_the_longest_prompt_that_fits_is_passed(tmp_path: Path) -> None:
    agent = command_agent(("echo",), prompt_via=PromptVia.ARG)

    outcome = await outcome_of(assignment(tmp_path, agent, "x" * 131_071))

    assert outcome.state is TurnState.SUCCEEDED


# ---------------------------------------------------------------- questions


async def test_a_question_makes_it_wait(tmp_path: Path) -> None:
    question = json.dumps(
        {
            "question": "Which\x1b[31m?",
            "choices": ["a", 2],
            "schema": {"type": "string"},
            "default": "a",
        }
    )

    outcome = await scripted(tmp_path, f"ask='{question}'")

    assert outcome.state is TurnState.WAITING
    assert outcome.question == Question("Which?", ("a", "2"), '{"type": "string"}', "a")


@pytest.mark.parametrize("left_there", ["what now?", "[1]", '{"answer": 1}', '{"question": 1}'])
async def test_anything_else_there_is_a_failure_that_shows_it(
    tmp_path: Path, left_there: str
) -> None:
    outcome = await scripted(tmp_path, f"ask='{left_there}'")

    assert outcome.state is TurnState.FAILED
    assert left_there in (outcome.error or "")


@pytest.mark.parametrize("made", ["mkfifo", "mkdir", "ln -s /etc/passwd"])
async def test_what_is_no_file_there_is_not_opened(tmp_path: Path, made: str) -> None:
    outcome = await shell(tmp_path, f'{made} "$BATCHDECK_ASK"')

    assert outcome.state is TurnState.FAILED
    assert outcome.question is None


# ---------------------------------------------------------------- stops, timeouts, adoption


def watched() -> tuple[Control, anyio.Event]:
    started = anyio.Event()
    return Control(started=lambda pid: started.set()), started


async def test_a_stop_cancels_it_and_keeps_what_it_said(tmp_path: Path) -> None:
    agent, (reach, _) = CommandAgent(LocalExecutor()), watched()
    ready = tmp_path / "ready"
    given = assignment(tmp_path, command_agent(), f"say=begun touch={ready} sleep=600")
    outcomes = []

    async def run() -> None:
        outcomes.append(await agent.run(given, reach))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.to_thread.run_sync(until, ready.exists)
        reach.stop.set()

    [outcome] = outcomes
    assert (outcome.state, outcome.end) == (TurnState.CANCELLED, AttemptEnd.STOPPED)
    assert outcome.text == "begun"
    assert left(given.attempt) == []


async def test_a_stop_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = LocalExecutor()
    given, stop, tries = assignment(tmp_path, command_agent(("sleep", "600"))), executor.stop, []

    async def stop_late(run: Path) -> None:
        tries.append(run)
        if len(tries) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        await stop(run)

    monkeypatch.setattr(executor, "stop", stop_late)
    reach = Control(started=lambda pid: reach.stop.set())

    outcome = await CommandAgent(executor).run(given, reach)

    assert outcome.state is TurnState.CANCELLED
    assert tries == [given.run, given.run]


async def test_a_stop_before_the_start_starts_nothing(tmp_path: Path) -> None:
    reach, started = watched()
    reach.stop.set()
    given = assignment(tmp_path, command_agent(), "sleep=600")

    outcome = await CommandAgent(LocalExecutor()).run(given, reach)

    assert outcome.state is TurnState.CANCELLED
    assert not started.is_set()
    assert not given.run.exists()


async def test_a_timeout_is_a_failure_that_names_it(tmp_path: Path) -> None:
    outcome = await scripted(tmp_path, "say=x sleep=600", timeout_seconds=0.4)

    assert (outcome.state, outcome.end) == (TurnState.FAILED, AttemptEnd.TIMED_OUT)
    assert outcome.error == "timed out after 0.4 s"
    assert outcome.text == "x"


def take_in_runner(run: Path) -> None:
    os.waitpid(json.loads((run / attempt_files.STARTED).read_text())["runner"], 0)


async def test_an_abandoned_attempt_is_adopted_and_finished(tmp_path: Path) -> None:
    given = assignment(tmp_path, command_agent(), f"wait={tmp_path / 'go'} say=done")
    reach, started = watched()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(CommandAgent(LocalExecutor()).run, given, reach)
        await started.wait()
        tasks.cancel_scope.cancel()
    (tmp_path / "go").touch()

    outcome = await CommandAgent(LocalExecutor()).adopt(given, control())

    assert outcome == Outcome(TurnState.SUCCEEDED, exit_code=0, text="done")
    take_in_runner(given.run)


async def test_an_attempt_whose_runner_died_is_lost_and_nothing_of_it_is_left(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "ready"
    given = assignment(tmp_path, command_agent(), f"say=x fork=setsid touch={ready} sleep=600")
    outcomes = []

    async def run() -> None:
        outcomes.append(await outcome_of(given))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.to_thread.run_sync(until, ready.exists)
        os.kill(json.loads((given.run / attempt_files.STARTED).read_text())["runner"], 9)

    [outcome] = outcomes
    assert (outcome.state, outcome.end) == (TurnState.LOST, AttemptEnd.LOST)
    assert outcome.text == "x"
    assert outcome.leftovers >= 1
    assert left(given.attempt) == []


async def test_a_fenced_attempt_never_starts(tmp_path: Path) -> None:
    agent = CommandAgent(LocalExecutor())
    given = assignment(tmp_path, command_agent(), f"touch={tmp_path / 'ran'}")
    assert agent.executor.fence(given.run)

    outcome = await agent.run(given, control())

    assert (outcome.state, outcome.end) == (TurnState.QUEUED, AttemptEnd.FENCED)
    assert not (tmp_path / "ran").exists()


async def test_an_attempt_whose_folder_was_removed_is_stopped_and_lost(tmp_path: Path) -> None:
    agent, (reach, started) = CommandAgent(LocalExecutor()), watched()
    given = assignment(tmp_path, command_agent(("sleep", "600")))
    outcomes = []

    async def run() -> None:
        outcomes.append(await agent.run(given, reach))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        await anyio.to_thread.run_sync(shutil.rmtree, given.run)
        assert not agent.never_started(given.run)
        reach.stop.set()

    assert [outcome.state for outcome in outcomes] == [TurnState.LOST]
    assert left(given.attempt) == []


async def test_an_adopted_attempt_that_never_started_is_queued_again(tmp_path: Path) -> None:
    agent = CommandAgent(LocalExecutor())
    given = assignment(tmp_path, command_agent(), f"touch={tmp_path / 'ran'}")

    outcome = await agent.adopt(given, control())

    assert (outcome.state, outcome.end) == (TurnState.QUEUED, AttemptEnd.FENCED)
    assert (await agent.run(given, control())).end is AttemptEnd.FENCED
    assert not (tmp_path / "ran").exists()


async def test_a_runner_that_cannot_work_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "runner.py"
    broken.write_text("raise SystemExit('no room')")
    monkeypatch.setattr(runner, "__file__", str(broken))

    outcome = await scripted(tmp_path, "say=x")

    assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, "agent")
    assert outcome.error == "its runner could not work: no room"


async def test_a_prompt_of_broken_text_is_passed_as_far_as_it_goes(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, command_agent(("cat",)), "a\ud800b"))

    assert outcome.text == "a?b"


async def test_a_program_that_stays_after_its_last_word_is_ended_and_has_succeeded(
    tmp_path: Path,
) -> None:
    result = json.dumps(
        {"type": "result", "subtype": "success", "result": "fine", "session_id": "s"}
    )
    agent = command_agent(output="claude-stream-json", linger_seconds=0.1)
    given = assignment(tmp_path, agent, f"say='{result}' sleep=600")

    outcome = await outcome_of(given)

    assert (outcome.state, outcome.text, outcome.session) == (TurnState.SUCCEEDED, "fine", "s")
    assert left(given.attempt) == []


GOES_ON = """
import json, sys, time
def say(**event): print(json.dumps(event), flush=True)
say(type="result", subtype="success", is_error=False, result="first")
for number in range(12):
    time.sleep(0.25)
    say(type=sys.argv[1], message={"content": [{"type": "text", "text": "going on"}]})
say(type="result", subtype="success", is_error=False, result="second")
"""


@pytest.mark.parametrize("event", ["assistant", "system"])
async def test_a_program_that_goes_on_after_a_last_word_is_left_to_its_end(
    tmp_path: Path, event: str
) -> None:
    command = (sys.executable, "-I", "-c", GOES_ON, event)
    agent = command_agent(command, output="claude-stream-json", linger_seconds=1.0)
    outcome = await outcome_of(assignment(tmp_path, agent))
    assert (outcome.state, outcome.end) == (TurnState.SUCCEEDED, AttemptEnd.EXITED)
    assert outcome.text == "second"


async def test_what_others_ended_was_stopped_by_nobody_and_is_lost(tmp_path: Path) -> None:
    """As where the machine shuts down: TERM comes to the runner from elsewhere."""
    executor = LocalExecutor()
    agent = CommandAgent(executor)
    ready = tmp_path / "ready"
    given = assignment(tmp_path, command_agent(), f"say=begun touch={ready} sleep=600")
    outcomes = []

    async def run() -> None:
        outcomes.append(await agent.run(given, control()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.to_thread.run_sync(until, ready.exists)
        started = json.loads((given.run / "started.json").read_text())
        os.kill(started["runner"], signal.SIGTERM)
    [outcome] = outcomes
    assert (outcome.state, outcome.end) == (TurnState.LOST, AttemptEnd.INTERRUPTED)
    assert outcome.text == "begun"


async def test_tokens_have_a_price(tmp_path: Path) -> None:
    event = {"type": "turn.completed", "usage": {"input_tokens": 1000, "output_tokens": 10}}
    agent = replace(command_agent(output="codex-json"), price_input=3.0, price_output=15.0)

    outcome = await outcome_of(assignment(tmp_path, agent, f"say='{json.dumps(event)}'"))

    assert outcome.cost == pytest.approx(0.00315)


async def test_many_agents_run_at_once(tmp_path: Path) -> None:
    agent = CommandAgent(LocalExecutor())
    outcomes = []

    async def run(number: int) -> None:
        given = assignment(
            tmp_path, command_agent((sys.executable, *SCRIPTED[1:])), f"say={number}"
        )
        outcomes.append((await agent.run(given, control())).text)

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(run, number)

    assert sorted(outcomes, key=int) == [str(number) for number in range(12)]


async def test_what_was_used_until_a_stop_or_a_time_limit_counts(tmp_path: Path) -> None:
    used = {"reason": "tool-calls", "tokens": {"input": 100, "output": 5}, "cost": 0.5}
    event = json.dumps({"type": "step_finish", "part": used})
    ready = tmp_path / "ready"
    prompt = f"say='{event}' touch={ready} sleep=600"
    agent, (reach, _) = CommandAgent(LocalExecutor()), watched()
    outcomes = []

    async def run() -> None:
        given = assignment(tmp_path, command_agent(output="opencode-json"), prompt)
        outcomes.append(await agent.run(given, reach))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.to_thread.run_sync(until, ready.exists)
        reach.stop.set()
    limited = command_agent(output="opencode-json", timeout_seconds=1.0)
    outcomes.append(await outcome_of(assignment(tmp_path, limited, prompt)))
    assert [(o.end, o.tokens_in, o.tokens_out, o.cost) for o in outcomes] == [
        (AttemptEnd.STOPPED, 100, 5, 0.5),
        (AttemptEnd.TIMED_OUT, 100, 5, 0.5),
    ]
