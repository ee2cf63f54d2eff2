"""What was used, and what is used up, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.budget import Spent, TurnSpent
from batchdeck.core.view import DeckView, Spending
from batchdeck.tui.present.budgets import budget_words, reached_words, spent_words, used_words
from batchdeck.tui.present.headline import headline
from batchdeck.tui.present.needs import NeedKind, needs
from batchdeck.tui.present.scene import Scene
from tests.support.screen import screen_text, until_shown
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view, shown


def view(**budgets: Spending) -> DeckView:
    named = {f"batch:docs{name and '/' + name}": spending for name, spending in budgets.items()}
    named = {name.removesuffix("/tokens"): spending for name, spending in named.items()}
    return DeckView(batches={"docs": Batch(1, "docs")}, budgets=named, running_by={"batch:docs": 2})


@pytest.mark.parametrize(
    ("name", "spending", "words"),
    [
        ("batch:docs", Spending(950, 2_000, True), "950 of 2.0k tokens"),
        ("batch:docs", Spending(1_200_000, 2e6, True, 3), "1.20M of 2.00M tokens + 3 unknown"),
        ("batch:docs/money", Spending(0.5, 25, False), "0.50 of 25.00 money"),
    ],
)
def test_a_budget_says_what_was_used_and_what_nobody_knows(
    name: str, spending: Spending, words: str
) -> None:
    assert used_words(name, spending) == words


def test_a_gate_names_the_budget_and_its_unit() -> None:
    assert budget_words("batch:docs, batch:docs/money") == "docs (tokens), docs (money)"


def test_a_hard_budget_that_is_used_up_needs_a_person_and_a_soft_one_is_only_told() -> None:
    hard = view(tokens=Spending(15, 10, True))
    (need,) = needs(hard)
    assert (need.kind, need.urgent, need.hold) == (NeedKind.BUDGET, True, "budget:docs")
    assert need.words == ("has used 15 of 10 tokens: nothing of it starts; 2 running may use more")
    soft = view(money=Spending(15, 10, False))
    (need,) = needs(soft)
    assert not need.urgent
    assert reached_words(soft, "batch:docs/money").endswith("it goes on")
    assert needs(view(tokens=Spending(9, 10, True))) == ()


def test_what_turns_at_work_may_still_use_is_told_by_what_attempts_used_so_far() -> None:
    spent = {"batch:docs": Spent(tokens=30_000, money=1.5, unknown=1, unpriced=4, attempts=4)}
    used_up = replace(view(tokens=Spending(3e4, 3e4, True)), spent=spent)
    assert reached_words(used_up, "batch:docs").endswith("2 running may use some 20.0k tokens more")
    money = replace(view(money=Spending(2, 1, True)), spent=spent)
    assert reached_words(money, "batch:docs/money").endswith("2 running may use more")


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Spent(), ""),
        (Spent(12_300, 0.4, attempts=2), "12.3k tokens, 0.40 money"),
        (Spent(100, 0, 1, 2, 2), "100 + 1 unknown tokens, unknown money"),
        (Spent(0, 0, 1, 1, 1), "unknown tokens, unknown money"),
    ],
)
def test_what_was_used_says_what_nobody_knows(spent: Spent, words: str) -> None:
    assert spent_words(spent) == words


@pytest.mark.anyio
async def test_a_turns_screen_says_what_it_and_its_task_have_used_once_an_attempt_has_ended() -> (
    None
):
    deck = StubDeck(busy_view())
    async with shown(deck) as (app, pilot):
        await pilot.press("enter")
        await until_shown(pilot, "#408 T-408 output")
        assert "used" not in screen_text(app)
        deck.used[408] = TurnSpent(Spent(500, 0.25, attempts=1), Spent(900, 0.25, 0, 1, 2))
        running = deck.view.turns[408]
        deck.publish(replace(deck.view, turns={**deck.view.turns, 408: replace(running)}))
        await until_shown(pilot, "used 500 tokens, 0.25 money")
        await until_shown(pilot, "its task 900 tokens")


@pytest.mark.anyio
async def test_an_agents_form_and_a_wide_table_say_what_it_has_used() -> None:
    spent = {"agent:coder": Spent(1_500, 0, 0, 3, 3)}
    deck = StubDeck(busy_view(spent=spent))
    async with shown(deck, size=(200, 40)) as (_, pilot):
        await until_shown(pilot, "1.5k tokens, unknown money")
        await pilot.press("shift+tab", "E")
        await until_shown(pilot, "used: 1.5k tokens, unknown money")


def test_a_budget_that_is_used_up_stays_in_the_headline_longest() -> None:
    shown = view(money=Spending(1, 10, False), tokens=Spending(15, 10, True))
    texts = [cell.text for cell in headline(Scene(shown, 0), 200)]
    assert "15 of 10 tokens" in texts
    assert "1.00 of 10.00 money" in texts
    narrow = [cell.text for cell in headline(Scene(shown, 0), 75)]
    assert "15 of 10 tokens" in narrow
    assert "1.00 of 10.00 money" not in narrow


def test_an_account_that_cools_down_is_told_and_can_be_released() -> None:
    cools = {"team": Cooldown("team", 1_000, 0, "used up")}
    (need,) = needs(replace(view(), cooldowns=cools))
    assert (need.kind, need.urgent, need.hold) == (NeedKind.COOLDOWN, False, "account:team")
    assert need.words.endswith(": used up")
