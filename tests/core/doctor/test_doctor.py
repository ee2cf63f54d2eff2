"""The examination finds what is wrong with a deck and what it stands on, and mends what it can."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchdeck.core import file_systems
from batchdeck.core.doctor.finding import Grade
from batchdeck.core.doctor.surroundings import look_at_agents, look_at_sqlite
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import Agent, AgentKind
from tests.support.invoking import Invoke
from tests.support.tracker_server import TrackerServer, fault, tracker_server
from tests.support.workspace import Workspace, until, workspaces


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A deck on which T1 of the batch `docs` is done."""
    for space in workspaces(tmp_path_factory.mktemp("ended")):
        tasks = [{"id": "T1", "agent": "coder", "prompt": "say=done"}]
        space.run("run", space.batch(agents={"coder": {}}, tasks=tasks), "--headless", code=0)
        yield space


@pytest.fixture
def ran(space: Workspace, ended: Workspace) -> Workspace:
    """A copy of that deck."""
    shutil.copytree(ended.deck, space.deck)
    return space


def problems(invoke: Invoke, *arguments: str, code: int) -> list[str]:
    document = invoke("doctor", "--json", *arguments, code=code).json
    return [
        f"{one['check']}: {one['words']}"
        for one in document["findings"]
        if one["grade"] == "problem"
    ]


