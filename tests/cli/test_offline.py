"""Commands on a deck that nobody dispatches: done under the same lock, or told that they cannot."""

from __future__ import annotations

import fcntl
import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_schema import check
from tests.support.invoking import Invoke
from tests.support.workspace import Workspace


@pytest.fixture
def space(stopped: Workspace) -> Workspace:
    """A deck of its own that nobody dispatches."""
    return stopped


def test_a_fault_without_a_supervisor_is_in_the_log_and_not_on_the_screen(
    space: Workspace, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("batchdeck.core.deck.engine.look_up", broken)
    said = invoke("limit", "global=2", code=1)
    assert "Nothing was changed" in said.err
    assert "Traceback" not in said.err
    assert "RuntimeError" in (space.deck / "batchdeck.log").read_text()


def test_what_a_library_complains_of_is_in_the_log_too(
    space: Workspace, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def complaining(*_: object) -> None:
        logging.getLogger("some.library").error("an unheard-of message")
        raise RuntimeError("a bug")

    monkeypatch.setattr("batchdeck.core.deck.engine.look_up", complaining)
    said = invoke("limit", "global=2", code=1)
    assert "unheard-of" not in said.err
    assert "an unheard-of message" in (space.deck / "batchdeck.log").read_text()


def test_a_question_is_shown_to_programs_as_the_list_has_it(invoke: Invoke) -> None:
    (listed,) = invoke("ask", "list", "--json", code=0).json
    shown = invoke("ask", "show", listed["ask"], "--json", code=0).json
    assert shown == listed
    assert (shown["question"], shown["choices"]) == ("Which colour?", ["red", "blue"])
    assert (shown["default"], shown["schema"]) == ("blue", {"type": "string"})
    words = invoke("ask", "show", listed["ask"], code=0).out
    assert "The agent suggests: blue" in words
    assert '{"type": "string"}' in words
    check("ask show", shown)
    check("ask list", [listed])


def task(invoke: Invoke, name: str) -> dict[str, Any]:
    document: dict[str, Any] = invoke("task", "show", name, "--json", code=0).json
    return document


def test_a_deck_without_a_supervisor_says_that_it_is_stopped(invoke: Invoke) -> None:
    document = invoke("status", "--json", code=0).json
    assert (document["mode"], document["supervised"]) == ("stopped", False)
    assert (document["queued"], document["waiting"]) == (3, 1)
    assert "Nobody dispatches" in invoke("why", "T3", code=0).out


def test_a_limit_is_changed_recorded_and_says_before_and_after(invoke: Invoke) -> None:
    document = invoke("limit", "agent:coder=5", "--json", code=0).json
    assert (document["name"], document["value"], document["before"]) == ("agent:coder", 5, 1)
    assert invoke("status", "--json").json["by_agent"]["coder"]["limit"] == 5
    event = invoke("events", "-n", "1", "--json").json
    assert event["kind"] == "limit.changed"
    assert (event["name"], event["before"], event["after"]) == ("agent:coder", 1, 5)
    assert event["by"] == "operator"


def test_several_limits_are_changed_in_one_command(invoke: Invoke) -> None:
    answer = invoke("limit", "global=2", "status:READY=none", "--json", code=0).json
    changed = {one["name"]: (one["before"], one["value"]) for one in answer["limits"]}
    assert changed == {"global": (4, 2), "status:docs/READY": (None, None)}
    (alone,) = invoke("limit", "status:READY=2", "--json", code=0).json["limits"]
    assert (alone["name"], alone["before"], alone["value"]) == ("status:READY", None, 2)


@pytest.mark.parametrize("numbers", ["30 40", "2 3", "6 25"])
def test_both_limits_of_a_foreach_are_judged_together_in_whatever_order_they_stand(
    numbers: str, invoke: Invoke, space: Workspace
) -> None:
    active, outstanding = numbers.split()
    space.batch(
        name="each",
        foreach={
            "items": [{"path": "a"}],
            "steps": [{"id": "s", "agent": "fresh", "prompt": "{{ item.path }}"}],
        },
        agents={"fresh": {}},
    )
    invoke("hold", code=0)
    invoke("run", "batch.yaml", "--headless", "--no-input", "--auto-resume", code=3)
    wanted = [f"items:each={active}", f"items:each/outstanding={outstanding}"]
    for both in (wanted, ["items:each=4", "items:each/outstanding=20"], wanted[::-1]):
        invoke("limit", *both, code=0)
    limits = space.view().limits
    found = limits["items:each"].value, limits["items:each/outstanding"].value
    assert found == (int(active), int(outstanding))
    refused = invoke("limit", "items:each=9", "items:each/outstanding=8", code=2)
    assert "9 would leave 9 items at work and 8 that may have begun" in refused.err


def test_a_task_that_waits_for_an_answer_is_cancelled(invoke: Invoke) -> None:
    (ask,) = invoke("ask", "list", "--json", code=0).json
    name = invoke("why", f"#{ask['turn']}", "--json", code=0).json["task"]
    invoke("task", "cancel", name, code=0)
    assert invoke("status", "--json", code=0).json["waiting"] == 0
    assert task(invoke, name)["status"] == "FAILED"


def test_a_turn_that_is_held_is_listed_as_held(invoke: Invoke) -> None:
    invoke("hold", "#3", code=0)
    (row,) = [line for line in invoke("turns").out.splitlines() if line.startswith("#3 ")]
    assert " held " in row


def test_what_is_held_already_is_no_event(invoke: Invoke) -> None:
    for what in ("deck", "agent:coder", "#3"):
        invoke("hold", what, code=0)
        before = invoke("events").out
        assert "already" in invoke("hold", what, code=0).out
        assert invoke("events").out == before
    invoke("hold", "--reason", "another one", code=0)
    assert invoke("events").out.count(" hold ") == 4


def test_a_changed_message_says_its_place_in_the_queue(invoke: Invoke) -> None:
    document = invoke("queue", "edit", "#4", "other words", "--json", code=0).json
    assert document["position"] == invoke("why", "#4", "--json").json["position"] == 2


def test_tasks_of_several_batches_are_told_apart(invoke: Invoke) -> None:
    assert invoke("tasks").out.startswith("task ")
    invoke("task", "add", "coder", "in the inbox", "--id", "T1", code=0)
    shown = invoke("tasks").out.splitlines()
    assert shown[0].split() == ["batch", "task", "status", "agent", "turn", "what"]
    assert {line.split()[0] for line in shown[1:]} == {"docs", "inbox"}
    said = invoke("task", "show", "T1", code=2).err
    assert "docs/T1" in said
    assert "inbox/T1" in said
    invoke("task", "show", "inbox/T1", code=0)


def test_a_bare_id_is_that_of_the_active_batch_where_another_one_has_ended(
    space: Workspace, invoke: Invoke
) -> None:
    ended = space.batch(
        name="ended",
        agents={"fresh": {}},
        tasks=[{"id": "T1", "agent": "fresh", "prompt": "say=x"}],
    )
    invoke("run", ended, "--headless", "--auto-resume", code=0)
    assert invoke("task", "show", "T1", "--json", code=0).json["batch"] == "docs"
    assert invoke("why", "T1", "--json", code=0).json["turn"] == str(space.turn("#1").id)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["why", "T9"], "not_found"),
        (["stop", "#3"], "no_supervisor"),
        (["limit", "global=x"], "bad_input"),
        (["limit"], "bad_input"),
        (["plan", "nowhere.yaml"], "bad_input"),
        (["run", "--all-ready", "nowhere.yaml"], "bad_input"),
        (["resume", "nothing", "--headless"], "not_found"),
        (["nonsense"], "bad_input"),
    ],
)
def test_what_is_refused_is_told_to_programs_as_a_document(
    arguments: list[str], error: str, invoke: Invoke
) -> None:
    refused = invoke(*arguments, "--json")
    assert refused.code in (2, 4)
    assert refused.json == {"error": error, "message": refused.err.removesuffix("\n")}
    assert invoke(*arguments).out == "", "people are told where errors go, and only there"


