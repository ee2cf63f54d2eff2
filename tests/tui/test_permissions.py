"""A permission is shown whole where it is answered; what is always allowed is taken back."""

from __future__ import annotations

import pytest

from batchdeck.core.commands import AnswerAsk, RevokeAllowance
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.permission import Allowance
from tests.support.screen import screen_text, until, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio
CHOICES = ("allow once", "allow always", "deny")


def wanted(lines: int) -> Ask:
    arguments = "\n".join(f"  argument{n}: [red]{n}[/red]" for n in range(lines))
    question = (
        f"wants to: make deploy\ntool: execute\narguments:\n{arguments}\n"
        "allow always would cover: exactly this: make deploy"
    )
    return Ask(8, 408, question, CHOICES, alive=True, scope="s", covers="exactly this: make deploy")


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_the_whole_request_can_be_read_and_answered_at_every_size(
    size: tuple[int, int],
) -> None:
    deck = StubDeck(busy_view(asks={8: wanted(40)}))
    async with shown(deck, size=size) as (app, pilot):
        await pilot.press("exclamation_mark")
        await until_shown(pilot, "wants to: make deploy")
        await pilot.press("enter")
        await until_shown(pilot, "pgdn")
        for choice in CHOICES:
            assert choice in screen_text(app)
        for _ in range(25):
            await pilot.press("pagedown")
        await until_shown(pilot, "argument39: [red]39[/red]")
        await until_shown(pilot, "allow always would cover")
        await pilot.press("2")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert (command.ask, command.answer) == (8, "allow always")


async def test_a_short_request_says_nothing_of_pages() -> None:
    deck = StubDeck(busy_view(asks={8: wanted(1)}))
    async with shown(deck) as (app, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "enter answers")
        assert "pgdn" not in screen_text(app)


async def test_what_is_always_allowed_is_listed_and_taken_back() -> None:
    kept = Allowance(3, "coder", "s", "edit anything in its working folder", "op", NOW_MS - 90_000)
    deck = StubDeck(busy_view(allowances={3: kept}))
    async with shown(deck) as (app, pilot):
        await pilot.press("P")
        await until_shown(pilot, "edit anything in its working folder")
        assert "coder" in screen_text(app)
        await pilot.press("x")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, RevokeAllowance)
        assert command.allowance == 3


async def test_where_nothing_is_allowed_for_always_it_is_said() -> None:
    async with shown(StubDeck(busy_view())) as (_, pilot):
        await pilot.press("P")
        await until_shown(pilot, "nothing is allowed for always")