def change(space: Workspace, *statements: str) -> None:
    raw = sqlite3.connect(space.deck / "deck.db", isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


def test_a_sound_deck_has_no_problem(ran: Workspace, invoke: Invoke) -> None:
    assert problems(invoke, code=0) == []
    assert "No problem found." in invoke("doctor", code=0).out


def test_without_a_deck_it_looks_at_what_there_is(space: Workspace, invoke: Invoke) -> None:
    assert problems(invoke, code=0) == []


def test_files_that_others_can_read_are_found_and_closed(ran: Workspace, invoke: Invoke) -> None:
    (ran.deck / "deck.db").chmod(0o644)
    assert problems(invoke, code=1) == ["modes: deck.db can be read by others (mode 0644)"]
    told = invoke("doctor", "--repair", code=0).out
    assert "closed to others" in told
    assert stat.S_IMODE((ran.deck / "deck.db").stat().st_mode) == 0o600
    assert problems(invoke, code=0) == []


def test_an_agent_whose_program_is_missing_is_found(ran: Workspace, invoke: Invoke) -> None:
    (ran.deck / "config.yaml").write_text(
        "agents: {ghost: {kind: command, command: [no-such-program]}}\n"
    )
    assert problems(invoke, code=1) == [
        "agents: ghost: the command 'no-such-program' was not found on the agent's PATH"
    ]


def test_a_faulty_configuration_is_told_with_its_place(ran: Workspace, invoke: Invoke) -> None:
    (ran.deck / "config.yaml").write_text("max_paralel_cap: 3\n")
    (found,) = problems(invoke, code=1)
    assert "config.yaml:1" in found


def test_what_the_screen_does_not_have_is_told_beside_all_other_faults(
    ran: Workspace, invoke: Invoke
) -> None:
    (ran.deck / "config.yaml").write_text(
        "nonsense: 1\nui:\n  theme: zzz\n  wat: 3\n  keymap: {foo: a, stop: m}\n"
    )
    found = "\n".join(problems(invoke, code=1))
    for words in ("nonsense: unknown", "theme 'zzz'", "ui.wat: unknown", "foo", "ui.keymap.stop"):
        assert words in found


def test_a_task_without_a_turn_is_found_and_queued_again(ran: Workspace, invoke: Invoke) -> None:
    change(
        ran,
        "UPDATE tasks SET status = 'READY'",
        "UPDATE batches SET state = 'running', ended_ms = NULL",
    )
    assert problems(invoke, code=1) == ["rows: docs/T1 is READY and has no turn"]
    told = invoke("doctor", "--repair", code=0).out
    assert "queued as #2" in told
    assert problems(invoke, code=0) == []
    invoke("resume", "--headless", "--auto-resume", code=0)
    assert [turn.state for turn in ran.view().turns.values()] == ["succeeded"] * 2


def test_a_row_that_nobody_can_read_is_named(ran: Workspace, invoke: Invoke) -> None:
    change(ran, "UPDATE tasks SET status = 'PERHAPS'")
    found = problems(invoke, code=1)
    assert any("task 1" in words and "PERHAPS" in words for words in found)


def test_a_damaged_file_is_told_in_words(ran: Workspace, invoke: Invoke) -> None:
    content = bytearray((ran.deck / "deck.db").read_bytes())
    content[4096 * 3 : 4096 * 12] = b"\xff" * 4096 * 9
    (ran.deck / "deck.db").write_bytes(content)
    found = problems(invoke, code=1)
    assert any("damaged" in words for words in found), found


def test_a_file_of_a_newer_version_is_left_alone(ran: Workspace, invoke: Invoke) -> None:
    change(ran, "PRAGMA user_version = 77")
    (found,) = problems(invoke, "--repair", code=1)
    assert "newer batchdeck" in found


def test_what_attempts_left_is_listed_with_how_long_it_stays(
    ran: Workspace, invoke: Invoke
) -> None:
    (run,) = (ran.deck / "runs").iterdir()
    told = invoke("doctor", code=0).out
    assert "1 folder of attempts" in told
    assert "kept for 90 days, at most 10000 MB" in told
    (run / "scratch" / "result.txt").write_text("hours of it")
    (ran.deck / "config.yaml").write_text("retention: {days: null, runs: 50}\n")
    told = invoke("doctor", code=0).out
    assert f"agents left files in runs/{run.name}/scratch; kept for good, at most 50 att" in told


def test_room_in_the_decks_file_is_told_and_given_back(ran: Workspace, invoke: Invoke) -> None:
    change(
        ran,
        "CREATE TABLE much AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 12000) SELECT i, zeroblob(1000) AS b FROM n",
        "DROP TABLE much",
    )
    big = (ran.deck / "deck.db").stat().st_size
    assert "MB of its file are free" in invoke("doctor", code=0).out
    assert "given back to the disk" in invoke("doctor", "--repair", code=0).out
    change(ran, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert (ran.deck / "deck.db").stat().st_size < big - 10_000_000
    assert problems(invoke, code=0) == []


def test_a_process_that_outlived_its_attempt_is_found_and_ended(
    ran: Workspace, invoke: Invoke
) -> None:
    (run,) = (ran.deck / "runs").iterdir()
    sleeper = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        env={**os.environ, "BATCHDECK_RUN": run.name},
    )
    try:
        assert problems(invoke, code=1) == [
            f"processes: 1 left of runs/{run.name[:8]}…, which has ended"
        ]
        assert "ended" in invoke("doctor", "--repair", code=0).out
        until(lambda: sleeper.poll() is not None)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_while_a_supervisor_works_it_looks_and_disturbs_nothing(
    space: Workspace, invoke: Invoke
) -> None:
    tasks = [{"id": "T1", "agent": "coder", "prompt": space.until_told("go")}]
    process = space.start_run(space.batch(agents={"coder": {}}, tasks=tasks))
    locks = standing_locks(process.pid)
    assert len(locks) == 2
    assert problems(invoke, "--repair", code=0) == []
    assert standing_locks(process.pid) == locks
    space.tell("go")
    assert process.wait(20) == 0


def standing_locks(pid: int) -> set[tuple[str, int]]:
    """The locks that SQLite keeps as long as a WAL database is open: the shared bytes of the file
    (SHARED_FIRST of os.h) and the dead man's switch of the -shm file (UNIX_SHM_DMS of os_unix.c).

    POSIX locks would go with a careless close; those of a read or a commit come and go.
    """
    fields = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    held = {(inode, int(start)) for _, *_, owner, inode, start, _ in fields if owner == str(pid)}
    return {(inode, start) for inode, start in held if start in {0x40000002, 128}}


@pytest.mark.parametrize(
    ("version", "grade"),
    [
        ((3, 40, 1), Grade.REMARK),
        ((3, 44, 6), Grade.FINE),
        ((3, 50, 6), Grade.REMARK),
        ((3, 50, 7), Grade.FINE),
        ((3, 51, 2), Grade.REMARK),
        ((3, 51, 3), Grade.FINE),
        ((3, 53, 0), Grade.FINE),
    ],
)
def test_a_sqlite_that_can_lose_commits_is_remarked(version: tuple[int, ...], grade: Grade) -> None:
    assert look_at_sqlite(version).grade is grade


MOUNTS = """\
22 1 0:20 / / rw - ext4 /dev/vda rw
30 22 0:31 / /home rw - nfs4 server:/home rw
31 22 0:32 / /mnt/with\\040blank rw - cifs //server/share rw
32 22 0:33 / /shared rw - fuse.sshfs me@there: rw
33 30 0:34 / /home/local rw - xfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/.batchdeck", "ext4"),
        ("/home/me/.batchdeck", "nfs4"),
        ("/home/local/.batchdeck", "xfs"),
        ("/mnt/with blank/deck", "cifs"),
        ("/shared/deck", "fuse.sshfs"),
        ("/homely/deck", "ext4"),
    ],
)
def test_the_kind_of_file_system_is_that_of_the_nearest_mount(
    path: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(file_systems, "_MOUNTS", tmp_path / "mountinfo")
    assert file_systems.kind_of(Path(path)) == kind
    if kind in ("nfs4", "cifs"):
        with pytest.raises(BadInput, match="network file system"):
            file_systems.refuse_network(Path(path))
    else:
        file_systems.refuse_network(Path(path))


def configured(space: Workspace, server: TrackerServer) -> None:
    space.deck.mkdir(mode=0o700, exist_ok=True)
    config = {"kind": "github", "base_url": server.address, "token_env": "TRACKER_TOKEN"}
    (space.deck / "config.yaml").write_text(f"tracker: {config!r}\n")


def test_the_tracker_is_asked_about_the_repository_of_a_task(
    space: Workspace, invoke: Invoke
) -> None:
    with tracker_server() as server:
        server.close(1)
        configured(space, server)
        space.environment["TRACKER_TOKEN"] = "a-token"
        tasks = [{"id": "T1", "agent": "coder", "prompt": "x", "issue": "o/r#1"}]
        invoke("run", space.batch(agents={"coder": {}}, tasks=tasks), "--headless", code=0)
        server.forget()
        assert problems(invoke, code=0) == []
        assert [one.path for one in server.asked] == ["/api/v3/repos/o/r/issues"]
        assert "answers" in invoke("doctor", code=0).out
        server.always = fault(401, "Bad credentials")
        (words,) = problems(invoke, code=1)
        assert "rejects the token in TRACKER_TOKEN (401): Bad credentials" in words
        assert "a-token" not in words


def test_a_token_that_is_not_set_is_a_problem_and_asks_nobody(
    space: Workspace, invoke: Invoke
) -> None:
    with tracker_server() as server:
        configured(space, server)
        (words,) = problems(invoke, code=1)
        assert "the variable TRACKER_TOKEN is not set here" in words
        assert server.asked == []


def test_a_token_that_no_header_can_carry_is_a_problem_in_words(
    space: Workspace, invoke: Invoke
) -> None:
    with tracker_server() as server:
        configured(space, server)
        space.environment["TRACKER_TOKEN"] = "tök\u2026n"
        (words,) = problems(invoke, code=1)
        assert "the variable TRACKER_TOKEN holds no token" in words
        assert server.asked == []
        space.environment["TRACKER_TOKEN"] = " a-token\n"
        invoke("doctor")
        (asked,) = server.asked
        assert asked.headers["authorization"] == "Bearer a-token"


def test_a_key_that_an_agent_needs_and_that_is_not_set_is_a_problem(
    ran: Workspace, invoke: Invoke
) -> None:
    chat = "{kind: openai, model: m, base_url: 'https://models.example', api_key_env: CHAT_KEY}"
    (ran.deck / "config.yaml").write_text(f"agents: {{writer: {chat}}}\n")
    (words,) = problems(invoke, code=1)
    assert words == "agents: writer: the variable CHAT_KEY is not set here"
    ran.environment["CHAT_KEY"] = "k"
    assert problems(invoke, code=0) == []


def test_a_known_program_says_its_version_and_no_other_is_run(space: Workspace) -> None:
    folder = space.folder / "bin"
    folder.mkdir()
    for name in ("claude", "unheard-of"):
        program = folder / name
        program.write_text(f"#!/bin/sh\ntouch {folder}/{name}-was-run\necho '2.1.0 (a program)'\n")
        program.chmod(0o755)
    agents = [
        Agent(name, AgentKind.COMMAND, command=(str(folder / name),))
        for name in ("claude", "unheard-of")
    ]
    words = [finding.words for finding in look_at_agents(agents, {"PATH": "/usr/bin:/bin"})]
    assert words == [
        f"claude: {folder}/claude (2.1.0 (a program))",
        f"unheard-of: {folder}/unheard-of",
    ]
    assert not (folder / "unheard-of-was-run").exists()
