"""The items of a foreach: their steps, what they wrote, the limits and the barrier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from batchdeck.core.commands import SetLimit
from batchdeck.core.model.batch import Batch, Commit, Interrupt
from batchdeck.core.model.foreach import Foreach, Step
from batchdeck.core.model.task import Status, Task
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.view import DeckView, ItemsStanding
from batchdeck.tui.present.items import ItemKey, barrier_words, overview, strip
from batchdeck.tui.present.limit_change import LimitChange
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.what_if import what_if
from tests.support.screen import screen_text, until, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import shown

pytestmark = pytest.mark.anyio

STEPS = Foreach(tuple(Step(name, "coder", "p") for name in ("plan", "apply", "check")))
DOCS = Batch(id=1, name="docs", foreach=STEPS, interrupt=Interrupt.QUIESCE)
RUNNING, QUEUED, DONE = TurnState.RUNNING, TurnState.QUEUED, TurnState.SUCCEEDED


def item(number: int, status: Status, step: int = 0, **more: Any) -> Task:
    return task(
        number,
        status,
        index=number - 1,
        step=step,
        key=f"item-{number - 1}",
        title=f"page-{number}.md · {STEPS.steps[step].id}",
        **more,
    )


def items_view(batch: Batch = DOCS, **more: Any) -> DeckView:
    """Six items: one done, one at its second step, one failed there, three that wait."""
    tasks = [
        item(1, Status.DONE, 2, wrote='results ← "moved"'),
        item(2, Status.IN_PROGRESS, 1, wrote='results ← "a plan"'),
        item(3, Status.FAILED, 1, error="exit 3", attempts=1),
        *(item(number, Status.READY) for number in (4, 5, 6)),
    ]
    turns: list[Turn] = [
        turn(1, DONE),
        turn(2, RUNNING),
        turn(3, TurnState.FAILED),
        *(turn(number) for number in (4, 5, 6)),
    ]
    standing = ItemsStanding(2, 2, 2, 5, frozenset({4}), queued=3)
    limits = {"items:docs": 2, "items:docs/outstanding": 5, "global": 8}
    given = {"limits": limits, "items": {"docs": standing}, **more}
    return view_of(turns, tasks, [agent(parallelism_limit=8)], [batch], **given)


def test_items_stand_below_their_batch_those_at_work_first_and_the_done_last() -> None:
    found = overview(items_view())
    tasks = [key.task for key in found.keys]
    assert found.keys[0] == ItemKey("docs")
    assert tasks == [0, 2, 3, 4, 5, 6, 1]
    assert found.counts["docs"] == (1, 6, 4)


def test_the_strip_has_one_sign_for_each_step() -> None:
    view = items_view()
    scene = Scene(view, NOW_MS)
    strips = {key.task: strip(view.tasks[key.task], DOCS, scene) for key in overview(view).keys[1:]}
    assert strips == {1: "✓✓✓", 2: "✓▶·", 3: "✓✗·", 4: "◷··", 5: "···", 6: "···"}


@pytest.mark.parametrize(
    ("batch", "left", "refused", "words"),
    [
        (DOCS, 3, None, "barrier waits for 3"),
        (DOCS, 0, None, "barrier is judged"),
        (replace(DOCS, committed=Commit(5, 9, "d")), 0, None, "committed 9 values of 5 items"),
        (replace(DOCS, stopped_admitting=True), 3, None, "nothing is committed: an item failed"),
        (replace(DOCS, broken="its steps"), 3, None, "makes no sense: its steps"),
        (DOCS, 0, "nothing was committed: item 1", "nothing was committed: item 1"),
    ],
)
def test_the_barrier_says_where_it_stands(
    batch: Batch, left: int, refused: str | None, words: str
) -> None:
    items = {"docs": ItemsStanding(0, 0, 2, 5, refused=refused)}
    assert barrier_words(batch, left, items_view(batch, items=items))[0] == words


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_i_shows_the_items_with_their_limits_and_what_they_wrote(
    size: tuple[int, int],
) -> None:
    async with shown(StubDeck(items_view()), size) as (app, pilot):
        await pilot.press("i")
        await until_shown(pilot, "✓▶·")
        text = screen_text(app)
        assert "1/6" in text
        assert "2/2   full" in text
        assert "1 page-2.md" in text
        if size[0] >= 80:
            assert 'results ← "a plan"' in text
            assert "begun 2/5" in text


async def test_enter_opens_the_turn_that_an_item_is_at() -> None:
    async with shown(StubDeck(items_view())) as (app, pilot):
        await pilot.press("i")
        await until_shown(pilot, "✓▶·")
        await pilot.press("j", "enter")
        await until_shown(pilot, "#2")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_plus_shows_which_item_would_begin_and_enter_lets_it() -> None:
    deck = StubDeck(items_view())
    async with shown(deck) as (_, pilot):
        await pilot.press("i")
        await until_shown(pilot, "✓▶·")
        await pilot.press("plus")
        await until_shown(pilot, "items docs 2 → 3")
        await until_shown(pilot, "#5 item-4")
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
    (command,) = deck.commands
    assert isinstance(command, SetLimit)
    assert (command.name, command.value) == ("items:docs", 3)


def test_a_preview_counts_the_items_that_still_wait() -> None:
    scene = Scene(items_view(), NOW_MS)
    found = what_if(LimitChange("items:docs", 2, 3), scene)
    assert found.starts == "starts now:   #4 item-3, #5 item-4"
    assert found.waits == "still waits:  #6 item-5 (items 3/3)"
    found = what_if(LimitChange("items:docs/outstanding", 5, 2), scene)
    assert found.title == "items docs begun 5 → 2"


async def test_the_items_are_among_all_limits() -> None:
    async with shown(StubDeck(items_view())) as (app, pilot):
        await pilot.press("L")
        await until_shown(pilot, "docs/outstanding")
        lines = [line.split() for line in screen_text(app).splitlines() if "items" in line]
        assert lines[0][1:5] == ["items", "docs", "2/2", "full"]


async def test_a_deck_without_a_foreach_says_so() -> None:
    async with shown(StubDeck(view_of())) as (app, pilot):
        await pilot.press("i")
        await until_shown(pilot, "no batch here has a foreach")
        assert len(app.screen_stack) == 1
