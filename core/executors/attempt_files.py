"""The files by which an attempt's runner and its supervisor understand each other.

It stands alone, as the runner does, and does without `json` and `re`, which take long to load.

    spec.json     argv, env (what is our own), handed (names of the agent's other variables, which
                  may hold secrets: their values come in the runner's environment, and no file has
                  them), cwd, cwd_identity [device, inode] or null, stdin (a path or null),
                  timeout_seconds (or null), grace_seconds, output_cap
    lock          held by the runner for its whole life
    fenced        made under the lock by a supervisor: this attempt may not begin any more
    started.json  runner, agent (pids), runner_ticks, agent_ticks, boot_id; there before the agent
    output        what the agent wrote to its standard output and error, as it wrote it
    stop          made by whoever wants the agent ended; SIGTERM is the faster way to say so
    ask           a question that the agent leaves for the operator
    agent.json    of an agent without a runner: agent (pid), agent_ticks, boot_id
    scratch       where an agent works that was given no folder
    exit.json     end (exited, stopped, timed out), code (negative: that signal), leftovers,
                  seconds, spawn_error (null, or stage, errno and its name)
"""

from __future__ import annotations

import os

SPEC, LOCK, FENCED, STARTED = "spec.json", "lock", "fenced", "started.json"
OUTPUT, STOP, EXIT, AGENT = "output", "stop", "exit.json", "agent.json"
RUNNER_LOG, SCRATCH, ASK = "runner.log", "scratch", "ask"
OWN = "BATCHDECK_"
"""How the names of our own variables begin."""
HANDED = "BATCHDECK_HANDED_"
"""Before the name of a variable on its way to the agent."""


def read_json(path: str) -> dict:  # type: ignore[type-arg]
    """The object in a file. Raises OSError, or ValueError where it is none."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        from _json import make_scanner
    except ImportError:
        import json

        document = json.loads(text)
    else:
        try:
            document, _ = make_scanner(_Reading())(text, 0)  # type: ignore[arg-type]
        except StopIteration as stop:
            raise ValueError(f"{path}: no JSON") from stop
    if not isinstance(document, dict):
        raise ValueError(f"{path}: no JSON object")
    return document


class _Reading:
    """What the C scanner wants to know."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def as_json(value: object) -> str:
    """JSON of numbers, ASCII strings without quotes, None, and mappings of these."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {as_json(item)}' for key, item in value.items()) + "}"
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)


def write_json(path: str, document: dict, durable: bool) -> None:  # type: ignore[type-arg]
    """Puts a whole file in place at once; `durable`: on disk before it is seen."""
    content = (as_json(document) + "\n").encode()
    _write(path + ".new", content, durable)
    os.rename(path + ".new", path)


def make_room(path: str) -> None:
    """Takes the space now that `write_json` will need, since the agent may fill the disk."""
    _write(path + ".new", b" " * 512, durable=False)


def _write(path: str, content: bytes, durable: bool) -> None:
    """Writes over what is there, so that the space that it has stays its own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        os.ftruncate(descriptor, len(content))
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
