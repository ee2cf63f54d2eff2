"""Folders and the matrix: where the work is, and where it piles up."""

from __future__ import annotations

import pytest

from batchdeck.core.model.folder import Folder
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, Turn, TurnState
from batchdeck.tui.present.folder_tree import Place, folder_tree, place_row
from batchdeck.tui.present.matrix import Crossing, matrix
from batchdeck.tui.present.scene import Scene
from tests.support.screen import screen_text, until, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, turn, view_of
from tests.tui.examples import busy_view, folder, shown

pytestmark = pytest.mark.anyio


def test_a_folder_stands_below_the_one_that_contains_it_and_names_who_is_where() -> None:
    view = view_of(
        [
            turn(1, TurnState.RUNNING, folder=folder("/data/project/docs")),
            turn(2, folder=folder("/data/project/docs/api")),
            turn(3, folder=folder("/data/project/docs2")),
            turn(4, TurnState.SUCCEEDED, folder=folder("/data/project/old")),
        ]
    )
    tree = folder_tree(view)
    assert [(p.label, p.depth, p.occupied, p.waiting) for p in tree.values()] == [
        ("docs", 0, [1], []),
        ("api", 1, [], [2]),
        ("docs2", 0, [], [3]),
    ]


def test_two_spellings_of_one_place_are_one_folder() -> None:
    real = folder("/data/project/docs")
    view = view_of([turn(1, folder=real), turn(2, folder=Folder("/link", real.key, real.above))])
    assert [place.waiting for place in folder_tree(view).values()] == [[1, 2]]


def test_a_folder_is_not_free_while_a_parent_or_a_child_of_it_is_occupied() -> None:
    work, scene_of = "/data/project", lambda turns: Scene(view_of(turns), NOW_MS)
    below = [turn(11, TurnState.RUNNING, folder=folder(f"{work}/docs"))]
    below += [turn(12, folder=folder(f"{work}/docs/api")), turn(13, folder=folder(f"{work}/site"))]
    cells = [place_row(place, scene_of(below))[1].text for place in tree_of(below)]
    assert cells[1:] == ["under docs, #11", "free"]
    above = [turn(11, TurnState.RUNNING, folder=folder(f"{work}/docs/api"))]
    above += [turn(12, folder=folder(f"{work}/docs"))]
    cells = [place_row(place, scene_of(above))[1].text for place in tree_of(above)]
    assert cells[0] == "api in it, #11"


def tree_of(turns: list[Turn]) -> list[Place]:
    return list(folder_tree(view_of(turns)).values())


async def test_f_shows_the_folders_and_enter_opens_who_is_there() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("f")
        await until_shown(pilot, "occupied by")
        text = screen_text(app)
        assert "›docs " in text
        assert "▶ #412 T-412 coder 04:12" in text
        assert "└ api" in text
        assert "#431 coder" in text
        await pilot.press("enter")
        await until_shown(pilot, "▶ running  #412")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


def test_each_cell_counts_what_runs_and_what_waits_and_messages_have_a_column() -> None:
    cells = matrix(
        view_of(
            [
                turn(1, TurnState.RUNNING),
                turn(2),
                turn(3, lane=Status.FAILED),
                turn(4, trigger=Trigger.CHAT, lane=None, agent="tester"),
                turn(5, TurnState.SUCCEEDED),
            ],
            agents=[agent()],
        )
    )
    assert cells == {
        ("coder", Status.READY): Crossing(1, 1),
        ("coder", Status.FAILED): Crossing(0, 1),
        ("tester", None): Crossing(0, 1),
    }


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_the_matrix_has_the_limits_at_its_margins(size: tuple[int, int]) -> None:
    async with shown(StubDeck(busy_view()), size) as (app, pilot):
        await pilot.press("M")
        await until_shown(pilot, "status × agent" if size[1] > 18 else "all agents")
        text = screen_text(app)
        (coder,) = [line for line in text.splitlines() if line.lstrip("┃ ›").startswith("coder")]
        assert "2/4" in coder
        assert "2/2 full" in coder
        (limits,) = [line for line in text.splitlines() if line.lstrip("┃ ›").startswith("limit")]
        assert " 4 " in limits
        await pilot.press("j", "j", "enter")
        await until_shown(pilot, "agent:coder" if size[1] > 18 else "#412")
        assert len(app.screen_stack) == 1


async def test_an_agent_opened_in_the_matrix_is_shown_on_the_decks_own_screen() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.press("e", "L", "M", "j", "j", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until_shown(pilot, "turns ─ agent:coder")
