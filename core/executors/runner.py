"""The runner: the small process that owns one attempt, and outlives whoever started it.

Run as `python -I -S runner.py RUN`, where RUN is the attempt's folder. It imports nothing of
batchdeck but the three files beside it, which stand alone like itself (and, other than itself, are
compiled once), and as little else as it can, since it starts once per attempt.

It holds RUN/lock for its whole life, starts the agent at most once ever, and writes RUN/exit.json
last, when no process of the agent's tree is left. Beginning is decided under the lock: where there
is `fenced`, `started.json` or `exit.json` it begins nothing. Nothing it does depends on its parent.
`attempt_files` says what lies in RUN.

A line with the agent's pid goes to standard output once the agent's program has been loaded.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from batchdeck.core.executors import attempt_files as files
    from batchdeck.core.executors import process_tree as tree
    from batchdeck.core.executors.output_cap import CappedOutput
else:  # alone: what lies beside it is found there, behind the standard library
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import attempt_files as files
    import process_tree as tree
    from output_cap import CappedOutput

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Mapping
    from typing import NoReturn
else:  # `signal` imports enum, which costs as much again as the interpreter itself
    import _signal as signal

BROKEN, BUSY, LATE = 70, 75, 76
"""Exit codes: the runner itself failed; another holds the lock; fenced, or begun before."""

LEFTOVER_GRACE = 1.0
"""Seconds between TERM and KILL for what is still there when the agent has ended by itself."""

_LOOK_FOR_STOP = 1.0
_KILL_AGAIN = 0.01
_LONGEST_UNTIL_KILLED_AGAIN = 1.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


# ---------------------------------------------------------------- waking up


class Alarm:
    """Lets the one loop sleep until a signal, or for a while."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _on_stop(self, number: int, frame: object) -> None:
        self.stop_asked = True

    def wait(self, seconds: float) -> None:
        """Returns after `seconds`, or soon after a signal."""
        select.select([self._reader], [], [], max(0.0, seconds))
        try:
            os.read(self._reader, 4096)
        except BlockingIOError:
            return


# ---------------------------------------------------------------- the agent


class SpawnError(Exception):
    """The agent could not be started: at which stage, and why."""

    def __init__(self, stage: str, number: int) -> None:
        super().__init__(stage, number)
        self.stage = stage
        self.number = number

    def record(self) -> dict[str, object]:
        name = errno.errorcode.get(self.number, "?")
        return {"stage": self.stage, "errno": self.number, "name": name}


class Agent:
    """The agent's process, first held back at a gate, then let go."""

    def __init__(self, run: str, spec: Mapping[str, object]) -> None:
        """Forks it. Raises SpawnError."""
        self._run = run
        self._spec = spec
        folder = _open_folder(str(spec["cwd"]), spec["cwd_identity"])
        source = _open_source(spec["stdin"])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        output = os.open(os.path.join(run, files.OUTPUT), flags, 0o600)
        gate, self._gate = os.pipe()
        self._verdict, verdict = os.pipe()
        runner = os.getpid()
        try:
            self.pid = os.fork()
        except OSError as error:
            raise SpawnError("fork", error.errno or 0) from error
        if self.pid == 0:
            os.close(self._gate)
            self._become_agent(runner, gate, verdict, (source, output, output), folder)
        for descriptor in (folder, source, output, gate, verdict):
            os.close(descriptor)

    def let_go(self) -> None:
        """Loads the agent's program. Raises SpawnError where it could not be."""
        os.write(self._gate, b"g")
        os.close(self._gate)
        with open(self._verdict, "rb") as verdict:
            number = verdict.read()
        if number:
            raise SpawnError("exec", int(number))

    def _become_agent(
        self, runner: int, gate: int, verdict: int, standard: Iterable[int], folder: int
    ) -> NoReturn:
        try:
            os.setsid()
            tree.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != runner or not os.read(gate, 1):
                os._exit(BROKEN)  # nobody would own it
            os.fchdir(folder)
            for target, descriptor in enumerate(standard):
                os.dup2(descriptor, target)
            signal.set_wakeup_fd(-1)
            for name in ("HUP", "INT", "QUIT", "PIPE", "XFSZ", "CHLD", "TERM"):
                signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
            argv = [str(item) for item in self._spec["argv"]]  # type: ignore[attr-defined]
            os.execve(argv[0], argv, _environment(self._spec))
        except OSError as error:
            os.write(verdict, b"%d" % (error.errno or errno.EINVAL))
        except BaseException:  # noqa: BLE001 - whatever it is, this copy of the runner must end here
            os.write(verdict, b"%d" % errno.EINVAL)
        os._exit(127)


def _environment(spec: Mapping[str, object]) -> dict[str, str]:
    names: list[str] = spec["handed"]  # type: ignore[assignment]
    handed = {name: os.environ[files.HANDED + name] for name in names}
    return {**spec["env"], **handed}  # type: ignore[dict-item]


def _open_folder(path: str, identity: object) -> int:
    try:
        descriptor = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    except OSError as error:
        raise SpawnError("folder", error.errno or 0) from error
    status = os.fstat(descriptor)
    if identity is not None and identity != [status.st_dev, status.st_ino]:
        raise SpawnError("folder", errno.ESTALE)
    return descriptor


def _open_source(path: object) -> int:
    try:
        return os.open("/dev/null" if path is None else str(path), os.O_RDONLY)
    except OSError as error:
        raise SpawnError("stdin", error.errno or 0) from error


# ---------------------------------------------------------------- from the start to the end


