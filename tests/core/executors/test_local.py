"""An attempt is started once, ends as a whole, and is never in doubt."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from batchdeck.core.executors import attempt_files, process_tree, processes, runner
from batchdeck.core.executors.executor import Alive, Died, Ended, Evidence, Never, Record
from batchdeck.core.executors.local import SPAWNS_AT_ONCE, LocalExecutor, _spec, handed
from batchdeck.core.model.turn import AttemptEnd
from tests.core.executors.support import launch, left, until

pytestmark = pytest.mark.anyio

WAYS_TO_HIDE = ["background", "setsid", "double", "nohup", "stubborn"]


def record_of(found: Evidence) -> Record:
    assert isinstance(found, Ended)
    return found.record


async def appears(path: Path) -> None:
    await anyio.to_thread.run_sync(until, path.exists)


async def test_an_agent_runs_to_its_end(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "say=hello exit=3")

    pid = await executor.start(given)
    record = record_of(await executor.wait(given.run))

    assert pid is not None
    assert (record.end, record.code, record.leftovers) == (AttemptEnd.EXITED, 3, 0)
    assert (given.run / attempt_files.OUTPUT).read_text() == "hello\n"
    assert executor.evidence(given.run) == Ended(record)


async def test_an_end_by_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "signal=9")

    await executor.start(given)

    assert record_of(await executor.wait(given.run)).code == -9


@pytest.mark.parametrize("how", WAYS_TO_HIDE)
async def test_what_an_agent_leaves_behind_is_ended_before_its_record_is_written(
    tmp_path: Path, how: str
) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, f"fork={how} exit=0")

    await executor.start(given)
    record = record_of(await executor.wait(given.run))

    assert (record.end, record.code, record.leftovers) == (AttemptEnd.EXITED, 0, 1)
    assert left(given.run.name) == []


@pytest.mark.parametrize("how", WAYS_TO_HIDE)
async def test_a_stop_ends_the_whole_tree(tmp_path: Path, how: str) -> None:
    executor = LocalExecutor()
    ready = tmp_path / "ready"
    given = launch(tmp_path, f"fork={how} touch={ready} sleep=600", grace_seconds=0.3)
    await executor.start(given)
    await appears(ready)

    await executor.stop(given.run)
    record = record_of(await executor.wait(given.run))

    assert (record.end, record.code) == (AttemptEnd.STOPPED, -15)
    assert left(given.run.name) == []


async def test_an_agent_that_ignores_term_is_killed_after_its_grace(tmp_path: Path) -> None:
    executor = LocalExecutor()
    ready = tmp_path / "ready"
    given = launch(tmp_path, f"trap=TERM touch={ready} sleep=600", grace_seconds=0.2)
    await executor.start(given)
    await appears(ready)

    await executor.stop(given.run)
    record = record_of(await executor.wait(given.run))

    assert (record.end, record.code) == (AttemptEnd.STOPPED, -9)
    assert record.seconds >= 0.2


async def test_a_stopped_process_is_ended_too(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "signal=19 sleep=600")
    pid = await executor.start(given)
    await anyio.to_thread.run_sync(
        until, lambda: (process_tree.process_fields(pid or 0) or [b"?"])[0] == b"T"
    )

    await executor.stop(given.run)

    assert record_of(await executor.wait(given.run)).end is AttemptEnd.STOPPED


async def test_a_stop_file_alone_stops_it(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "sleep=600")
    await executor.start(given)

    (given.run / attempt_files.STOP).touch()

    assert record_of(await executor.wait(given.run)).end is AttemptEnd.STOPPED


async def test_a_stop_before_the_start_starts_nothing(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "sleep=600")
    await executor.stop(given.run)

    assert await executor.start(given) is None
    assert record_of(await executor.wait(given.run)) == Record(AttemptEnd.STOPPED)
    assert not (given.run / attempt_files.STARTED).exists()


@pytest.mark.parametrize("how", ["", "fork=stubborn"])
async def test_a_timeout_ends_the_whole_tree(tmp_path: Path, how: str) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, f"{how} sleep=600", timeout_seconds=0.3, grace_seconds=0.2)

    await executor.start(given)
    record = record_of(await executor.wait(given.run))

    assert (record.end, record.code) == (AttemptEnd.TIMED_OUT, -15)
    assert record.seconds >= 0.3
    assert left(given.run.name) == []


async def test_the_agent_has_a_session_of_its_own_and_default_signals(tmp_path: Path) -> None:
    executor = LocalExecutor()
    script = "ps -o sid= -p $$; echo $$; grep SigIgn /proc/self/status; ls /proc/self/fd"
    given = launch(tmp_path, "", argv=("/bin/sh", "-c", script))

    await executor.start(given)
    await executor.wait(given.run)

    session, pid, ignored, *descriptors = (given.run / attempt_files.OUTPUT).read_text().split("\n")
    assert session.strip() == pid
    assert int(ignored.split()[1], 16) & 0x7FFF_FFFF == 0  # 32 and 33 are the C library's
    assert [name for name in descriptors if name] == ["0", "1", "2", "3"]  # 3: the listing itself


async def test_a_runner_is_taken_in_when_it_ends(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "")
    await executor.start(given)
    pid = json.loads((given.run / attempt_files.STARTED).read_text())["runner"]

    await executor.wait(given.run)

    assert process_tree.process_fields(pid) is None


@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "say=x exit=0")
    before = os.umask(umask)
    try:
        await executor.start(given)
        await executor.wait(given.run)
    finally:
        os.umask(before)

    modes = {
        file.name: stat.S_IMODE(file.stat().st_mode)
        for file in given.run.iterdir()
        if file.name != "prompt"
    }
    assert set(modes.values()) == {0o600}, modes
    assert {
        attempt_files.SPEC,
        attempt_files.LOCK,
        attempt_files.STARTED,
        attempt_files.OUTPUT,
        attempt_files.EXIT,
    } <= set(modes)


async def test_random_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "big=10000000")

    await executor.start(given)
    await executor.wait(given.run)

    assert (given.run / attempt_files.OUTPUT).stat().st_size == 10_000_000


async def test_a_prompt_that_is_never_read_blocks_nobody(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "x" * 1_000_000, argv=("/bin/sh", "-c", "exit 0"))

    await executor.start(given)

    assert record_of(await executor.wait(given.run)).code == 0


async def test_without_a_prompt_standard_input_is_empty(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "", argv=("/bin/sh", "-c", "cat; exit 4"), stdin=None)

    await executor.start(given)

    assert record_of(await executor.wait(given.run)).code == 4


async def failure_of(executor: LocalExecutor, given: object) -> tuple[str, str]:
    assert await executor.start(given) is None  # type: ignore[arg-type]
    record = record_of(await executor.wait(given.run))  # type: ignore[attr-defined]
    assert record.code is None
    assert record.spawn_failure is not None
    return record.spawn_failure.stage, record.spawn_failure.name


def make_program(path: Path, text: str, mode: int) -> tuple[str]:
    path.write_text(text)
    path.chmod(mode)
    return (str(path),)


async def test_a_missing_program_is_told_from_a_failing_one(tmp_path: Path) -> None:
    given = launch(tmp_path, "", argv=(str(tmp_path / "nothing"),))
    assert await failure_of(LocalExecutor(), given) == ("exec", "ENOENT")


async def test_what_is_no_program_is_told(tmp_path: Path) -> None:
    executor = LocalExecutor()
    plain = make_program(tmp_path / "plain", "#!/bin/sh\n", 0o600)
    bad = make_program(tmp_path / "bad", "#!/nowhere/sh\n", 0o700)
    none = make_program(tmp_path / "none", "no first line", 0o700)

    assert await failure_of(executor, launch(tmp_path, "", argv=plain)) == ("exec", "EACCES")
    assert await failure_of(executor, launch(tmp_path, "", argv=bad)) == ("exec", "ENOENT")
    assert await failure_of(executor, launch(tmp_path, "", argv=none)) == ("exec", "ENOEXEC")
    folder = launch(tmp_path, "", argv=(str(tmp_path),))
    assert await failure_of(executor, folder) == ("exec", "EACCES")
    long = launch(tmp_path, "", argv=("/bin/true", "x" * 200_000))
    assert await failure_of(executor, long) == ("exec", "E2BIG")


async def test_a_folder_that_is_gone_or_another_is_told(tmp_path: Path) -> None:
    executor = LocalExecutor()
    gone = launch(tmp_path, "", folder=tmp_path / "gone")
    file = launch(tmp_path, "", folder=gone.run / "prompt")
    other = launch(tmp_path, "", identity=(tmp_path.stat().st_dev, tmp_path.stat().st_ino + 1))

    assert await failure_of(executor, gone) == ("folder", "ENOENT")
    assert await failure_of(executor, file) == ("folder", "ENOTDIR")
    assert await failure_of(executor, other) == ("folder", "ESTALE")


async def test_an_expected_folder_is_entered(tmp_path: Path) -> None:
    executor = LocalExecutor()
    status = tmp_path.stat()
    given = launch(tmp_path, "", argv=("/bin/pwd",), identity=(status.st_dev, status.st_ino))

    await executor.start(given)
    await executor.wait(given.run)

    assert (given.run / attempt_files.OUTPUT).read_text() == f"{tmp_path}\n"


async def test_a_fence_refuses_a_late_runner(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "touch=" + str(tmp_path / "ran"))

    assert executor.evidence(given.run) == Never()
    assert executor.fence(given.run)
    assert executor.fence(given.run)
    assert await executor.start(given) is None
    assert await executor.wait(given.run) == Never(fenced=True)
    assert not (tmp_path / "ran").exists()


async def test_a_fence_is_refused_once_the_attempt_has_begun(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "sleep=600")
    await executor.start(given)

    assert not executor.fence(given.run)
    await executor.stop(given.run)
    await executor.wait(given.run)
    assert not executor.fence(given.run)


async def test_an_attempt_starts_once_however_many_runners_come(tmp_path: Path) -> None:
    executor, ledger = LocalExecutor(), tmp_path / "ledger"
    given = launch(tmp_path, "sleep=0.2")
    given.environment["LEDGER"] = str(ledger)  # type: ignore[index]

    async with anyio.create_task_group() as starters:
        for _ in range(5):
            starters.start_soon(LocalExecutor().start, given)
    await executor.wait(given.run)
    late = LocalExecutor()
    assert await late.start(given) is None
    await late.wait(given.run)

    events = [json.loads(line)["event"] for line in ledger.read_text().splitlines()]
    assert events == ["start", "end"]
    reap()


def reap() -> None:
    """Takes in runners that nobody waited for."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


