"""A file that others may have written is shown before its programs are run."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.batchfile.trust import Provenance, judge, provenance_of
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.spec import BatchSpec, TaskSpec

OWN = Provenance(is_own=True, writable_by_others=False, tracked=False)
SPEC = BatchSpec(
    name="docs",
    tasks=(TaskSpec(key="T1", agent="coder", prompt="p"),),
    agents={
        "coder": Agent(
            "coder",
            AgentKind.COMMAND,
            command=("sh", "-c", "x\x1b[31m"),
            env={"A": "b"},
            pass_env=("KEY",),
        ),
        "writer": Agent(
            "writer", AgentKind.OPENAI, base_url="https://x", model="m", api_key_env="K"
        ),
    },
    prepare=(("make", "setup"),),
)


def test_the_users_own_file_is_trusted() -> None:
    assert judge(SPEC, OWN).trusted


@pytest.mark.parametrize(
    ("provenance", "reason"),
    [
        (replace(OWN, is_own=False), "it belongs to another user"),
        (replace(OWN, writable_by_others=True), "others may write to it"),
        (replace(OWN, tracked=True), "it is tracked by git, so others may have written it"),
    ],
)
def test_another_ones_file_is_not(provenance: Provenance, reason: str) -> None:
    trust = judge(SPEC, provenance)

    assert (trust.trusted, trust.reason) == (False, reason)


def test_what_is_run_and_reached_is_shown_inert() -> None:
    assert judge(SPEC, OWN).shown == (
        'prepare: ["make", "setup"]',
        'agent coder: command ["sh", "-c", "x\\u001b[31m"]',
        'agent coder: environment "A=b"',
        "agent coder: gets the variable KEY",
        "agent writer: address https://x",
        "agent writer: gets the key in K",
    )


def test_an_approval_holds_while_nothing_of_that_changes() -> None:
    fingerprint = judge(SPEC, OWN).fingerprint
    other_prompt = replace(SPEC, tasks=(TaskSpec(key="T2", agent="coder", prompt="q"),))
    other_command = replace(SPEC, prepare=(("make", "mischief"),))

    assert judge(other_prompt, OWN).fingerprint == fingerprint
    assert judge(other_command, OWN).fingerprint != fingerprint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "b.yaml"
    path.write_text("x")
    path.chmod(0o600)
    return path


def test_a_file_of_ones_own_is_known_as_such(file: Path) -> None:
    assert provenance_of(file) == OWN


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_known(file: Path, mode: int) -> None:
    file.chmod(mode)

    assert provenance_of(file).writable_by_others


def test_a_tracked_file_is_known_also_behind_a_symlink(file: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert not provenance_of(file).tracked
    subprocess.run(["git", "add", file.name], cwd=tmp_path, check=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.yaml").symlink_to(file)

    assert provenance_of(file).tracked
    assert provenance_of(tmp_path / "sub" / "link.yaml").tracked


def test_without_git_nothing_is_tracked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert not provenance_of(file).tracked


def test_nothing_that_a_repository_names_is_run_to_find_out(file: Path, tmp_path: Path) -> None:
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "config", "core.fsmonitor", str(program)], cwd=tmp_path, check=True)
    provenance_of(file)
    assert not (tmp_path / "ran").exists()


def test_where_git_cannot_say_it_counts_as_tracked(file: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".git" / "index").write_bytes(b"no index")
    assert provenance_of(file).tracked
