"""A key that an agent is given is in no argument, no file of the deck's own, and on no screen."""

from __future__ import annotations

from pathlib import Path

from tests.flows.conftest import OpenTerminal
from tests.support.workspace import Workspace, until

CANARY = "canary-31415926-key"


def holding(space: Workspace) -> list[str]:
    """The files of the deck in which it stands."""
    files = [path for path in space.deck.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if CANARY.encode() in path.read_bytes())


def arguments() -> str:
    """What every process on this machine was started with."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_text("utf-8", "replace"))
            except OSError:
                continue
    return "\n".join(found)


def batch(space: Workspace, script: str) -> Path:
    agent = {"command": ["sh", "-c", script], "pass_env": ["KEY"]}
    tasks = [{"id": "T1", "agent": "coder", "prompt": "hello"}]
    return space.batch(agents={"coder": agent}, tasks=tasks)


def test_a_key_that_is_only_used_is_nowhere(space: Workspace) -> None:
    space.environment["KEY"] = CANARY
    waits = f'while test ! -e "{space.folder}/told-on"; do sleep 0.05; done'
    script = f'test -n "$KEY" && touch begun; {waits}'
    process = space.start("run", batch(space, script), "--headless")
    until(lambda: list(space.deck.glob("runs/*/scratch/begun")))
    assert CANARY not in arguments()
    assert holding(space) == []
    space.tell("on")
    assert process.wait(30) == 0
    assert holding(space) == []


def test_a_key_that_its_agent_tells_is_hidden_but_in_the_raw_output(space: Workspace) -> None:
    space.environment["KEY"] = CANARY
    script = 'printf %s "$KEY" | cut -c1-9 | tr -d "\\n"; printf %s\\n "$KEY" | cut -c10-; exit 3'
    ran = space.run("run", batch(space, script), "--headless", "--json", code=5)
    assert holding(space) == ["output"], "as its program wrote it, for its owner alone"
    shown = [
        ran,
        *(
            space.run(*words.split())
            for words in (
                "logs T1",
                "logs T1 --raw",
                "tasks --json",
                "turns --json",
                "events --json",
                "export --format jsonl",
                "export --format html",
                "status --json",
            )
        ),
    ]
    assert all(CANARY not in result.out + result.err for result in shown)
    assert "*" * len(CANARY) in shown[1].out
    (task,) = space.run("tasks", "--json").json
    assert "[hidden]" in task["error"]


def test_a_variable_that_the_dashboard_takes_out_of_its_own_reaches_the_agent(
    space: Workspace, terminal: OpenTerminal
) -> None:
    """The screen's library removes NO_COLOR from the process: agents are given what was before."""
    space.environment["NO_COLOR"] = "1"
    agent = {"command": ["sh", "-c", 'echo "$NO_COLOR" > told'], "pass_env": ["NO_COLOR"]}
    tasks = [{"id": "T1", "agent": "coder", "prompt": "hello"}]
    terminal("run", space.batch(agents={"coder": agent}, tasks=tasks))
    told = "runs/*/scratch/told"
    until(lambda: [path.read_text() for path in space.deck.glob(told)] == ["1\n"])
