"""What is prepared for a batch, as its agents find it: alone while it lasts, and not after."""

from __future__ import annotations

from pathlib import Path

from tests.support.workspace import Workspace

SCRIPT = """\
set -e
mkdir "$0.at-work"  # fails where another one is at it
test -e "$0.ok" || { rmdir "$0.at-work"; echo "no network"; exit 3; }
sleep 0.2
pwd >> "$0.done"
rmdir "$0.at-work"
"""


def batch(space: Workspace) -> Path:
    """T1 and T2 work in folders of their own, prepared by a script that bears no other at work."""
    for name in ("one", "two"):
        (space.folder / name).mkdir()
    (space.folder / "setup").write_text(SCRIPT)
    return space.batch(
        prepare=[["/bin/sh", str(space.folder / "setup")]],
        agents={"coder": {"parallelism_limit": 2}},
        tasks=[
            {"id": "T1", "agent": "coder", "prompt": space.until_told("T1"), "folder": "one"},
            {"id": "T2", "agent": "coder", "prompt": space.until_told("T2"), "folder": "two"},
        ],
    )


def test_folders_are_prepared_one_at_a_time_and_their_turns_work_side_by_side(
    space: Workspace,
) -> None:
    file = batch(space)
    (space.folder / "setup.ok").touch()
    process = space.start("run", file, "--headless")
    space.while_runs(process, lambda: sorted(space.at_work()) == ["T1", "T2"])
    space.tell("T1")
    space.tell("T2")
    assert process.wait(20) == 0
    prepared = (space.folder / "setup.done").read_text().split()
    assert sorted(prepared) == [str(space.folder / name) for name in ("one", "two")]


def test_what_cannot_be_prepared_holds_its_folder_with_the_end_of_its_output_until_released(
    space: Workspace,
) -> None:
    file = batch(space)
    process = space.start("run", file, "--headless")
    space.while_runs(process, lambda: space.supervised() and len(space.view().holds) == 2)
    for hold in space.view().holds.values():
        assert "failed: exit 3: no network" in hold.reason
    assert space.starts() == []
    assert {task.attempts for task in space.view().tasks.values()} == {0}, "no attempt is spent"
    (space.folder / "setup.ok").touch()
    for task, name in (("T1", "one"), ("T2", "two")):
        space.tell(task)
        space.run("release", f"folder:{space.folder / name}", code=0)
    assert process.wait(20) == 0
