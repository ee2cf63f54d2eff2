"""A folder's name is deleted from the configuration while a task waits for it."""

from __future__ import annotations

from pathlib import Path

from tests.support.workspace import Workspace


def test_the_task_that_waits_for_it_runs_in_scratch_and_the_events_say_so(
    space: Workspace,
) -> None:
    (space.folder / "docs").mkdir()
    space.deck.mkdir(mode=0o700)
    config = space.deck / "config.yaml"
    config.write_text("folders: {docs: docs, site: docs}\n")
    tasks = [
        {"id": "T1", "agent": "coder", "prompt": space.until_told("go")},
        {"id": "T2", "agent": "coder", "prompt": "say=x", "folder": "docs"},
    ]
    process = space.start_run(space.batch(agents={"coder": {}}, tasks=tasks))
    process.terminate()
    process.wait(20)
    config.write_text("folders: {site: docs}\n")
    again = space.start("resume", "--headless")
    space.tell("go")
    assert again.wait(20) == 0
    worked = {one["task"]: Path(one["cwd"]) for one in space.records() if one["event"] == "start"}
    assert worked["T2"].name == "scratch"
    assert worked["T2"].is_relative_to(space.deck / "runs")
    (event,) = [
        one
        for one in space.run("events", "--json", code=0).lines
        if one["kind"] == "folder.deleted"
    ]
    assert (event["folder"], event["turns"]) == ("docs", [2])
    assert space.starts() == ["T1", "T2"]
