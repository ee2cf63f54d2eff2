"""Batch files from the command line: an example, a check, the plan, and whom to trust."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from batchdeck.core.batchfile.example import PRESETS
from tests.support.invoking import Invoke
from tests.support.workspace import Workspace

TWO_TASKS = [
    {"id": "T1", "agent": "coder", "prompt": "exit=0"},
    {"id": "T2", "agent": "coder", "prompt": "exit=0", "depends_on": ["T1"]},
]


# -- init


@pytest.mark.parametrize("preset", PRESETS)
def test_every_example_is_a_batch_file_without_faults(
    preset: str, invoke: Invoke, space: Workspace
) -> None:
    invoke("init", "--agent", preset, code=0)
    shown = invoke("check", "batch.yaml", code=0)
    assert "no fault" in shown.out
    assert "#" in (space.folder / "batch.yaml").read_text(), "it is commented"


def test_the_preset_of_acp_agents_runs_one_turn_at_a_time(invoke: Invoke) -> None:
    invoke("init", "--agent", "acp", code=0)
    planned = invoke("plan", "batch.yaml", "--json", code=0).json
    (limit,) = [one for one in planned["limits"] if one["name"] == "agent:worker"]
    assert limit["limit"] == 1


def test_init_never_overwrites(invoke: Invoke, space: Workspace) -> None:
    mine = space.folder / "mine.yaml"
    mine.write_text("precious")
    refused = invoke("init", "mine.yaml", code=2)
    assert "exists already" in refused.err
    assert mine.read_text() == "precious"


def test_init_does_not_follow_a_link_to_nowhere(invoke: Invoke, space: Workspace) -> None:
    (space.folder / "link.yaml").symlink_to(space.folder / "elsewhere.yaml")
    invoke("init", "link.yaml", code=2)
    assert not (space.folder / "elsewhere.yaml").exists()


def test_init_knows_its_presets(invoke: Invoke, space: Workspace) -> None:
    refused = invoke("init", "--agent", "nobody", code=2)
    assert all(preset in refused.err for preset in PRESETS)
    assert not (space.folder / "batch.yaml").exists()


def test_init_where_nothing_can_be_written_is_one_line(invoke: Invoke) -> None:
    refused = invoke("init", "missing/batch.yaml", code=2)
    assert "cannot be written" in refused.err


# -- check

FAULTY = """\
name: docs
max_paralel: 4
agents:
  coder: {kind: command, command: [true], parallelism_limit: 1.5}
tasks:
  - id: 017
    agent: nobody
    prompt: hi
  - {id: T2, agent: coder, prompt: x, depends_on: [T9]}