async def test_evidence_of_an_attempt_without_a_folder_is_never(tmp_path: Path) -> None:
    assert LocalExecutor().evidence(tmp_path / "nothing") == Never()


async def test_cancelling_the_wait_leaves_the_agent_running(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, f"wait={tmp_path / 'go'} exit=5")
    await executor.start(given)

    with anyio.move_on_after(0.05):
        await executor.wait(given.run)
    assert isinstance(executor.evidence(given.run), Alive)
    (tmp_path / "go").touch()

    assert record_of(await executor.wait(given.run)).code == 5


async def test_a_runner_that_was_killed_leaves_its_attempt_in_doubt_and_nothing_running(
    tmp_path: Path,
) -> None:
    executor = LocalExecutor()
    ready = tmp_path / "ready"
    given = launch(tmp_path, f"fork=setsid fork=double fork=stubborn touch={ready} sleep=600")
    await executor.start(given)
    await appears(ready)
    os.kill(json.loads((given.run / attempt_files.STARTED).read_text())["runner"], 9)

    assert await executor.wait(given.run) == Died()
    assert await executor.sweep(given.run.name) >= 3
    assert left(given.run.name) == []


async def test_a_sweep_leaves_other_attempts_alone(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "sleep=600")
    await executor.start(given)

    assert await executor.sweep("another") == 0
    assert await executor.sweep(given.run.name[:-1]) == 0
    assert isinstance(executor.evidence(given.run), Alive)
    await executor.stop(given.run)
    await executor.wait(given.run)


