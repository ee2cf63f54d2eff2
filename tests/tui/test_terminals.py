"""Slow terminals, desktop notices, and what the configuration says about both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.color import ColorSystem

from batchdeck.core.model.ask import Ask
from batchdeck.core.model.batch import BatchState
from batchdeck.tui.app import DeckApp
from batchdeck.tui.bandwidth import Bandwidth
from batchdeck.tui.notices import Notice, notice_for, sequence
from batchdeck.tui.pace import Pace
from batchdeck.tui.settings import ScreenSettings, read_screen_settings
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck
from tests.tui.examples import busy_view, shown, shows


def test_bytes_that_stay_pending_make_a_terminal_slow_until_it_has_kept_up_for_a_while() -> None:
    bandwidth = Bandwidth()
    assert not bandwidth.blocked(10.0)
    assert not bandwidth.blocked(10.2)
    assert bandwidth.blocked(10.3)
    assert bandwidth.low
    assert not bandwidth.blocked(10.4)
    assert not bandwidth.flows(12.0)
    assert not bandwidth.blocked(20.0)
    assert bandwidth.flows(41.0)
    assert not bandwidth.low


def test_a_short_jam_is_none() -> None:
    bandwidth = Bandwidth()
    for moment in (1.0, 2.0, 3.0):
        assert not bandwidth.blocked(moment)
        assert not bandwidth.flows(moment + 0.1)


def test_views_come_ten_times_a_second_and_less_often_where_drawing_takes_long() -> None:
    pace = Pace()
    pace.spend(0.002)
    assert pace.rest() == 0.1
    pace.spend(0.003)
    pace.spend(0.003)
    assert pace.rest() == pytest.approx(0.18)
    assert pace.rest() == 0.1, "what was spent is counted once"
    pace.spend(3.0)
    assert pace.rest() == 0.25


@pytest.mark.anyio
async def test_what_is_drawn_counts_for_the_pace() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        await pilot.pause()
        app.pace.rest()
        await pilot.press("j")
        await until(pilot, lambda: app.pace.spent > 0.0)


@pytest.mark.anyio
async def test_a_slow_terminal_is_told_and_gets_no_bars() -> None:
    async with shown(StubDeck(busy_view())) as (app, pilot):
        assert "━╸─" in screen_text(app)
        app.bandwidth.blocked(0.0)
        app.terminal_blocked()
        await until_shown(pilot, "slow terminal: fewer updates and no bars")
        app.show_scene()
        await until_gone(pilot, "━╸─")
        assert "done 2 of 13" in screen_text(app)


@pytest.mark.parametrize(
    ("notice", "told"),
    [
        (Notice.OSC9, "\x1b]9;deck: a, b\x1b\\"),
        (Notice.OSC777, "\x1b]777;notify;deck;a, b\x1b\\"),
    ],
)
def test_a_notice_is_one_sequence_that_foreign_text_cannot_end(notice: Notice, told: str) -> None:
    assert sequence(notice, "deck", "a; \x1b\x07b", in_tmux=False) == told


def test_tmux_passes_on_what_is_wrapped() -> None:
    told = sequence(Notice.OSC99, "deck", "done", in_tmux=True)
    assert told.startswith("\x1bPtmux;\x1b\x1b]99;i=batchdeck:d=0;deck\x1b\x1b\\")
    assert told.endswith("\x1b\\")


def test_the_configuration_says_which_notices_and_whether_there_is_a_mouse() -> None:
    def read(environment: dict[str, str] | None = None, **ui: object) -> ScreenSettings:
        return read_screen_settings(ui, environment or {})

    assert (read().bell, read().notice, read().mouse) == (True, None, True)
    assert read(notifications=False).bell is False
    assert read(notifications="osc9").notice is Notice.OSC9
    assert read({"TERM": "xterm-kitty"}, notifications=True).notice is Notice.OSC99
    assert read({"TERM_PROGRAM": "WezTerm"}, notifications=True).notice is Notice.OSC9
    assert read({"TMUX": "/tmp/x"}).in_tmux
    assert read(mouse=False).mouse is False
    assert notice_for({}) is Notice.OSC777


@pytest.mark.anyio
async def test_a_question_and_the_end_of_a_batch_call_the_operator() -> None:
    deck = StubDeck(busy_view(asks={}))
    settings = ScreenSettings(notice=Notice.OSC9)
    async with shown(deck, settings=settings) as (app, pilot):
        written = heard(app)
        ask = Ask(9, 412, "which one?", opened_ms=NOW_MS)
        deck.publish(replace(deck.view, asks={9: ask}))
        await until_shown(pilot, "#412 T-412 asks: which one?")
        await until(pilot, lambda: written)
        assert "\x1b]9;batchdeck: #412 T-412 asks: which one? (! answers)\x1b\\" in written
        batch = replace(deck.view.batches["docs"], state=BatchState.COMPLETED, ended_ms=NOW_MS)
        deck.publish(replace(deck.view, batches={"docs": batch}))
        await until_shown(pilot, "batch docs is over: completed")


@pytest.mark.anyio
async def test_without_being_asked_for_there_is_no_notice() -> None:
    deck = StubDeck(busy_view(asks={}))
    async with shown(deck) as (app, pilot):
        written = heard(app)
        deck.publish(replace(deck.view, asks={9: Ask(9, 412, "which one?", opened_ms=NOW_MS)}))
        await shows(pilot, deck)
        assert not [text for text in written if text.startswith("\x1b]")]


def heard(app: DeckApp) -> list[str]:
    """What is written to the terminal past the screen from now on."""
    written: list[str] = []
    assert app._driver is not None
    app._driver.write = written.append  # type: ignore[method-assign, assignment]
    return written


@pytest.mark.anyio
@pytest.mark.parametrize("theme", ["deck-dark", "deck-light", "deck-contrast"])
async def test_with_16_colours_no_text_has_the_colour_of_its_ground(theme: str) -> None:
    async with shown(StubDeck(busy_view()), settings=ScreenSettings(theme=theme)) as (app, pilot):
        for keys in ((), ("Q",), ("escape", "L"), ("plus",)):
            await pilot.press(*keys)
            await pilot.pause()
            assert not [text for text in unreadable(app) if text.strip(" ─│╭╮╰╯━")]


def unreadable(app: DeckApp) -> list[str]:
    """Texts that would have the colour of their ground on a terminal with 16 colours."""
    found = []
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if style is None or style.color is None or style.bgcolor is None:
                continue
            colour, ground = (
                one.downgrade(ColorSystem.STANDARD).number for one in (style.color, style.bgcolor)
            )
            if colour == ground:
                found.append(text)
    return found
