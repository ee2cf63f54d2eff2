"""Views across the socket: what arrives is what was sent, whole or as what has changed."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.control.views import ROWS_PER_LINE, Mirror, lines_of
from batchdeck.core.difference import changed_tasks, changed_turns
from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import Batch, Commit
from batchdeck.core.model.budget import Spent
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.foreach import Foreach, Step
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import (
    AgentTally,
    DeckView,
    IssueMove,
    ItemsStanding,
    Pulse,
    Spending,
)
from tests.support.stub_deck import task, turn, view_of

FOREACH = Foreach((Step("plan", "coder", "p", keep="plan"), Step("do", "coder", "q", writes="o")))
FOLDER = Folder("1:2", "/data/docs", ("1:1",))
OWN = {"revision", "turn_news", "task_news"}


def same(here: DeckView, there: DeckView) -> bool:
    """Whether both say the same; revisions are each side's own."""
    names = [field.name for field in fields(DeckView) if field.name not in OWN]
    return all(getattr(here, name) == getattr(there, name) for name in names)


def told(mirror: Mirror, view: DeckView, *before: DeckView) -> DeckView:
    """The view as it arrives."""
    *_, last = [mirror.take(line) for line in lines_of(view, *before)]
    assert last is not None
    return last


EVERYTHING = replace(
    view_of(
        turns=[turn(1, state=TurnState.RUNNING, started_ms=5), turn(2, folder=FOLDER)],
        tasks=[task(1, depends_on=(2,))],
        agents=[Agent("coder", AgentKind.DEMO, script={"seconds": [1, 2]})],
        limits={"global": None},
    ),
    fault="cannot write",
    batches={"docs": Batch(1, "docs", foreach=FOREACH, committed=Commit(3, 2, "d"))},
    forced=1,
    waiting_turns=(3,),
    agent_tallies={"coder": AgentTally(3, 1, (4, 5))},
    holds={"deck": Hold("deck", "op", "lunch", 7)},
    asks={1: Ask(1, 1, "Which?", ("a", "b"), opened_ms=3)},
    pulses={1: Pulse(3, 4, "reading")},
    issue_moves={1: IssueMove("closed", Status.DONE, 4)},
    cooldowns={"team": Cooldown("team", 99, 1, "used up", 2, 3)},
    budgets={"batch:docs/money": Spending(1.5, 2.0, True, 1)},
    spent={"agent:coder": Spent(10, 0.5, 1, 2, 3)},
    items={"docs": ItemsStanding(1, 2, 4, None, frozenset({5, 6}))},
    elsewhere={1: None},
    violations=("one too many",),
    banner="look",
    draining=True,
    supervised=False,
)


def test_all_that_a_view_says_arrives() -> None:
    assert same(told(Mirror(), EVERYTHING), EVERYTHING)


def test_what_has_changed_arrives_and_nothing_else_is_sent() -> None:
    before = view_of([turn(number) for number in range(1, 50)])
    mirror = Mirror()
    told(mirror, before)
    turns = {**before.turns, 7: turn(7, state=TurnState.RUNNING)}
    del turns[9]
    after = replace(before, revision=2, turns=turns, running=1)
    lines = list(lines_of(after, before))
    assert sum(map(len, lines)) < 2_000
    arrived = [mirror.take(line) for line in lines][-1]
    assert arrived is not None
    assert same(arrived, after)


def test_a_field_that_is_as_at_the_beginning_again_is_sent() -> None:
    mirror = Mirror()
    told(mirror, EVERYTHING)
    after = replace(EVERYTHING, revision=2, fault=None, banner=None, holds={})
    assert same(told(mirror, after, EVERYTHING), after)


def test_a_large_view_is_cut_into_lines_that_keep_nobody_long() -> None:
    view = view_of([turn(number) for number in range(1, 3 * ROWS_PER_LINE)])
    mirror = Mirror()
    lines = list(lines_of(view))
    assert [mirror.take(line) is None for line in lines] == [True, True, True, False]


def test_what_was_told_last_stays_until_the_next_view_is_whole() -> None:
    mirror = Mirror()
    first = view_of([turn(number) for number in range(1, 2 * ROWS_PER_LINE)])
    known = told(mirror, first)
    second = replace(first, revision=2, turns={**first.turns, 1: turn(1, TurnState.RUNNING)})
    mirror.forget()
    line, *rest = lines_of(second)
    assert mirror.take(line) is None
    cut = mirror.view(supervised=False)
    assert cut.turns == known.turns
    *_, whole = map(mirror.take, rest)
    assert whole is not None
    assert same(whole, second)
    assert 1 in changed_turns(cut, whole)


@given(st.lists(st.sampled_from(["turn", "end", "gone", "whole"]), max_size=30))
def test_a_mirror_tells_what_has_changed_in_its_own_views(steps: list[str]) -> None:
    mirror, view = Mirror(), view_of([turn(1)])
    known = told(mirror, view)
    for number, step in enumerate(steps, 2):
        turns: dict[int, Any] = dict(view.turns)
        if step == "turn":
            turns[number] = turn(number)
        elif step == "end" and turns:
            turns[max(turns)] = replace(turns[max(turns)], state=TurnState.SUCCEEDED, ended_ms=1)
        elif step == "gone" and turns:
            del turns[min(turns)]
        after = replace(view, revision=number, turns=turns)
        if step == "whole":
            mirror.forget()
            arrived = told(mirror, after)
        else:
            arrived = told(mirror, after, view)
        assert arrived.revision > known.revision
        assert same(arrived, after)
        differing = {
            k for k in known.turns | arrived.turns if known.turns.get(k) != arrived.turns.get(k)
        }
        assert changed_turns(known, arrived) >= differing
        assert not changed_tasks(known, arrived)
        view, known = after, arrived
