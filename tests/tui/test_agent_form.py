"""An agent's form: kind, command, limit and folder, and why a limit cannot be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.batchfile.single import read_changed
from batchdeck.core.commands import DefineAgent, Receipt
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.tui.settings import Change, ScreenSettings
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import StubDeck, agent, view_of
from tests.tui.examples import busy_view, shown

pytestmark = pytest.mark.anyio

SIZES = [(60, 16), (80, 24), (120, 36)]


def reading(name: str, known: Agent | None, change: Change) -> Agent:
    return read_changed(name, known, change, Path("/data/project"), Settings())


FORM = ScreenSettings(read_agent=reading)


def a_deck() -> StubDeck:
    agents = [
        agent("coder", parallelism_limit=2, command=("claude", "-p", "two words"), quiet_seconds=9),
        agent("keeper", folder="docs", command=("cat",)),
    ]
    return StubDeck(view_of([], [], agents))


async def test_an_agent_is_changed_and_what_the_form_does_not_show_stays() -> None:
    deck = a_deck()
    async with shown(deck, settings=FORM) as (app, pilot):
        await pilot.press("shift+tab", "E")
        await until_shown(pilot, "agent coder")
        assert "claude -p 'two words'" in screen_text(app)
        app.screen.query_one("#limit", Input).value = "3"
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, DefineAgent)
        assert not command.create
        changed = command.agent
        assert (changed.parallelism_limit, changed.quiet_seconds) == (3, 9)
        assert changed.command == ("claude", "-p", "two words")
        await until_gone(pilot, "enter save")


async def test_the_limit_in_the_form_is_the_one_in_force() -> None:
    deck = StubDeck(
        view_of([], [], [agent("coder", parallelism_limit=2)], limits={"agent:coder": 7})
    )
    async with shown(deck, settings=FORM) as (app, pilot):
        await pilot.press("shift+tab", "E")
        await until_shown(pilot, "agent coder")
        assert app.screen.query_one("#limit", Input).value == "7"


async def test_an_agent_is_added_from_anywhere() -> None:
    deck = a_deck()
    async with shown(deck, settings=FORM) as (_, pilot):
        await pilot.press("A")
        await until_shown(pilot, "a new agent")
        await pilot.press(*"tester", "tab", "tab", *"make", "space", *"test", "enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, DefineAgent)
        assert command.create
        assert (command.agent.name, command.agent.command) == ("tester", ("make", "test"))
        assert command.agent.parallelism_limit == 1


async def test_the_limit_of_a_serial_agent_is_disabled_with_its_reason() -> None:
    deck = a_deck()
    async with shown(deck, settings=FORM) as (app, pilot):
        await pilot.press("shift+tab", "j", "E")
        await until_shown(pilot, "limit: one turn at a time: it has a folder of its own")
        limit, folder = (app.screen.query_one(f"#{name}", Input) for name in ("limit", "folder"))
        assert limit.disabled
        folder.value = ""
        await until_gone(pilot, "one turn at a time")
        assert not limit.disabled
        folder.value = "docs"
        await until_shown(pilot, "one turn at a time")
        app.screen.query_one("#command", Input).focus()
        await pilot.press("enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, DefineAgent)
        assert command.agent.folder == "docs", "a defined name stays one"


async def test_a_chat_agent_has_an_address_and_no_command() -> None:
    async with shown(a_deck(), settings=FORM) as (app, pilot):
        await pilot.press("A")
        await until_shown(pilot, "a new agent")
        app.screen.query_one("#kind", Input).value = AgentKind.OPENAI
        await until_shown(pilot, "address")
        assert "command " not in screen_text(app).partition("a new agent")[2].partition("╰")[0]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("limit", "many", "'many' is not a limit"),
        ("limit", "999", "999 is too large"),
        ("kind", "magic", "kind"),
        ("command", "", "missing: an agent of kind command"),
        ("command", "'open", "the command is no line of a shell"),
    ],
)
async def test_what_makes_no_agent_is_said_in_the_form(field: str, value: str, words: str) -> None:
    deck = a_deck()
    async with shown(deck, settings=FORM) as (app, pilot):
        await pilot.press("shift+tab", "E")
        await until_shown(pilot, "agent coder")
        app.screen.query_one(f"#{field}", Input).value = value
        await pilot.press("enter")
        await until_shown(pilot, words)
        assert not deck.commands


async def test_a_refusal_keeps_the_form_with_what_was_written() -> None:
    deck = a_deck()
    deck.answering = lambda command: Receipt(accepted=False, message="coder is in use by docs.")
    async with shown(deck, settings=FORM) as (app, pilot):
        await pilot.press("shift+tab", "E")
        await until_shown(pilot, "agent coder")
        app.screen.query_one("#limit", Input).value = "4"
        await pilot.press("enter")
        await until_shown(pilot, "coder is in use by docs.")
        assert app.screen.query_one("#limit", Input).value == "4"


async def test_a_screen_that_only_looks_on_opens_no_form() -> None:
    settings = ScreenSettings(attached=True, read_only=True)
    async with shown(StubDeck(busy_view()), settings=settings) as (_, pilot):
        await pilot.press("A")
        await until_shown(pilot, "add agent: this screen only looks on")


@pytest.mark.parametrize("size", SIZES)
async def test_the_form_stands_at_every_size(size: tuple[int, int]) -> None:
    async with shown(a_deck(), size, FORM) as (app, pilot):
        await pilot.press("A")
        await until_shown(pilot, "a new agent")
        text = screen_text(app)
        for words in ("name", "kind", "command", "limit", "folder", "enter save"):
            assert words in text