"""


def test_check_tells_every_fault_with_file_line_and_column(
    invoke: Invoke, space: Workspace
) -> None:
    (space.folder / "bad.yaml").write_text(FAULTY)
    refused = invoke("check", "bad.yaml", code=2)
    assert refused.out == ""
    lines = refused.err.splitlines()
    for place in ("bad.yaml:2:1: ", "bad.yaml:4:", "bad.yaml:6:", "bad.yaml:7:", "bad.yaml:9:"):
        assert any(line.startswith(place) for line in lines), (place, lines)
    assert "max_parallel" in lines[0], "the nearest valid name"


def test_check_gives_faults_to_programs_too(invoke: Invoke, space: Workspace) -> None:
    (space.folder / "bad.yaml").write_text(FAULTY)
    document = invoke("check", "bad.yaml", "--json", code=2).json
    assert document["ok"] is False
    assert document["faults"][0].startswith("bad.yaml:2:1: ")


def test_a_faulty_file_changes_nothing(invoke: Invoke, space: Workspace) -> None:
    (space.folder / "bad.yaml").write_text(FAULTY)
    invoke("run", "bad.yaml", "--headless", code=2)
    assert not space.deck.exists()


@pytest.mark.parametrize("command", ["check", "plan", "run"])
def test_a_missing_file_is_one_line(command: str, invoke: Invoke) -> None:
    refused = invoke(command, "nowhere.yaml", code=2)
    assert len(refused.err.splitlines()) == 1
    assert "nowhere.yaml" in refused.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_one_line(invoke: Invoke, space: Workspace) -> None:
    path = space.batch(tasks=TWO_TASKS)
    path.chmod(0)
    assert "Permission" in invoke("check", path, code=2).err


@pytest.mark.parametrize("odd", [b"\xff\xfe\x00x", b"", b"[1, 2]", b"{", b"a: &x 1\nb: *x\n"])
def test_a_file_that_is_no_batch_is_refused_in_words(
    odd: bytes, invoke: Invoke, space: Workspace
) -> None:
    (space.folder / "odd.yaml").write_bytes(odd)
    refused = invoke("check", "odd.yaml", code=2)
    assert refused.err.startswith("odd.yaml")


def test_a_folder_instead_of_a_file_is_refused_in_words(invoke: Invoke, space: Workspace) -> None:
    (space.folder / "batches").mkdir()
    assert "batches" in invoke("check", "batches", code=2).err


def test_a_placeholder_that_will_not_be_filled_in_is_a_warning(
    invoke: Invoke, space: Workspace
) -> None:
    command = ["sh", "-c", "true", "--file={prompt_file}", "{prompt_file}"]
    file = space.batch(
        agents={"coder": {"kind": "command", "command": command}},
        tasks=[{"id": "T1", "agent": "coder", "prompt": "x"}],
    )
    (_, warning) = invoke("check", file, code=0).out.splitlines()
    assert "{prompt_file} inside of '--file={prompt_file}' stays as it is" in warning


def test_what_this_machine_lacks_is_a_warning_with_its_place_and_no_fault(
    invoke: Invoke, space: Workspace
) -> None:
    file = space.folder / "batch.yaml"
    file.write_text(
        "name: docs\nagents:\n  coder:\n    kind: command\n    command: [nosuchprogram, -p]\n"
        "tasks:\n  - {id: T1, agent: coder, prompt: a, folder: nowhere}\n"
    )
    file.chmod(0o600)
    shown = invoke("check", file, code=0).out.splitlines()
    assert shown[0] == f"{file}: docs, 1 task, 1 agent: no fault"
    assert shown[1].startswith(f"{file}:5:14: agents.coder.command: warning: nosuchprogram is not")
    assert shown[2].startswith(f"{file}:7:47: tasks[0].folder: warning: there is no folder")
    document = invoke("check", file, "--json", code=0).json
    assert document["warnings"] == shown[1:]
    (space.folder / "nowhere").mkdir()
    file.write_text(file.read_text().replace("nosuchprogram", "sh"))
    assert "warning" not in invoke("check", file, code=0).out


WRONG_SCREEN = """\
ui:
  theme: deck-drak
  keymap: {halp: f1, help: x}
  notifications: bel
