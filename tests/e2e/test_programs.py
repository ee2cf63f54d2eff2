"""The real programs work under the deck, offline, against a model server that only pretends.

    npm install --prefix DIR @copilotkit/aimock @anthropic-ai/claude-code @openai/codex \\
        @zed-industries/claude-code-acp
    BATCHDECK_E2E=DIR pytest -m e2e tests/e2e
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

COMMAND = Path(sys.executable).parent / "batchdeck"
INSTALLED = Path(os.environ.get("BATCHDECK_E2E", "."), "node_modules", ".bin").resolve()
PATIENCE = 180
USAGE = {"input_tokens": 100, "output_tokens": 20, "prompt_tokens": 100, "completion_tokens": 20}
FIXTURES = [
    {
        "match": {"userMessage": "say hello"},
        "response": {"content": "Hello from the mock.", "usage": USAGE},
    },
    {
        "match": {"userMessage": "once more"},
        "response": {"content": "Hello again.", "usage": USAGE},
    },
    {
        "match": {"userMessage": "use the tool", "hasToolResult": False},
        "response": {
            "content": "I shall run it.",
            "toolCalls": [
                {
                    "name": "Bash",
                    "arguments": json.dumps({"command": "touch made", "description": "make it"}),
                }
            ],
            "usage": USAGE,
        },
    },
    {
        "match": {"userMessage": "use the tool", "hasToolResult": True},
        "response": {"content": "It has run.", "usage": USAGE},
    },
    {
        "match": {"userMessage": "limit me"},
        "response": {
            "error": {"message": "rate limited", "type": "rate_limit_error"},
            "status": 429,
        },
    },
]


def needed(program: str) -> str:
    """Where a program is; the test is skipped where it is not."""
    found = shutil.which(program, path=f"{INSTALLED}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{program} is not installed: see the top of this file")
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """A project folder with a home of its own, and the model server's port."""

    folder: Path
    port: int

    def agent(self, **fields: Any) -> dict[str, Any]:
        """A definition whose process sees the model server and nothing else."""
        address = f"http://127.0.0.1:{self.port}"
        env = {
            "HOME": str(self.folder / "home"),
            "CODEX_HOME": str(self.folder / "home"),
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "mock",
            "OPENAI_API_KEY": "mock",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }
        return {"kind": "command", "env": env, **fields}

    def file(self, agent: dict[str, Any], prompt: str) -> None:
        """A batch of one task; JSON is YAML."""
        task = {"id": "T1", "agent": "a", "prompt": prompt, "folder": "home"}
        document = {"name": "e2e", "agents": {"a": agent}, "tasks": [task]}
        (self.folder / "batch.yaml").write_text(json.dumps(document))

    def deck(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def results(self, agent: dict[str, Any], prompt: str) -> list[dict[str, Any]]:
        """What a batch of one task came to."""
        self.file(agent, prompt)
        ran = self.deck("run", "batch.yaml", "--headless", "--json")
        events = [json.loads(line) for line in ran.stdout.splitlines()]
        assert events, ran.stderr
        assert events[-1]["kind"] == "batch.finished", ran.stderr
        return events


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    program = needed("aimock").replace("aimock", "llmock")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fixtures = tmp_path / "fixtures"
    fixtures.mkdir()
    (fixtures / "all.json").write_text(json.dumps({"fixtures": FIXTURES}))
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        'model = "gpt-5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
        f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\nsupports_websockets = false\n'
    )
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen(
            [program, "-p", str(port), "-f", str(fixtures)], stdout=log, stderr=log
        )
    try:
        until_listening(port, server)
        yield Place(tmp_path, port)
    finally:
        server.terminate()
        server.wait()


def until_listening(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.poll() is None, "the model server has ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the model server does not listen")


def claude(place: Place) -> dict[str, Any]:
    words = "-p --output-format stream-json --verbose --resume {session}"
    return place.agent(command=[needed("claude"), *words.split()], output="claude-stream-json")


def ended(events: list[dict[str, Any]]) -> dict[str, Any]:
    return next(event for event in events if event["kind"] == "attempt.ended")


def test_claude_answers_and_goes_on_in_its_conversation(place: Place) -> None:
    events = place.results(claude(place), "say hello")
    (result,) = events[-1]["results"]
    assert (result["status"], result["output"]) == ("DONE", "Hello from the mock.")
    assert (ended(events)["tokens_in"], ended(events)["tokens_out"]) == (100, 20)
    sent = place.deck("send", "T1", "once more", "--on-busy", "queue")
    assert sent.returncode == 0, sent.stderr
    place.deck("resume", "--headless")
    shown = json.loads(place.deck("turns", "--json").stdout)
    assert [turn["state"] for turn in shown] == ["succeeded", "succeeded"]
    assert "Hello again." in place.deck("logs", "#2").stdout


def test_a_usage_limit_of_claude_closes_its_account(place: Place) -> None:
    place.file(claude(place), "limit me")
    process = subprocess.Popen(
        [COMMAND, "run", "batch.yaml", "--headless"], cwd=place.folder, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        lines = (line.decode() for line in process.stdout)
        assert "account a cools down until" in next(line for line in lines if "account" in line)
        (gate,) = [
            gate
            for gate in json.loads(place.deck("why", "T1", "--json").stdout)["gates"]
            if gate["gate"] == "cooldown"
        ]
        assert (gate["open"], gate["subject"]) == (False, "a")
        (task,) = json.loads(place.deck("tasks", "--json").stdout)
        assert (task["status"], task["error"]) == ("READY", None)
    finally:
        process.terminate()
        process.communicate()


def test_codex_answers(place: Place) -> None:
    words = "exec --json --skip-git-repo-check -"
    agent = place.agent(command=[needed("codex"), *words.split()], output="codex-json")
    events = place.results(agent, "say hello")
    (result,) = events[-1]["results"]
    assert (result["status"], result["output"]) == ("DONE", "Hello from the mock.")


def test_an_acp_agent_answers(place: Place) -> None:
    agent = place.agent(kind="acp", command=[needed("claude-code-acp")])
    events = place.results(agent, "say hello")
    (result,) = events[-1]["results"]
    assert (result["status"], result["output"]) == ("DONE", "Hello from the mock.")


@pytest.mark.parametrize(("word", "is_made"), [("allow once", True), ("deny", False)])
def test_a_real_acp_agent_asks_for_a_permission_and_does_as_it_is_told(
    place: Place, word: str, is_made: bool
) -> None:
    place.file(place.agent(kind="acp", command=[needed("claude-code-acp")]), "use the tool")
    process = subprocess.Popen(
        [COMMAND, "run", "batch.yaml", "--headless"], cwd=place.folder, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        lines = (line.decode() for line in process.stdout)
        next(line for line in lines if "asks: " in line)
        (asked,) = json.loads(place.deck("ask", "list", "--json").stdout)
        assert "touch made" in asked["question"]
        assert asked["choices"] == ["allow once", "allow always", "deny"]
        assert place.deck("ask", "answer", asked["ask"], word).returncode == 0
        process.communicate(timeout=PATIENCE)
    finally:
        process.terminate()
        process.communicate()
    assert (place.folder / "home" / "made").exists() is is_made
    told = place.deck("logs", "T1").stdout
    assert f"? {word}: " in told
