"""What an ACP agent wants reaches the operator at every door, and their word reaches the agent."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from batchdeck.core.executors.processes import marks
from tests.support.workspace import Workspace, until

AGENT = Path(__file__).parents[1] / "support" / "acp_agent.py"


def file(space: Workspace, *prompts: str, words: tuple[str, ...] = ()) -> Path:
    """A batch with a task and an ACP agent of its own for each prompt; JSON is YAML."""
    agent = {"kind": "acp", "command": [sys.executable, str(AGENT), *words]}
    tasks = [
        {"id": f"T{n}", "agent": f"agent{n}", "prompt": prompt}
        for n, prompt in enumerate(prompts, 1)
    ]
    agents = {str(task["agent"]): agent for task in tasks}
    path = space.folder / "batch.yaml"
    path.write_text(json.dumps({"name": "docs", "agents": agents, "tasks": tasks}))
    path.chmod(0o600)
    return path


def asked(space: Workspace, count: int) -> None:
    until(lambda: space.supervised() and len(space.view().asks) == count)


def test_a_permission_is_shown_in_full_answered_kept_and_taken_back(space: Workspace) -> None:
    process = space.start("run", file(space, "run npm test\nrun npm test", "say hi"), "--headless")
    asked(space, 1)
    until(lambda: space.turn("T2").ended_ms)
    (listed,) = space.run("ask", "list", "--json", code=0).json
    assert (listed["permission"], listed["agent"]) == (True, "agent1")
    assert listed["choices"] == ["allow once", "allow always", "deny"]
    shown = space.run("ask", "show", "1", code=0).out
    assert "  command: npm test" in shown
    assert "batchdeck ask answer 1 'allow always'" in shown
    assert "one of: allow once" in space.run("ask", "answer", "1", "yes", code=2).err
    space.run("ask", "answer", "1", "allow", "always", code=0)
    assert process.wait(60) == 0
    log = (space.folder / "out.txt").read_text()
    assert "#1 T1 asks: wants to: npm test  (batchdeck ask answer 1 …)" in log
    assert "#1 T1 agent1 may always: npm test" in log, "the second time nobody was asked"
    (kept,) = space.run("ask", "allowed", "--json", code=0).json
    assert (kept["allowance"], kept["covers"]) == ("1", "exactly this: npm test")
    space.run("ask", "revoke", "1", code=0)
    assert space.run("ask", "allowed", "--json", code=0).json == []


def test_nobody_to_ask_is_a_failure_that_names_what_was_wanted(space: Workspace) -> None:
    space.run("run", file(space, "run npm test"), "--headless", "--no-input", code=5)
    (task,) = space.run("tasks", "--json").json
    assert task["error"] == "asked, and nobody is there to answer: npm test"


def test_after_a_killed_supervisor_the_agent_is_gone_and_its_ask_settled(space: Workspace) -> None:
    """Its leftovers are ended by their mark, and nothing that was asked is ever answered."""
    process = space.start("run", file(space, "run npm test", words=("stubborn",)), "--headless")
    asked(space, 1)
    attempt = space.turn("T1").attempt
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert marks()[attempt or ""], "it hears neither the end of its input nor TERM"
    refused = space.run("ask", "answer", "1", "allow", "once", code=4).err
    assert "No agent waits" in refused
    space.run("resume", "--headless", "--auto-resume", "--on-lost", "fail")
    assert attempt not in marks()
    view = space.view()
    assert not view.asks
    assert not view.allowances
    kinds = [event["kind"] for event in space.run("events", "--json").lines]
    assert "ask.cancelled" in kinds
    assert "ask.answered" not in kinds