def test_one_wrong_limit_of_several_changes_none(invoke: Invoke) -> None:
    for wrong in (["global=2", "agent:coder=99"], ["global=2", "nope=1"], ["global=2", "x"]):
        invoke("limit", *wrong, code=2)
        assert invoke("status", "--json").json["limit"] == 4


def test_a_limit_of_zero_is_shown_as_closed_and_none_as_no_limit(invoke: Invoke) -> None:
    assert "closed" in invoke("limit", "batch:docs=0", code=0).out
    assert "∞" in invoke("limit", "batch:docs=none", code=0).out
    invoke("limit", "global=none", code=2)


def test_a_hold_is_put_and_released(invoke: Invoke) -> None:
    for what in ("deck", "agent:coder", "batch:docs", "folder:.", "#3"):
        invoke("hold", what, code=0)
        shown = invoke("why", "T3", "--json", code=0).json
        assert shown["gates"][0]["open"] is (what in ("agent:coder", "folder:."))
        invoke("release", what, code=0)
        assert invoke("why", "T3", "--json").json["gates"][0]["open"] is True


def test_a_held_folder_is_shown_by_its_path_where_no_turn_works_in_it(
    space: Workspace, invoke: Invoke
) -> None:
    elsewhere = space.folder / "elsewhere"
    name = f"folder:{elsewhere}"
    invoke("hold", "folder:elsewhere", code=0)
    assert f"held: {name} by operator" in invoke("status").out
    assert [hold["what"] for hold in invoke("status", "--json").json["holds"]] == [name]
    assert f"what={name} by operator" in invoke("events").out
    (held,) = (hold for hold in space.view().holds.values())
    elsewhere.mkdir()  # another identity, and the same path
    invoke("release", name, code=0)
    assert space.view().holds == {}
    assert invoke("events", "--json").lines[-1]["what"] == name
    invoke("hold", "folder:elsewhere", code=0)
    (again,) = (hold for hold in space.view().holds.values())
    assert again.what != held.what
    invoke("release", again.what, code=0)
    assert space.view().holds == {}, "the key that events have is understood too"


