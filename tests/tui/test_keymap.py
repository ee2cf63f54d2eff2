"""The operator's own keys: used, or reported and left out."""

from __future__ import annotations

import pytest

from batchdeck.tui.actions import ACTIONS
from batchdeck.tui.keys import FIXED, read_keymap, shown_keys
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.widgets.turn_table import TurnTable
from tests.support.screen import screen_text, until_gone, until_shown
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view, shown


def test_keys_are_named_as_textual_names_them() -> None:
    assert read_keymap({"help": "f1,?"}) == ({"help": "f1,question_mark"}, [])
    assert shown_keys("f1,question_mark") == "f1 ?"


@pytest.mark.parametrize(
    ("keymap", "fault"),
    [
        ({"halp": "f1"}, "keymap: there is no action 'halp'; did you mean help?"),
        ({"help": "x"}, "keymap: x for help is already stop"),
        ({"help": "j"}, "keymap: j for help is already a move"),
        ({"help": ""}, "keymap: help needs a key"),
        ({"help": "f5", "why": "f5"}, "keymap: f5 for why is already help"),
        ({"stop": "W"}, "keymap: W for stop is already a key of outputs"),
        ({"deck.hold": "T"}, "keymap: T for deck.hold is already a key of outputs"),
    ],
)
def test_a_key_that_cannot_be_used_is_reported(keymap: dict[str, str], fault: str) -> None:
    _, faults = read_keymap(keymap)
    assert faults == [fault]


def test_two_actions_may_swap_their_keys() -> None:
    assert read_keymap({"stop": "r", "retry": "x"}) == ({"stop": "r", "retry": "x"}, [])
    assert read_keymap({"stop": "f5", "retry": "x"}) == ({"stop": "f5", "retry": "x"}, [])


def test_an_action_that_keeps_its_key_has_it_alone() -> None:
    good, faults = read_keymap({"stop": "j", "retry": "x"})
    assert good == {}
    assert faults == ["keymap: j for stop is already a move", "keymap: x for retry is already stop"]


def test_the_keys_that_actions_have_by_themselves_clash_with_nothing() -> None:
    own = {action.id: action.keys for action in ACTIONS if action.id not in FIXED}
    assert read_keymap(own)[1] == []


@pytest.mark.anyio
async def test_a_remapped_key_acts_and_help_shows_it() -> None:
    settings = ScreenSettings(keymap={"why": "f6", "halp": "f1"})
    async with shown(StubDeck(busy_view()), (120, 90), settings) as (app, pilot):
        await until_shown(pilot, "there is no action 'halp'")
        await pilot.press("f6")
        await until_shown(pilot, "It does not wait for a slot")
        await pilot.press("escape")
        await until_gone(pilot, "It does not wait for a slot")
        await pilot.press("w")
        await pilot.press("question_mark")
        await until_shown(pilot, "Show every key.")
        assert any("f6" in line and "gate" in line for line in screen_text(app).splitlines())


@pytest.mark.anyio
async def test_the_bar_shows_the_keys_that_the_operator_has() -> None:
    settings = ScreenSettings(keymap={"why": "f6", "limit.lower": "f7"})
    async with shown(StubDeck(busy_view()), (120, 36), settings) as (app, pilot):
        assert "f6 why" in screen_text(app).splitlines()[-1]
        await pilot.press("shift+tab")
        await until_shown(pilot, "+ f7 limit")


@pytest.mark.anyio
async def test_swapped_keys_act() -> None:
    settings = ScreenSettings(keymap={"stop": "r", "retry": "x"})
    async with shown(StubDeck(busy_view()), settings=settings) as (app, pilot):
        app.screen.query_one(TurnTable).move_to(412)
        await pilot.press("x")
        await until_shown(pilot, "retry: #412 still runs")
        await pilot.press("r")
        await until_shown(pilot, "Stop #412 T-412?")