async def test_no_signal_goes_to_a_process_that_only_has_the_same_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, sent = LocalExecutor(), []
    given, other = launch(tmp_path, ""), launch(tmp_path, "sleep=600")
    await executor.start(other)
    started = json.loads((other.run / attempt_files.STARTED).read_text())
    monkeypatch.setattr(processes, "_send", lambda descriptor, number: sent.append(number))

    lies = [{"boot_id": "another"}, {"runner_ticks": started["runner_ticks"] + 1}]
    for lie in (*lies, {"runner_ticks": None}, {"runner": 2**22 - 1}):
        (given.run / attempt_files.STARTED).write_text(json.dumps({**started, **lie}))
        await executor.stop(given.run)
    assert sent == []

    (given.run / attempt_files.STARTED).write_text(json.dumps(started))
    await executor.stop(given.run)
    assert sent == [signal.SIGTERM]
    monkeypatch.undo()
    await executor.stop(other.run)
    assert record_of(await executor.wait(other.run)).end is AttemptEnd.STOPPED


async def test_an_agent_dies_with_its_runner_though_it_hides_its_mark(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "", argv=("/usr/bin/env", "-i", "/bin/sleep", "600"))
    pid = await executor.start(given)
    assert pid is not None

    os.kill(json.loads((given.run / attempt_files.STARTED).read_text())["runner"], 9)
    assert await executor.wait(given.run) == Died()

    await anyio.to_thread.run_sync(until, lambda: is_over(pid))