def test_releasing_what_is_not_held_is_exit_2(invoke: Invoke) -> None:
    assert "not held" in invoke("release", "agent:coder", code=2).err
    assert "cannot be held" in invoke("hold", "coder", code=2).err
    assert "There are: closed, coder" in invoke("hold", "agent:x", code=2).err


def test_a_failed_task_is_retried_and_counts_anew(invoke: Invoke) -> None:
    assert task(invoke, "T1")["status"] == "FAILED"
    assert invoke("task", "retry", "T1", "--json", code=0).json["state"] == "queued"
    assert task(invoke, "T1")["state"] == "queued"
    assert "already" in invoke("task", "retry", "T1", code=3).err


def test_only_a_failed_task_can_be_retried(invoke: Invoke) -> None:
    invoke("task", "retry", "T5", code=3)


def test_a_status_is_set_by_a_legal_move_and_refused_otherwise(invoke: Invoke) -> None:
    invoke("task", "status", "T3", "done", code=0)
    assert (task(invoke, "T3")["status"], task(invoke, "T3")["state"]) == ("DONE", "superseded")
    assert "cannot go from DONE to BLOCKED" in invoke("task", "status", "T3", "BLOCKED", code=3).err
    refused = invoke("task", "status", "T3", "BLOCKED", "--json", code=3)
    assert refused.json["error"] == "illegal_move"
    assert "BACKLOG, READY" in invoke("task", "status", "T3", "nope", code=2).err


def test_a_backlog_task_made_ready_may_start(invoke: Invoke) -> None:
    invoke("task", "status", "T5", "READY", code=0)
    shut = [g["gate"] for g in invoke("why", "T5", "--json").json["gates"] if not g["open"]]
    assert shut == ["agent"]


def test_asks_are_listed_and_answered_by_one_of_their_choices(invoke: Invoke) -> None:
    (row,) = invoke("ask", "list", "--json", code=0).json
    assert (row["ask"], row["question"], row["choices"]) == ("1", "Which colour?", ["red", "blue"])
    assert row["agent"] == "coder"
    assert "red, blue" in invoke("ask", "answer", "1", "green", code=2).err
    invoke("ask", "answer", "1", "blue", code=0)
    assert invoke("ask", "list", "--json").json == []
    assert task(invoke, "T2")["status"] == "READY"
    assert "no open ask" in invoke("ask", "answer", "1", "blue", code=2).err
    assert "not an ask" in invoke("ask", "answer", "one", "blue", code=2).err


def test_a_message_is_stored_and_told_that_nobody_dispatches(invoke: Invoke) -> None:
    sent = invoke("send", "coder", "hello", "--on-busy", "queue", "--json", code=0).json
    assert (sent["state"], sent["position"]) == ("queued", 1)
    assert set(sent) >= {"turn", "conversation", "state", "position", "forced", "bypassed"}
    assert "nobody dispatches" in sent["message"]
    rows = invoke("turns", "--json").json
    assert [row["title"] for row in rows if row["turn"] == sent["turn"]] == ["hello"]


@pytest.mark.parametrize(
    "command",
    [
        ("send", "coder", "hello"),
        ("send", "coder", "hello", "--on-busy", "force"),
        ("stop", "#3"),
        ("drain",),
    ],
)
def test_what_needs_a_supervisor_is_exit_4_and_changes_nothing(
    command: tuple[str, ...], invoke: Invoke
) -> None:
    before = invoke("turns", "--json").json
    refused = invoke(*command, code=4)
    assert "Nobody dispatches" in refused.err
    assert invoke("turns", "--json").json == before


def test_a_bad_on_busy_is_refused_before_anything_is_looked_up(invoke: Invoke) -> None:
    for to in ("coder", "nobody"):
        refused = invoke("send", to, "hi", "--on-busy", "now", "--json", code=2)
        assert refused.json["error"] == "on_busy_invalid"


def test_a_text_from_standard_input_is_sent_whole(invoke: Invoke) -> None:
    sent = invoke("send", "coder", "-", "--on-busy", "queue", "--json", input="one\ntwo\n", code=0)
    row = next(r for r in invoke("turns", "--json").json if r["turn"] == sent.json["turn"])
    assert row["title"] == "one two"
    invoke("send", "coder", "-", "--on-busy", "queue", input="  \n", code=2)


