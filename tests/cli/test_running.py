"""Runs without a screen: their exit codes, what they print, and what stands in their way."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from batchdeck.core.store.migrate import migrations, statements
from tests.support.invoking import Invoke
from tests.support.workspace import COMMAND, Workspace, remains, until


def tasks(*prompts: str, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"T{number}", "agent": "coder", "prompt": prompt, **fields}
        for number, prompt in enumerate(prompts, 1)
    ]


@pytest.mark.parametrize(
    ("prompts", "on_error", "code"),
    [
        (["exit=0", "exit=0"], "skip", 0),
        (["exit=3", "exit=0"], "skip", 5),
        (["exit=3", "exit=0"], "collect", 5),
        (["exit=3", "exit=0"], "fail", 1),
    ],
)
def test_the_exit_code_is_the_batchs(
    prompts: list[str], on_error: str, code: int, space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks(*prompts), on_error=on_error, collect_to="errors")
    invoke("run", file, "--headless", code=code)
    ran = space.starts()
    assert ran == (["T1"] if on_error == "fail" else ["T1", "T2"])


def test_the_lines_of_a_run_count_what_failed(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=3", "exit=3"), on_error="skip")
    shown = invoke("run", file, "--headless", code=5).out
    assert "(0 done · 2 failed of 2)" in shown
    assert "completed with errors: 0 done · 2 failed" in shown


def test_a_flag_beats_the_file(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=3", "exit=0"), on_error="skip")
    invoke("run", file, "--headless", "--on-error", "fail", code=1)
    assert space.starts() == ["T1"]


def test_a_flag_may_say_that_there_is_no_limit(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(max_parallel=1, tasks=tasks("exit=0"))
    invoke("run", file, "--headless", "--max-parallel", "none", code=0)
    assert space.view().limits["batch:docs"].value is None


def test_a_finished_batch_says_so_with_its_exit_code_and_runs_nothing_again(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks("exit=3", "exit=0"))
    invoke("run", file, "--headless", code=5)
    again = invoke("run", file, "--headless", code=5)
    assert "already completed" in again.err
    resumed = invoke("resume", "docs", "--headless", code=5)
    assert "docs is already completed with errors: nothing is unfinished" in resumed.err
    assert space.starts() == ["T1", "T2"]


def test_events_are_printed_one_a_line_in_order_with_the_results_last(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks("say=one", "say=two exit=3"))
    events = invoke("run", file, "--headless", "--json", code=5).lines
    assert [e["seq"] for e in events] == sorted(e["seq"] for e in events)
    kinds = [event["kind"] for event in events]
    wanted = (
        "batch.started turn.queued turn.claimed turn.started attempt.ended turn.finished "
        "task.status batch.finished"
    )
    assert set(wanted.split()) <= set(kinds)
    finished = {e["task"]: e for e in events if e["kind"] == "turn.finished"}
    assert (finished["T1"]["state"], finished["T1"]["exit_code"]) == ("succeeded", 0)
    assert (finished["T2"]["state"], finished["T2"]["exit_code"]) == ("failed", 3)
    assert (finished["T1"]["lane"], finished["T1"]["agent"]) == ("READY", "coder")
    last = events[-1]
    assert (last["kind"], last["state"]) == ("batch.finished", "completed_with_errors")
    results = [(r["task"], r["status"], r["output"].strip()) for r in last["results"]]
    assert results == [("T1", "DONE", "one"), ("T2", "FAILED", "two")]
    assert last["results"][1]["error"]


def test_without_a_terminal_a_run_is_headless_with_one_line(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    assert "running headless" in invoke("run", file, code=0).err


def test_the_dashboard_without_a_terminal_is_exit_2_with_a_line(
    space: Workspace, invoke: Invoke
) -> None:
    refused = invoke(code=2)
    assert "needs a terminal" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert not space.deck.exists()


@pytest.mark.parametrize(
    "flags",
    [
        ["--max-parallel", "-1"],
        ["--max-parallel", "two"],
        ["--max-active", "2"],
        ["--max-parallel-by-status", "READY"],
        ["--max-parallel-by-status", "READY=1,ready=2"],
        ["--max-parallel-by-status", "RUNNING=1"],
        ["--agent-limit", "coder"],
        ["--agent-limit", "nobody=2"],
        ["--agent-limit", "coder=99"],
        ["--reconcile-interval", "-1"],
        ["--on-error", "explode"],
        ["--on-lost", "cry"],
    ],
)
def test_a_wrong_flag_is_exit_2_and_changes_nothing(
    flags: list[str], space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    refused = invoke("run", file, "--headless", *flags, code=2)
    assert refused.err.strip()
    assert space.starts() == []


def test_a_second_supervisor_is_told_who_holds_the_deck(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks(space.until_told("go")))
    first = space.start_run(file)
    refused = invoke("run", file, "--headless", code=73)
    assert str(first.pid) in refused.err
    assert socket.gethostname() in refused.err
    space.tell("go")
    assert first.wait(20) == 0


@pytest.mark.parametrize("how", ["run", "resume"])
def test_a_question_that_was_open_before_counts_as_failed_where_nobody_answers(
    how: str, space: Workspace, invoke: Invoke
) -> None:
    question = json.dumps({"question": "which"})
    file = space.batch(tasks=tasks(f"ask='{question}'"))
    process = space.start_run(file)
    until(lambda: space.view().asks)
    process.send_signal(signal.SIGTERM)
    process.wait(10)
    arguments = ("run", file) if how == "run" else ("resume",)
    ended = invoke(*arguments, "--headless", "--no-input", code=5)
    assert "nobody is there to answer: which" in ended.out


def test_terminating_a_run_lets_go_of_what_works_and_it_is_taken_over(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks(space.until_told("go")))
    process = space.start_run(file)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM or process.returncode == 128 + signal.SIGTERM
    assert space.at_work() == ["T1"]
    space.tell("go")
    invoke("run", file, "--headless", code=0)
    assert space.starts() == ["T1"], "it was adopted, not run twice"


def test_the_first_interrupt_drains_and_the_second_stops(space: Workspace) -> None:
    file = space.batch(tasks=tasks(space.until_told("never"), "exit=0"))
    process = space.start_run(file)
    process.send_signal(signal.SIGINT)
    until(lambda: "draining" in (space.folder / "err.txt").read_text())
    assert space.at_work() == ["T1"]
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGINT
    assert space.starts() == ["T1"]
    told = space.run("run", file, "--headless", "--no-input", code=3).err
    assert "deck is held by operator: everything was stopped (batchdeck release deck)" in told
    assert "#3 T1 is held by operator (batchdeck release '#3')" in told
    assert space.starts() == ["T1"], "what was stopped does not start again by itself"


def test_a_missing_program_holds_its_agent_and_the_run_waits_for_the_operator(
    space: Workspace, invoke: Invoke
) -> None:
    program = space.folder / "coder"
    file = space.batch(
        agents={"coder": {"command": [str(program)]}, "other": {}},
        tasks=[*tasks("exit=0"), {"id": "O1", "agent": "other", "prompt": "exit=0"}],
    )
    process = space.start("run", file, "--headless")
    space.while_runs(process, lambda: "O1" in space.starts())
    until(lambda: invoke("status", "--json").json["holds"])
    (hold,) = invoke("status", "--json").json["holds"]
    assert hold["what"] == "agent:coder"
    assert str(program) in hold["reason"]
    assert "held: agent:coder" in invoke("status").out
    (row,) = [row for row in invoke("tasks", "--json").json if row["id"] == "T1"]
    assert (row["status"], row["state"]) == ("READY", "queued"), "nothing is lost"
    gates = invoke("why", "T1", "--json").json["gates"]
    assert gates[0]["gate"] == "hold"
    assert str(program) in gates[0]["subject"], "why says what is missing"
    assert process.poll() is None, "it waits for the operator"

    program.write_text("#!/bin/sh\ncat >/dev/null\n")
    program.chmod(0o700)
    invoke("release", "agent:coder", code=0)
    assert process.wait(20) == 0
    (row,) = [row for row in invoke("tasks", "--json").json if row["id"] == "T1"]
    assert row["status"] == "DONE"


def test_a_missing_folder_is_held_and_never_replaced(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=0", folder="gone"))
    process = space.start("run", file, "--headless")
    until(lambda: (space.deck / "deck.db").exists())
    until(lambda: invoke("status", "--json").json.get("holds"))
    (hold,) = invoke("status", "--json").json["holds"]
    assert hold["what"] == f"folder:{space.folder / 'gone'}"
    assert space.starts() == []
    (space.folder / "gone").mkdir()
    invoke("release", f"folder:{space.folder / 'gone'}", code=0)
    assert process.wait(20) == 0
    assert space.records()[0]["cwd"] == str(space.folder / "gone")


def test_a_drained_deck_finishes_and_admits_again_when_told(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks(space.until_told("go"), "exit=0"))
    process = space.start_run(file)
    invoke("drain", code=0)
    space.tell("go")
    until(lambda: space.at_work() == [])
    until(lambda: invoke("status", "--json").json["running"] == 0)
    assert invoke("status", "--json").json["mode"] == "draining"
    assert space.starts() == ["T1"]
    invoke("drain", "--off", code=0)
    assert process.wait(20) == 0
    assert space.starts() == ["T1", "T2"]


def test_stopping_returns_once_the_agent_is_really_gone(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks(space.until_told("never"), "exit=0"))
    process = space.start_run(file)
    pid = space.records()[0]["pid"]
    stopped = invoke("stop", "#1", "--json", code=0).json
    assert stopped["state"] == "cancelled"
    assert not Path(f"/proc/{pid}").exists() if Path("/proc").exists() else not _lives(pid)
    assert invoke("task", "show", "T1", "--json").json["status"] == "READY"
    assert remains(lambda: "T1" not in space.starts()[1:], 0.3), "it does not start again by itself"
    assert invoke("stop", "#1", "--json", code=3).json["error"] == "gone"
    invoke("task", "status", "T1", "DONE", code=0)
    assert process.wait(20) == 0


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_ask_is_printed_answered_and_goes_on_at_its_place(
    space: Workspace, invoke: Invoke
) -> None:
    question = json.dumps({"question": "Which?", "choices": ["red", "blue"]})
    agent = space.folder / "asking"
    agent.write_text(
        '#!/bin/sh\nread -r prompt\ncase "$prompt" in *red*) exit 0;; esac\n'
        f"cat > \"$BATCHDECK_ASK\" <<'END'\n{question}\nEND\n"
    )
    agent.chmod(0o700)
    script = {"command": ["sh", "-c", f'grep -q "^red" - && exit 0; exec {agent} </dev/null']}
    file = space.batch(agents={"coder": script}, tasks=tasks("colour?"))
    process = space.start("run", file, "--headless")
    space.while_runs(process, lambda: "asks: Which?" in (space.folder / "out.txt").read_text())
    assert invoke("task", "show", "T1", "--json").json["status"] == "BLOCKED"
    assert invoke("status", "--json").json["waiting"] == 1
    invoke("ask", "answer", "1", "red", code=0)
    until(lambda: process.poll() is not None)
    assert process.returncode == 0, (space.folder / "out.txt").read_text()


def test_without_input_an_ask_is_a_failure_that_names_the_question(
    space: Workspace, invoke: Invoke
) -> None:
    question = json.dumps({"question": "Which colour?"})
    file = space.batch(tasks=tasks(f"ask='{question}'"))
    invoke("run", file, "--headless", "--no-input", code=5)
    assert "Which colour?" in invoke("task", "show", "T1", "--json").json["error"]


def test_a_message_sent_while_it_runs_is_served_before_the_run_ends(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks(space.until_told("go")))
    process = space.start_run(file)
    invoke("send", "coder", "say=hi", "--on-busy", "queue", code=0)
    space.tell("go")
    assert process.wait(20) == 0
    assert space.starts() == ["T1", "#2"]


def test_a_demo_needs_nothing_and_ends_well(space: Workspace, invoke: Invoke) -> None:
    shown = invoke("demo", "--headless", "--tasks", "2", "--agents", "2", "--json", code=0)
    assert shown.lines[-1]["kind"] == "batch.finished"
    assert not space.deck.exists(), "it has a deck of its own"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    space.folder.chmod(0o500)
    refused = invoke("run", file, "--headless", code=2)
    space.folder.chmod(0o700)
    assert "cannot be used as a deck" in refused.err


def test_a_deck_in_the_place_of_a_file_is_one_line(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    space.deck.write_text("")
    refused = invoke("run", file, "--headless", code=2)
    assert len(refused.err.splitlines()) == 1


def test_a_deck_that_was_killed_at_the_first_write_of_its_file_is_run_all_the_same(
    space: Workspace,
) -> None:
    space.deck.mkdir(mode=0o700)
    elsewhere = space.folder / "made.db"
    raw = sqlite3.connect(elsewhere, isolation_level=None)
    raw.execute("PRAGMA cache_size = 1")
    raw.execute("BEGIN")
    raw.execute("CREATE TABLE t AS SELECT zeroblob(100000)")
    for end in ("", "-journal"):  # as a kill at this moment leaves them
        shutil.copy(f"{elsewhere}{end}", f"{space.deck / 'deck.db'}{end}")
    raw.close()
    assert "is being made" in space.run("status", code=2).err
    assert "left at its first write" in space.run("doctor", code=1).out
    task = {"id": "T1", "agent": "coder", "prompt": "say=done"}
    space.run("run", space.batch(tasks=[task]), "--headless", code=0)


def test_a_deck_whose_making_was_cut_off_between_two_steps_is_run_all_the_same(
    space: Workspace,
) -> None:
    tasks = [{"id": "T1", "agent": "coder", "prompt": "say=done"}]
    file = space.batch(agents={"coder": {}}, tasks=tasks)
    space.deck.mkdir(mode=0o700)
    raw = sqlite3.connect(space.deck / "deck.db", isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    for statement in statements(migrations()[0].sql):
        raw.execute(statement)
    raw.execute("PRAGMA user_version = 1")
    raw.close()
    assert "older batchdeck" in space.run("status", code=1).err
    space.run("run", file, "--headless", code=0)
    assert space.starts() == ["T1"]


def test_a_run_that_waits_for_a_person_says_for_what_and_how_to_go_on(space: Workspace) -> None:
    file = space.batch(
        agents={"coder": {"command": ["no-such-binary"]}},
        tasks=[{"id": "T1", "agent": "coder", "prompt": "x"}],
    )
    process = space.start("run", file, "--headless")
    told = space.folder / "err.txt"
    space.while_runs(process, lambda: "waits for you: agent:coder is held" in told.read_text())
    assert "(batchdeck release agent:coder)" in told.read_text()


def test_a_run_of_which_nothing_has_been_released_from_the_backlog_says_so(
    space: Workspace,
) -> None:
    file = space.batch(tasks=tasks("exit=0", status="BACKLOG"))
    process = space.start("run", file, "--headless")
    told = space.folder / "err.txt"
    space.while_runs(process, lambda: "docs has 1 task in BACKLOG" in told.read_text())
    space.run("task", "status", "T1", "READY", code=0)
    assert process.wait(20) == 0
    assert "(batchdeck task status docs/T1 READY)" in told.read_text()


def test_a_run_that_is_blocked_says_by_what(space: Workspace, invoke: Invoke) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    invoke("hold", code=0)
    invoke("run", file, "--headless", "--no-input", code=3)
    invoke("task", "block", "T1", "Which branch?", code=0)
    invoke("release", code=0)
    told = invoke("run", file, "--headless", "--no-input", code=3).err
    assert "T1 is blocked: Which branch? (batchdeck task answer docs/T1 …)" in told


def test_a_run_says_what_every_screen_would_have_on_top(space: Workspace) -> None:
    file = space.batch(tasks=tasks(space.until_told("go")))
    process = space.start("run", file, "--headless")
    until(lambda: space.starts() == ["T1"])
    (space.deck / "config.yaml").write_text("ui: 3\n")
    told = space.folder / "err.txt"
    space.while_runs(process, lambda: "was good before stays in force" in told.read_text())
    space.tell("go")
    assert process.wait(20) == 0


def test_a_run_behind_a_closed_limit_says_so(space: Workspace) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    process = space.start("run", file, "--headless", "--max-parallel", "0")
    told = space.folder / "err.txt"
    space.while_runs(process, lambda: "waits for you: batch:docs is closed" in told.read_text())
    space.run("limit", "batch:docs=1", code=0)
    assert process.wait(20) == 0


def test_a_run_on_a_held_deck_says_who_holds_it_and_how_to_go_on(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks("exit=0"))
    invoke("hold", "--reason", "looking first", code=0)
    told = invoke("run", file, "--headless", "--no-input", code=3).err
    assert "deck is held by operator: looking first (batchdeck release deck)" in told


def test_a_run_names_held_turns_at_once_and_counts_those_it_does_not_name(
    space: Workspace, invoke: Invoke
) -> None:
    file = space.batch(tasks=tasks(*["exit=0"] * 5, space.until_told("go")))
    invoke("hold", code=0)
    invoke("run", file, "--headless", "--no-input", code=3)
    for number in range(1, 6):
        invoke("queue", "hold", number, code=0)
    invoke("release", code=0)
    process = space.start_run(file)
    told = space.folder / "err.txt"
    space.while_runs(process, lambda: "waits for you" in told.read_text())
    assert "#1 T1 is held by operator (batchdeck release '#1')" in told.read_text()
    assert "2 more turns are held" in told.read_text()
    assert space.at_work() == ["T6"], "it is said while another turn still runs"


def test_the_deck_is_not_seen_by_git(space: Workspace) -> None:
    git = ["git", "-C", str(space.folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    space.run("limit", "global=2", code=0)
    seen = subprocess.run([*git, "status", "--short"], capture_output=True, text=True, check=True)
    assert ".batchdeck" not in seen.stdout


def many(space: Workspace, count: int = 30) -> Path:
    tasks = [{"id": f"T{n}", "agent": "coder", "prompt": "say=done"} for n in range(count)]
    return space.batch(agents={"coder": {"parallelism_limit": 4}}, tasks=tasks, max_parallel=4)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_reader_that_does_not_read_stops_nobody(flags: list[str], space: Workspace) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        [str(COMMAND), "run", str(many(space)), "--headless", *flags],
        cwd=space.folder,
        env=space.environment,
        stdout=writing,
        stdin=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        assert process.wait(60) == 0
        assert len(space.starts()) == 30
    finally:
        process.kill()
        process.wait()
        os.close(reading)


def test_a_full_or_closed_standard_output_ends_no_run(space: Workspace) -> None:
    run = f"{COMMAND} run {many(space, 10)} --headless"
    for redirected in (">/dev/full", ">&-", "| head -1"):
        shutil.rmtree(space.deck, ignore_errors=True)
        space.ledger.write_text("")
        shell = ["bash", "-o", "pipefail", "-c", f"{run} {redirected}"]
        told = subprocess.run(
            shell, cwd=space.folder, env=space.environment, capture_output=True, text=True
        )
        assert told.returncode == 0, (redirected, told.stderr)
        assert "Traceback" not in told.stderr
        assert "itself failed" not in told.stderr
        assert len(space.starts()) == 10


@pytest.mark.parametrize("command", ["status", "tasks", "events"])
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
def test_a_command_that_cannot_write_says_so_in_words(
    command: str, redirected: str, space: Workspace
) -> None:
    space.run("limit", "global=2", code=0)
    shell = ["bash", "-c", f"{COMMAND} {command} {redirected}"]
    told = subprocess.run(
        shell, cwd=space.folder, env=space.environment, capture_output=True, text=True
    )
    assert "Traceback" not in told.stderr
    assert "itself failed" not in told.stderr


def test_a_supervisor_that_is_stopped_is_said_and_nothing_is_sent(space: Workspace) -> None:
    process = space.start_run(many(space), "--headless")
    os.kill(process.pid, signal.SIGSTOP)
    try:
        told = space.run("limit", "global=2", code=4)
        assert "does not answer; is its process stopped? Nothing was sent." in told.err
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert process.wait(60) == 0
    assert space.view().limits["global"].value != 2
