"""An agent that does what its prompt says, and writes into a ledger when it began and ended.

Run as `python scripted_agent.py [--arg PROMPT | --file]`; the prompt comes from standard input
unless it is given. With `--around PROGRAM …` it runs that program instead, and writes down when.
It is a list of words, obeyed in order, quoted as in a shell:

    say=TEXT      prints a line                      lines=N      prints N lines
    sleep=S       waits                              big=N        writes N random bytes
    wait=PATH     waits until a file is there        touch=PATH   makes a file
    ask=JSON      leaves a question                  trap=TERM    ignores that signal from now on
    fork=HOW      leaves a process that sleeps: background, setsid, double, nohup or stubborn
    signal=N      ends itself by a signal            exit=N       ends with that code

With $LEDGER, a line of JSON is appended there at the start and at the end: event, task, turn,
attempt, run, agent ($AGENT_NAME), cwd, pid and at (seconds of time.monotonic(), which all
processes of a machine share).
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable

SLEEPER = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True);"
    " time.sleep(600)"
)


def record(event: str) -> None:
    """Appends to the ledger, in one write, so that lines of several agents never mix."""
    path = os.environ.get("LEDGER")
    if path is None:
        return
    line = {
        "event": event,
        "task": os.environ.get("BATCHDECK_TASK"),
        "turn": os.environ.get("BATCHDECK_TURN"),
        "attempt": os.environ.get("BATCHDECK_ATTEMPT"),
        "run": os.environ.get("BATCHDECK_RUN"),
        "agent": os.environ.get("AGENT_NAME"),
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "at": time.monotonic(),
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)


def end(code: int) -> None:
    record("end")
    sys.stdout.flush()
    os._exit(code)


def say(text: str) -> None:
    print(text, flush=True)


def print_lines(count: str) -> None:
    for number in range(int(count)):
        print(f"line {number}")
    sys.stdout.flush()


def wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.01)


def touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def write_random(size: str) -> None:
    sys.stdout.flush()
    left = int(size)
    while left > 0:
        left -= os.write(1, os.urandom(min(left, 1 << 20)))


def ask(text: str) -> None:
    with open(os.environ["BATCHDECK_ASK"], "w", encoding="utf-8") as file:
        file.write(text)


def ignore(name: str) -> None:
    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)


def end_by_signal(number: str) -> None:
    record("end")
    sys.stdout.flush()
    os.kill(os.getpid(), int(number))


def leave_behind(how: str) -> None:
    command = [sys.executable, "-I", "-S", "-c", SLEEPER]
    if how == "background":
        subprocess.Popen(command)
    elif how == "setsid":
        subprocess.Popen(command, start_new_session=True)
    elif how == "nohup":
        subprocess.Popen(["nohup", *command])
    elif how == "double":
        _fork_twice(command)
    elif how == "stubborn":
        deaf = subprocess.Popen([*command[:-1], STUBBORN], stdout=subprocess.PIPE)
        assert deaf.stdout is not None
        deaf.stdout.readline()
    else:
        raise SystemExit(f"fork={how}: nobody knows how")


def _fork_twice(command: list[str]) -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(command[0], command)
        os._exit(0)
    os.waitpid(child, 0)


DEEDS: dict[str, Callable[[str], None]] = {
    "say": say,
    "lines": print_lines,
    "sleep": lambda seconds: time.sleep(float(seconds)),
    "big": write_random,
    "wait": wait_for,
    "touch": touch,
    "ask": ask,
    "trap": ignore,
    "fork": leave_behind,
    "signal": end_by_signal,
    "exit": lambda code: end(int(code)),
}


def read_prompt() -> str:
    if sys.argv[1:2] == ["--arg"]:
        return sys.argv[2]
    if sys.argv[1:2] == ["--file"]:
        with open(os.environ["BATCHDECK_PROMPT_FILE"], encoding="utf-8") as file:
            return file.read()
    return sys.stdin.read()


def main() -> None:
    record("start")
    if sys.argv[1:2] == ["--around"]:
        end(subprocess.run(sys.argv[2:], check=False).returncode)
    for word in shlex.split(read_prompt()):
        deed, equals, value = word.partition("=")
        if equals and deed in DEEDS:
            DEEDS[deed](value)
    end(0)


if __name__ == "__main__":
    main()