def test_the_same_delivery_is_one_message(invoke: Invoke) -> None:
    arguments = ("send", "coder", "hi", "--on-busy", "queue", "--delivery-id", "d-1", "--json")
    first, again = (invoke(*arguments, code=0).json for _ in range(2))
    assert first["turn"] == again["turn"]
    other = invoke("send", "coder", "hi", "--on-busy", "queue", "--json", code=0).json
    assert int(other["turn"]) == int(first["turn"]) + 1, "a repeat takes no number"


def test_an_unauthorised_message_keeps_its_place_in_its_target(invoke: Invoke) -> None:
    first = invoke(
        "send", "coder", "one", "--unauthorised", "--target", "issue-1", "--json", code=0
    ).json
    arguments = ("--target", "issue-1", "--on-busy", "queue", "--json")
    second = invoke("send", "coder", "two", *arguments, code=0).json
    gates = invoke("why", f"#{second['turn']}", "--json").json["gates"]
    (target,) = [gate for gate in gates if gate["gate"] == "target"]
    assert [holder["turn"] for holder in target["holders"]] == [first["turn"]]
    invoke("release", f"#{first['turn']}", code=0)
    assert invoke("why", f"#{first['turn']}", "--json").json["gates"][0]["open"] is True


@pytest.mark.parametrize("to", ["nobody", "c99", "docs/T9", "#99"])
def test_a_message_to_nobody_is_exit_2_and_names_the_agents(to: str, invoke: Invoke) -> None:
    refused = invoke("send", to, "hi", "--on-busy", "queue", "--json", code=2)
    assert refused.json["error"] == "not_found"


def test_a_command_waits_for_another_that_holds_the_deck_for_a_moment(
    invoke: Invoke, space: Workspace
) -> None:
    lock = (space.deck / "lock").open("r+")
    lock.write(json.dumps({"pid": 1, "host": "here", "supervisor": False}).ljust(100))
    lock.flush()
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = space.start("limit", "global=3")
    with pytest.raises(Exception, match="timed out"):
        process.wait(0.7)
    lock.close()
    assert process.wait(10) == 0
    assert invoke("status", "--json").json["limit"] == 3


def test_what_was_changed_offline_is_in_force_when_the_deck_is_dispatched_again(
    invoke: Invoke, space: Workspace
) -> None:
    invoke("limit", "agent:closed=1", code=0)
    for name in ("T2", "T5"):
        invoke("task", "status", name, "DONE", code=0)
    ended = space.run("resume", "--headless", code=5)
    assert "docs completed with errors: 4 done · 1 failed" in ended.out


def test_a_deck_that_came_with_a_repository_is_not_opened(space: Workspace, invoke: Invoke) -> None:
    subprocess.run(["git", "init", "-q"], cwd=space.folder, check=True)
    subprocess.run(["git", "add", "-f", ".batchdeck/deck.db"], cwd=space.folder, check=True)
    refused = invoke("limit", "global=2", code=2)
    assert "is tracked by git, so others may have written what it runs" in refused.err


def test_the_deck_may_be_named_behind_every_command(invoke: Invoke, tmp_path: Path) -> None:
    deck = invoke("status", "--json").json["deck"]
    for command in ("queue list", "task show T1", "agent remove nobody", "ask list"):
        answer = invoke(*command.split(), "--deck", deck, cwd=tmp_path)
        assert "No such option" not in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["resume", "--headless"],
        ["run", "--all-ready", "--headless"],
        ["release"],
        ["limit", "agent:coder=3"],
        ["limit", "global=99"],
        ["hold", "agent:coder"],
        ["task", "add", "coder", "do it"],
        ["send", "coder", "hi", "--on-busy", "queue"],
    ],
    ids=" ".join,
)
def test_what_is_refused_where_there_is_no_deck_makes_none(
    arguments: list[str], tmp_path: Path, invoke: Invoke
) -> None:
    refused = invoke(*arguments, code=2, cwd=tmp_path)
    assert len(refused.err.splitlines()) == 1
    assert not (tmp_path / ".batchdeck").exists()


def test_what_can_be_done_where_there_is_no_deck_makes_one(tmp_path: Path, invoke: Invoke) -> None:
    assert "global 4 → 3" in invoke("limit", "global=3", code=0, cwd=tmp_path).out
    assert invoke("status", "--json", code=0, cwd=tmp_path).json["limit"] == 3


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_a_task_without_a_word_to_its_agent_is_refused(prompt: str, invoke: Invoke) -> None:
    before = len(invoke("tasks", "--json").json)
    said = invoke("task", "add", "coder", prompt, "--title", "a title", code=2)
    assert said.err == "The prompt of n1 is empty: say what is to be done.\n"
    assert len(invoke("tasks", "--json").json) == before