class Watch:
    """Waits until nothing of the agent's tree is left, and ends it when it is time to."""

    def __init__(self, run: str, leader: int, spec: Mapping[str, object], alarm: Alarm) -> None:
        self._stop = os.path.join(run, files.STOP)
        self._leader = leader
        self._alarm = alarm
        self._output = CappedOutput(os.path.join(run, files.OUTPUT), int(spec["output_cap"]))  # type: ignore[call-overload]
        self._grace = float(spec["grace_seconds"])  # type: ignore[arg-type]
        self._began = time.monotonic()
        timeout = spec["timeout_seconds"]
        self._deadline = self._began + float(timeout) if timeout else None  # type: ignore[arg-type]
        self._kill_at: float | None = None
        self._kill_again = _KILL_AGAIN
        self.end = "exited"
        self.code: int | None = None
        self.leftovers = 0

    def to_the_end(self) -> None:
        """Returns when there is no process left."""
        while self._reap():
            self._alarm.wait(self._act(time.monotonic()))
        if sys.platform != "linux":
            self._signal_group(signal.SIGKILL)  # what is left of it is nobody's child of ours

    def record(self) -> dict[str, object]:
        seconds = round(time.monotonic() - self._began, 3)
        return {
            "end": self.end,
            "code": self.code,
            "leftovers": self.leftovers,
            "seconds": seconds,
            "spawn_error": None,
        }

    def _reap(self) -> bool:
        """Takes in what has ended; whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._leader:
                self.code = os.waitstatus_to_exitcode(status)

    def _act(self, now: float) -> float:
        """Does what is due, and says for how many seconds nothing will be."""
        self._output.keep_within_cap()
        if self._kill_at is None:
            self._decide(now)
        if self._kill_at is None:
            until_deadline = self._deadline - now if self._deadline else _LOOK_FOR_STOP
            return min(_LOOK_FOR_STOP, until_deadline)
        if now < self._kill_at:
            return min(_LOOK_FOR_STOP, self._kill_at - now)
        self._signal_tree(signal.SIGKILL)
        self._kill_again = min(2 * self._kill_again, _LONGEST_UNTIL_KILLED_AGAIN)
        return self._kill_again

    def _decide(self, now: float) -> None:
        if self.code is not None:
            self.leftovers = len(self._end_tree(now + LEFTOVER_GRACE))
        elif self._alarm.stop_asked or os.path.exists(self._stop):
            self.end = "stopped"
            self._end_tree(now + self._grace)
        elif self._deadline is not None and now >= self._deadline:
            self.end = "timed out"
            self._end_tree(now + self._grace)

    def _end_tree(self, kill_at: float) -> dict[int, int]:
        self._kill_at = kill_at
        signalled = self._signal_tree(signal.SIGTERM)
        self._signal_tree(signal.SIGCONT)
        return signalled

    def _signal_tree(self, number: int) -> dict[int, int]:
        below = tree.descendants(os.getpid())
        for pid, parent in below.items():
            tree.send(pid, parent, number)
        if sys.platform != "linux":
            self._signal_group(number)
        return below

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._leader, number)
        except (ProcessLookupError, PermissionError):
            return


def _own(run: str) -> None:
    """Takes the attempt's lock for good; ends the process where this attempt may not begin."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    lock = os.open(os.path.join(run, files.LOCK), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(BUSY)
    if any(
        os.path.exists(os.path.join(run, name))
        for name in (files.FENCED, files.STARTED, files.EXIT)
    ):
        sys.exit(LATE)


def _started(agent: int) -> dict[str, object]:
    runner = os.getpid()
    return {
        "runner": runner,
        "agent": agent,
        "runner_ticks": tree.start_ticks(runner),
        "agent_ticks": tree.start_ticks(agent),
        "boot_id": tree.boot_id(),
    }


def _attempt(run: str, spec: Mapping[str, object], alarm: Alarm) -> dict[str, object]:
    """Has the agent run to its end, and returns the record of it. Raises SpawnError."""
    if alarm.stop_asked or os.path.exists(os.path.join(run, files.STOP)):
        return _without_start("stopped", None)
    files.make_room(os.path.join(run, files.EXIT))
    agent = Agent(run, spec)
    files.write_json(os.path.join(run, files.STARTED), _started(agent.pid), durable=False)
    watch = Watch(run, agent.pid, spec, alarm)
    try:
        agent.let_go()
        _tell(agent.pid)
    finally:
        watch.to_the_end()
    return watch.record()


def _without_start(end: str, error: SpawnError | None) -> dict[str, object]:
    record: dict[str, object] = {"end": end, "code": None, "leftovers": 0, "seconds": 0.0}
    record["spawn_error"] = error.record() if error else None
    return record


def _tell(agent: int) -> None:
    """Says that the agent works, to whoever still listens."""
    try:
        os.write(1, b"%d\n" % agent)
    except OSError:
        return  # who started us is gone; we go on
    finally:
        os.dup2(0, 1)  # /dev/null: an end of file tells the listener that all has been said


def _close_what_leaked() -> None:
    """Nothing that whoever started us had open may stay so for as long as we live."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                continue  # it was the one that read the listing


def main(run: str) -> None:
    """Makes the attempt whose folder is `run`."""
    os.chdir("/")
    _close_what_leaked()
    if os.getsid(0) != os.getpid():
        os.setsid()
    alarm = Alarm()
    _own(run)
    tree.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        record = _attempt(run, files.read_json(os.path.join(run, files.SPEC)), alarm)
    except SpawnError as error:
        record = _without_start("exited", error)
    files.write_json(os.path.join(run, files.EXIT), record, durable=True)


if __name__ == "__main__":
    main(sys.argv[1])