def is_over(pid: int) -> bool:
    """Whether a process is gone, or only waits to be taken in by somebody else."""
    fields = process_tree.process_fields(pid)
    return fields is None or fields[0] == b"Z"


BLIND = """
import sys
sys.path.insert(0, sys.argv[2])
import process_tree, runner
sees, looks = process_tree.descendants, []

def blind_at_first(root):
    looks.append(root)
    return {} if len(looks) <= 3 else sees(root)

process_tree.descendants = blind_at_first
runner.LEFTOVER_GRACE = 0.05
runner.main(sys.argv[1])
"""


async def test_a_runner_that_dies_before_it_owns_its_agent_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the fork, and before its end would end the agent."""
    home = tmp_path / "executors"
    shutil.copytree(Path(runner.__file__).parent, home)
    code = (home / "runner.py").read_text("utf-8")
    killed = """os.kill(runner, 9)
            while os.getppid() == runner:
                time.sleep(0.001)
            os.setsid()
            tree.prctl(_PR_SET_PDEATHSIG"""
    changed = code.replace("os.setsid()\n            tree.prctl(_PR_SET_PDEATHSIG", killed)
    assert changed != code
    (home / "runner.py").write_text(changed, "utf-8")
    monkeypatch.setattr(runner, "__file__", str(home / "runner.py"))
    executor = LocalExecutor()
    given = launch(tmp_path, "say=hello")

    await executor.start(given)
    await executor.wait(given.run)

    await anyio.to_thread.run_sync(until, lambda: not left(given.run.name))
    assert (given.run / attempt_files.OUTPUT).read_text() == "", "the agent was never loaded"


async def test_killing_goes_on_until_nothing_is_left(tmp_path: Path) -> None:
    given = launch(tmp_path, "fork=setsid exit=0")
    (given.run / attempt_files.SPEC).write_text(json.dumps(_spec(given)))

    home = str(Path(runner.__file__).parent)
    command = [sys.executable, "-S", "-c", BLIND, str(given.run), home]
    with anyio.fail_after(20):
        await anyio.run_process(command, env={**os.environ, **handed(given)})

    assert record_of(LocalExecutor().evidence(given.run)).code == 0
    assert left(given.run.name) == []


SETPRIV = shutil.which("setpriv")
WITHOUT_KILL = ("--bounding-set=-kill", "--inh-caps=-kill")
NOBODY = 65534
TWO_LEFT = f"""
{SETPRIV} --reuid={NOBODY} --clear-groups sleep 600 & echo $!
sleep 600 & echo $!
while [ ! -e go ]; do sleep 0.02; done
"""


@pytest.mark.skipif(SETPRIV is None or os.geteuid() != 0, reason="only root may become another")
def test_a_process_that_may_not_be_signalled_is_waited_for_and_the_others_are_ended(
    tmp_path: Path,
) -> None:
    """As below an agent that uses sudo: here root's runner may signal its own processes alone."""
    given = launch(tmp_path, "", argv=("/bin/sh", "-c", TWO_LEFT))
    (given.run / attempt_files.SPEC).write_text(json.dumps(_spec(given)))
    output = given.run / attempt_files.OUTPUT
    command = [str(SETPRIV), *WITHOUT_KILL, sys.executable, "-I", "-S", runner.__file__]
    with subprocess.Popen(
        [*command, str(given.run)], env={**os.environ, **handed(given)}, stdout=subprocess.DEVNULL
    ) as running:
        try:
            until(lambda: output.exists() and output.read_text().count("\n") == 2)
            others, own = map(int, output.read_text().split())
            until(lambda: os.stat(f"/proc/{others}").st_uid == NOBODY)
            (tmp_path / "go").touch()

            until(lambda: not os.path.exists(f"/proc/{own}"))
            assert not is_over(others)
            assert isinstance(LocalExecutor().evidence(given.run), Alive)

            os.kill(others, signal.SIGKILL)
            assert running.wait() == 0
        finally:
            processes.signal_marked(given.run.name, signal.SIGKILL)
    record = record_of(LocalExecutor().evidence(given.run))
    assert (record.code, record.leftovers) == (0, 2)


@contextlib.contextmanager
def killed(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
        assert child.poll() is None
    finally:
        child.kill()


def refuse(*given: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize("name", ["pidfd_send_signal", "kill"])
def test_a_signal_that_is_not_permitted_is_no_error(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"marked-{os.getpid()}"
    environment = {"PATH": os.environ["PATH"], processes.MARK: mark}
    with (
        subprocess.Popen(["sleep", "600"], env=environment) as child,
        killed(child),
        monkeypatch.context() as patched,
    ):
        if name == "kill":
            patched.delattr(os, "pidfd_open")
            patched.setattr(os, "kill", refuse)
        else:
            patched.setattr(signal, name, refuse)
            patched.setattr(process_tree.signal, name, refuse)
            assert processes.signal_marked(mark, signal.SIGTERM) == {child.pid}
        process_tree.send(child.pid, os.getpid(), signal.SIGTERM)


async def test_a_record_that_was_cut_is_no_record(tmp_path: Path) -> None:
    executor = LocalExecutor()
    given = launch(tmp_path, "")
    await executor.start(given)
    await executor.wait(given.run)

    for content in ("", "{", "[]", '{"end": "strange"}', "{}"):
        (given.run / attempt_files.EXIT).write_text(content)
        assert executor.evidence(given.run) == Died()


async def test_no_more_processes_are_made_at_once_than_allowed(tmp_path: Path) -> None:
    assert LocalExecutor().spawning.total_tokens == SPAWNS_AT_ONCE


async def test_what_an_agent_is_given_of_the_environment_stands_in_no_file(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef"
    code = "import os; print('length', len(os.environ['KEY']), 'HANDED' in str(os.environ))"
    given = launch(tmp_path, "", argv=(sys.executable, "-c", code))
    given = replace(given, environment={**given.environment, "KEY": secret})
    executor = LocalExecutor()
    await executor.start(given)
    await executor.wait(given.run)
    assert (given.run / attempt_files.OUTPUT).read_text() == f"length {len(secret)} False\n"
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if secret.encode() in path.read_bytes()]
