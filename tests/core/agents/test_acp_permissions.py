"""A permission that an ACP agent wants is asked for in full, and answered once, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp.helpers import tool_diff_content

from batchdeck.core.agents.acp import AcpAgent
from batchdeck.core.agents.acp_permission import permission_of
from batchdeck.core.agents.adapter import Control, Outcome
from batchdeck.core.executors.local import LocalExecutor
from batchdeck.core.executors.processes import marks
from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.text import clean_text
from tests.core.agents.test_acp import PATIENCE, assignment, output

pytestmark = pytest.mark.anyio


class Operator:
    """Answers what is asked, or leaves it open."""

    def __init__(self, answer: Callable[[Permission], Decision | None]) -> None:
        self.asked: list[Permission] = []
        self._answer = answer

    async def ask(self, permission: Permission) -> Decision:
        self.asked.append(permission)
        decision = self._answer(permission)
        if decision is None:
            await anyio.sleep_forever()
        assert decision is not None
        return decision


async def played(
    folder: Path, prompt: str, answer: Decision | None, **fields: object
) -> tuple[Outcome, Operator]:
    """What becomes of a prompt whose permissions are answered so; None: not at all."""
    operator = Operator(lambda _: answer)
    asked = assignment(folder, prompt, **fields)
    control = Control(started=lambda process: None, ask=operator.ask)
    with anyio.fail_after(2 * PATIENCE):
        outcome = await AcpAgent(LocalExecutor()).run(asked, control)
    assert asked.attempt not in marks()
    return outcome, operator


@pytest.mark.parametrize(
    ("decision", "option"),
    [
        (Decision.ALLOW_ONCE, "y"),
        (Decision.ALLOW_ALWAYS, "y"),
        (Decision.DENY, "n"),
    ],
)
async def test_a_word_is_told_by_the_kind_of_an_option_and_what_is_kept_stays_with_the_deck(
    tmp_path: Path, decision: Decision, option: str
) -> None:
    outcome, _ = await played(tmp_path, "tool rm -rf build", decision)
    assert (outcome.state, outcome.text.strip()) == (TurnState.SUCCEEDED, f"got {option}")


async def test_a_request_shows_the_tool_and_the_arguments_that_its_call_began_with(
    tmp_path: Path,
) -> None:
    _, operator = await played(tmp_path, "run npm test -- --all", Decision.DENY)
    (asked,) = operator.asked
    assert asked.question.splitlines() == [
        "wants to: npm test -- --all",
        "tool: execute",
        "arguments:",
        "  command: npm test -- --all",
        "allow always would cover: exactly this: npm test -- --all",
    ]


async def test_an_edit_shows_what_it_changes_and_may_be_allowed_for_the_whole_folder(
    tmp_path: Path,
) -> None:
    _, operator = await played(tmp_path, "edit notes.txt\nedit ../../elsewhere", Decision.DENY)
    inside, outside = operator.asked
    assert "-old line\n+new line\n kept" in inside.question
    assert inside.covers == "edit anything in its working folder"
    assert outside.covers == "exactly this: Edit ../../elsewhere"


def asked_of(**call: Any) -> str:
    return permission_of(call, (), Path("/work")).question


@pytest.mark.parametrize("least", [0, 200_000])
def test_a_change_shows_every_line_that_comes_whatever_it_begins_with(least: int) -> None:
    before, after = "keep\n-- drop the table guard\n", "keep\n++counter;\n" + " " * least
    question = asked_of(content=[tool_diff_content("x.sql", after, before)])
    assert "+++counter;" in question
    assert ("--- drop the table guard" if not least else "-… 2 lines, too much") in question


def test_a_change_of_the_ends_of_lines_is_said() -> None:
    question = asked_of(content=[tool_diff_content("x.sh", "a\r\n", "a\n")])
    assert "changes in x.sh:\n(only the ends of lines)" in question


@pytest.mark.parametrize("hiding", ["\r", "\x1b]0;", "\x1b[8m", "\u202e", "\x9b8m"])
def test_nothing_that_a_terminal_would_hide_is_hidden_in_a_request(hiding: str) -> None:
    command = f"rm -rf build{hiding}; ls"
    question = asked_of(title=command, raw_input={"command": command})
    written_out = f"rm -rf build{ascii(hiding)[1:-1]}; ls"
    assert question.splitlines()[0] == f"wants to: {written_out}"
    assert f"  command: {written_out}" in question.splitlines()
    assert clean_text(question) == question


def test_a_long_title_is_shown_to_its_end() -> None:
    assert asked_of(title=f"echo {'x' * 500} && rm -rf build").count("rm -rf build") == 1


async def test_two_commands_are_not_one_scope(tmp_path: Path) -> None:
    _, operator = await played(tmp_path, "run ls\nrun ls -a\nrun ls", Decision.DENY)
    first, second, third = (asked.scope for asked in operator.asked)
    assert first == third != second


async def test_only_what_the_agent_offers_is_a_choice(tmp_path: Path) -> None:
    _, operator = await played(tmp_path, "permit allow_always\npermit reject_once", Decision.DENY)
    always, never = (asked.choices for asked in operator.asked)
    assert always == (Decision.ALLOW_ALWAYS, Decision.DENY)
    assert never == (Decision.DENY,)


async def test_several_requests_at_once_are_asked_at_once(tmp_path: Path) -> None:
    outcome, operator = await played(tmp_path, "both one|two|three", Decision.ALLOW_ONCE)
    assert sorted(asked.title for asked in operator.asked) == ["one", "three", "two"]
    assert outcome.text.split() == ["got", "y"] * 3


async def test_an_open_request_is_answered_cancelled_when_its_turn_is_stopped(
    tmp_path: Path,
) -> None:
    operator = Operator(lambda _: None)
    asked = assignment(tmp_path, "tool rm -rf build")
    control = Control(started=lambda process: None, ask=operator.ask)
    ended: list[Outcome] = []

    async def work() -> None:
        ended.append(await AcpAgent(LocalExecutor()).run(asked, control))

    with anyio.fail_after(2 * PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            while not operator.asked:
                await anyio.sleep(0.02)
            control.stop.set()
    assert (ended[0].state, ended[0].end) == (TurnState.CANCELLED, AttemptEnd.STOPPED)
    assert ended[0].text.strip() == "got cancelled", "the agent was told, and said so"


async def test_nobody_to_ask_fails_the_turn_and_cancels_what_the_agent_does(
    tmp_path: Path,
) -> None:
    outcome, _ = await played(tmp_path, "tool rm -rf build", Decision.UNANSWERED)
    assert outcome.state is TurnState.FAILED
    assert outcome.error == "asked, and nobody is there to answer: rm -rf build"


async def test_a_time_limit_ends_an_agent_whose_request_nobody_answers(tmp_path: Path) -> None:
    outcome, _ = await played(tmp_path, "tool rm -rf build", None, timeout_seconds=3.0)
    assert outcome.end is AttemptEnd.TIMED_OUT


async def test_a_turn_may_end_with_a_request_still_open(tmp_path: Path) -> None:
    outcome, operator = await played(tmp_path, "finish_with_open_permission", None)
    assert (outcome.state, len(operator.asked)) == (TurnState.SUCCEEDED, 1)


async def test_how_it_was_decided_stands_in_the_output(tmp_path: Path) -> None:
    operator = Operator(lambda _: Decision.ALLOW_ONCE)
    asked = assignment(tmp_path, "run make")
    control = Control(started=lambda process: None, ask=operator.ask)
    await AcpAgent(LocalExecutor()).run(asked, control)
    assert '"decision":"allow once"' in output(asked)
