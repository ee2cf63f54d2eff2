"""A deck's configuration comes from several files, and every number knows from which."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.settings import Settings, read_settings
from batchdeck.core.errors import BadInput
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.task import Status
from batchdeck.core.paths import of_the_user


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".batchdeck").mkdir(parents=True)
    return tmp_path / "project"


def settings(project: Path) -> Settings:
    return read_settings(project / ".batchdeck", project.parent / "user" / "config.yaml")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def deck(project: Path, text: str) -> None:
    write(project / ".batchdeck" / "config.yaml", text)


def user(project: Path, text: str) -> None:
    write(project.parent / "user" / "config.yaml", text)


def guide(project: Path, text: str, name: str = "AGENTS.md") -> None:
    write(project / name, f"---\n{text}\n---\n# Guide\nbatch: not this\n")


def test_without_any_file_there_are_defaults(project: Path) -> None:
    assert settings(project) == Settings()


def test_everything_that_a_configuration_may_hold_is_read(project: Path) -> None:
    deck(
        project,
        "batch: {max_parallel: 6, max_parallel_by_status: {READY: 3}}\n"
        "agents: {coder: {kind: command, command: [./run], folder: docs}}\n"
        "folders: {docs: docs/here, abroad: /srv}\n"
        "reconciliation_interval_seconds: 12\n"
        "max_parallel_cap: 64\nparallelism_limit_cap: 20\nattention_limit: 5\n"
        "synchronous: normal\nretention: {days: 7, runs: 100, megabytes: 50}\n"
        "tracker: {kind: gitea, base_url: 'https://git.example', token_env: TOKEN}\n"
        "ui: {theme: dark, keymap: {turn.stop: x}, notifications: false, mouse: true,"
        " animations: none}\n",
    )

    found = settings(project)

    assert found.max_parallel == Limit("global", 6, origin=".batchdeck/config.yaml", explicit=True)
    assert found.by_status[Status.READY].value == 3
    assert found.agents["coder"].command == (f"{project}/./run",)
    assert found.agents["coder"].folder == "docs"
    assert dict(found.folders) == {"docs": f"{project}/docs/here", "abroad": "/srv"}
    assert (found.reconciliation_interval_seconds, found.reconciliation_origin) == (
        12,
        ".batchdeck/config.yaml",
    )
    assert (found.max_parallel_cap, found.parallelism_limit_cap) == (64, 20)
    assert found.attention == Limit("attention", 5, origin=".batchdeck/config.yaml", explicit=True)
    assert found.synchronous == "normal"
    assert found.retention == {"days": 7, "runs": 100, "megabytes": 50}
    assert found.tracker is not None
    assert found.tracker["kind"] == "gitea"
    assert found.ui["theme"] == "dark"


def test_the_deck_beats_the_guides_which_beat_the_user(project: Path) -> None:
    deck(project, "batch: {max_parallel_by_status: {READY: 1}}\n")
    guide(project, "batch: {max_parallel_by_status: {READY: 2, BLOCKED: 2}}")
    guide(project, "batch: {max_parallel_by_status: {BLOCKED: 3, FAILED: 3}}", name="CODEFRAME.md")
    user(project, "batch: {max_parallel: 9, max_parallel_by_status: {FAILED: 4, DONE: 4}}\n")

    found = settings(project)

    theirs = str(project.parent / "user" / "config.yaml")
    assert {status: (limit.value, limit.origin) for status, limit in found.by_status.items()} == {
        Status.READY: (1, ".batchdeck/config.yaml"),
        Status.BLOCKED: (2, "AGENTS.md"),
        Status.FAILED: (3, "CODEFRAME.md"),
        Status.DONE: (4, theirs),
    }
    assert found.max_parallel == Limit("global", 9, origin=theirs, explicit=True)


def test_the_users_agents_and_looks_are_there_unless_the_deck_has_its_own(project: Path) -> None:
    user(project, "agents: {a: {kind: demo}, b: {kind: demo}}\nui: {theme: light, mouse: false}\n")
    deck(project, "agents: {a: {kind: demo, serial: true}}\nui: {theme: dark}\n")

    found = settings(project)

    assert (found.agents["a"].serial, found.agents["b"].serial) == (True, False)
    assert dict(found.ui) == {"theme": "dark", "mouse": False}


@pytest.mark.parametrize(
    "text",
    [
        "# no front matter\nbatch: {max_parallel: x}\n",
        "---\ntitle: something\n---\n",
        "---\ntitle: &a [*a\n---\n",
        "---\nnever closed\nbatch: {max_parallel: x}\n",
        "",
        "---\n---\n",
        "---\nbatch:\n---\n",
    ],
)
def test_a_guide_that_says_nothing_of_batches_is_nobodys_business(project: Path, text: str) -> None:
    (project / "AGENTS.md").write_text(text)

    assert settings(project) == Settings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batch: {max_parallel: -1}", "2:23: batch.max_parallel: -1 is no limit"),
        ("title: x\nbatch:\n  max_paralel: 2", "4:3: batch.max_paralel: unknown key"),
        ("batch: {max_parallel: 2", "3"),
    ],
)
def test_a_faulty_block_in_a_guide_is_placed_in_its_file(
    project: Path, text: str, expected: str
) -> None:
    guide(project, text)

    with pytest.raises(BatchFileFaults) as refused:
        settings(project)

    assert refused.value.message.startswith(f"{project}/AGENTS.md:{expected}")


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        ("https://git.example/api", True),
        ("http://localhost:3000", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:80/x", True),
        ("http://git.example", False),
        ("http://127.0.0.1.example", False),
        ("http://localhost.example", False),
        ("git.example", False),
    ],
)
def test_a_tracker_is_reached_safely(project: Path, address: str, is_safe: bool) -> None:
    deck(project, f"tracker: {{kind: gitea, base_url: '{address}'}}\n")

    if is_safe:
        assert settings(project).tracker is not None
    else:
        with pytest.raises(BatchFileFaults, match="expected https://"):
            settings(project)


def test_the_faults_of_all_files_are_shown_at_once(project: Path) -> None:
    deck(
        project,
        "batch: {max_parallel: 50}\nsynchronous: never\nfolder: {}\n"
        "agents: {a: {kind: acp, command: [x], parallelism_limit: 3}}\n"
        "tracker: {kind: jira}\nattention_limit: true\n",
    )
    user(project, "ui: {colour: x}\n")

    with pytest.raises(BatchFileFaults) as refused:
        settings(project)

    places = [fault.message.partition(": ")[0] for fault in refused.value.faults]
    assert places == [
        "batch.max_parallel",
        "synchronous",
        "folder",
        "agents.a.parallelism_limit",
        "tracker.kind",
        "attention_limit",
        "ui.colour",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "agents: {coder: {kind: command, command: [./run]}}\n",
        "tracker: {kind: gitea, base_url: 'https://git.example', token_env: TOKEN}\n",
    ],
)
def test_programs_and_trackers_of_a_repositorys_own_configuration_are_not_taken(
    project: Path, text: str
) -> None:
    deck(project, text)
    settings(project)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", "-f", ".batchdeck/config.yaml"], cwd=project, check=True)

    with pytest.raises(BatchFileFaults, match="not taken from this file: it is tracked by git"):
        settings(project)
    deck(project, "batch: {max_parallel: 6}\n")
    assert settings(project).max_parallel == Limit(
        "global", 6, origin=".batchdeck/config.yaml", explicit=True
    )


def test_without_a_home_what_is_missing_is_said() -> None:
    def unknown(_: str) -> Path:
        raise RuntimeError("could not determine the home directory")  # as platformdirs does

    with pytest.raises(BadInput, match="set HOME to an absolute path"):
        of_the_user(unknown)