"""


@pytest.mark.parametrize("command", ["check", "plan"])
def test_what_the_screen_does_not_have_is_refused_with_its_place_and_the_nearest_name(
    command: str, invoke: Invoke, space: Workspace
) -> None:
    file = space.batch(tasks=TWO_TASKS)
    space.deck.mkdir(0o700)
    config = space.deck / "config.yaml"
    config.write_text(WRONG_SCREEN)
    assert invoke(command, file, code=2).err.splitlines() == [
        f"{config}:2:10: ui.theme: there is no theme 'deck-drak' (did you mean 'deck-dark'?)",
        f"{config}:3:18: ui.keymap.halp: there is no action 'halp'; did you mean help?",
        f"{config}:3:28: ui.keymap.help: x for help is already stop",
        f"{config}:4:18: ui.notifications: 'bel' is not known (did you mean 'bell'?);"
        " true and false are",
    ]
    config.write_text("ui: {theme: textual-light, keymap: {help: f1}, notifications: osc9}")
    invoke(command, file, code=0)


def test_a_value_of_the_wrong_kind_is_one_fault_in_plain_words(
    invoke: Invoke, space: Workspace
) -> None:
    space.deck.mkdir(0o700)
    (space.deck / "config.yaml").write_text("ui: {notifications: [1]}\ntracker: {token_env: T}\n")
    told = invoke("check", space.batch(tasks=TWO_TASKS), code=2).err.splitlines()
    assert [line.partition("config.yaml:")[2] for line in told] == [
        "1:21: ui.notifications: expected true, false or a word, not a list",
        "2:10: tracker.kind: missing: expected one of github, gitea",
    ]


# -- plan


def test_the_plan_tells_groups_limits_with_their_origin_and_what_starts_first(
    invoke: Invoke, space: Workspace
) -> None:
    file = space.batch(
        max_parallel=6, max_parallel_by_status={"READY": 3, "IN_PROGRESS": 2}, tasks=TWO_TASKS
    )
    document = invoke("plan", file, "--json", code=0).json
    assert document["groups"] == [["T1"], ["T2"]]
    assert document["starts"] == ["T1"]
    limits = {row["name"]: (row["limit"], row["origin"]) for row in document["limits"]}
    assert limits["status:docs/READY"] == (3, "batch.yaml")
    assert limits["status:docs/IN_PROGRESS"] == (2, "batch.yaml")
    assert limits["batch:docs"] == (6, "batch.yaml")
    assert limits["global"] == (6, "batch docs (nobody set it)")
    shown = invoke("plan", file, code=0).out
    assert "status:docs/READY" in shown
    assert "starts first: T1" in shown
    assert not space.deck.exists(), "a plan makes nothing"


def test_the_plan_starts_one_item_of_a_conversation_which_the_others_at_work_wait_for(
    invoke: Invoke, space: Workspace
) -> None:
    step = {"id": "one", "agent": "coder", "prompt": "x"}
    step["conversation"] = "{{ 'log' if item else '' }}"
    foreach = {"items": [1, 1, 0, 0], "steps": [step], "max_active": 3}
    file = space.batch(foreach=foreach, agents={"coder": {"parallelism_limit": 9}})
    document = invoke("plan", file, "--json", code=0).json
    assert document["starts"] == ["item-0", "item-2"]


def test_a_deck_limit_that_was_set_wins_and_the_plan_says_so(
    invoke: Invoke, space: Workspace
) -> None:
    file = space.batch(max_parallel=6, tasks=TWO_TASKS)
    invoke("limit", "global=2", code=0)
    limits = {row["name"]: row for row in invoke("plan", file, "--json", code=0).json["limits"]}
    assert limits["global"]["limit"] == 2
    assert limits["global"]["origin"] == "command"


def test_the_plan_counts_an_agents_own_folder_and_shows_where_each_task_works(
    invoke: Invoke, space: Workspace
) -> None:
    (space.folder / "docs" / "api").mkdir(parents=True)
    file = space.batch(
        max_parallel=6,
        agents={"keeper": {"folder": "docs"}, "other": {"parallelism_limit": 3}},
        tasks=[
            {"id": "T1", "agent": "keeper", "prompt": "a"},
            {"id": "T2", "agent": "other", "prompt": "b", "folder": "docs/api"},
            {"id": "T3", "agent": "other", "prompt": "c"},
        ],
    )
    document = invoke("plan", file, "--json", code=0).json
    assert document["starts"] == ["T1", "T3"], "docs/api lies in the folder of keeper"
    assert document["folders"]["T1"].endswith("/docs")
    assert document["folders"]["T3"] is None
    shown = invoke("plan", file, code=0).out
    assert re.search(r"^docs +T1$", shown, re.MULTILINE)
    assert re.search(r"^docs/api +T2$", shown, re.MULTILINE)
    assert re.search(r"^scratch folder, one each +T3$", shown, re.MULTILINE)
    assert "approval" not in shown


def test_the_plan_says_when_run_will_ask(invoke: Invoke, space: Workspace) -> None:
    file = space.batch(tasks=TWO_TASKS)
    file.chmod(0o666)
    shown = invoke("plan", file, code=0).out
    assert "run asks for approval first (others may write to it); --trust gives it" in shown


# -- trust


def untrusted(space: Workspace) -> Path:
    """A batch file that others may write."""
    path = space.batch(tasks=TWO_TASKS)
    path.chmod(0o666)
    return path


def test_another_ones_file_is_not_run_without_approval(invoke: Invoke, space: Workspace) -> None:
    refused = invoke("run", untrusted(space), "--headless", code=2)
    assert "not trusted" in refused.err
    assert "scripted_agent.py" in refused.err, "its commands are shown"
    assert "--trust" in refused.err
    assert not space.ledger.read_text()
    assert not space.deck.exists()


def test_trust_approves_once_and_is_remembered_until_the_commands_change(
    invoke: Invoke, space: Workspace
) -> None:
    path = untrusted(space)
    invoke("run", path, "--headless", "--trust", code=0)
    assert space.starts() == ["T1", "T2"]
    invoke("run", path, "--headless", code=0)
    path.write_text(path.read_text().replace('"-S"', '"-S", "-B"'))
    assert "not trusted" in invoke("run", path, "--headless", code=2).err


def test_a_file_that_git_tracks_is_another_ones(invoke: Invoke, space: Workspace) -> None:
    path = space.batch(tasks=TWO_TASKS)
    for arguments in (["init", "-q"], ["add", path.name]):
        subprocess.run(["git", *arguments], cwd=space.folder, check=True, env=space.environment)
    assert "git" in invoke("run", path, "--headless", code=2).err


def test_checking_and_planning_need_no_trust(invoke: Invoke, space: Workspace) -> None:
    path = untrusted(space)
    invoke("check", path, code=0)
    invoke("plan", path, code=0)
