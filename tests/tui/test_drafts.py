"""What is written and not sent is there again, whatever ended the dashboard."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from batchdeck.core.commands import AnswerAsk, EditTurn
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.turn import TurnState
from batchdeck.tui.drafts import MOST, Drafts
from batchdeck.tui.screens import live
from batchdeck.tui.widgets.agent_table import AgentTable
from tests.support.screen import screen_text, until, until_gone, until_shown
from tests.support.stub_deck import NOW_MS, StubDeck, agent, task, turn, view_of
from tests.tui.examples import busy_view, shown, shows


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "drafts.json"


# the file


def test_drafts_are_read_at_the_next_start_from_a_file_of_the_owner_alone(file: Path) -> None:
    first = Drafts(file)
    first.note("coder", "half a sentence")
    assert not file.exists(), "nothing is written for every letter"
    first.save()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["drafts.json"]
    second = Drafts(file)
    assert second.kept == {"coder": "half a sentence"}
    second.note("coder", "")
    second.save()
    assert Drafts(file).kept == {}


def test_two_dashboards_of_a_deck_keep_each_others_drafts(file: Path) -> None:
    one, other = Drafts(file), Drafts(file)
    one.note("coder", "mine")
    one.save()
    other.note("c12", "yours")
    other.save()
    assert Drafts(file).kept == {"coder": "mine", "c12": "yours"}


def test_a_file_that_makes_no_sense_is_put_aside_and_said_once(file: Path) -> None:
    file.write_text('{"coder": "cut o')
    drafts = Drafts(file)
    assert "makes no sense, and is drafts.json.unreadable now" in drafts.trouble()
    assert drafts.trouble() == ""
    drafts.note("coder", "anew")
    drafts.save()
    assert Drafts(file).kept == {"coder": "anew"}
    assert file.with_name("drafts.json.unreadable").read_text() == '{"coder": "cut o'


def test_a_file_that_cannot_be_written_is_said_once_and_the_texts_stay(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "gone" / "drafts.json")
    for text in ("a", "ab"):
        drafts.note("coder", text)
        drafts.save()
    assert "cannot be written (No such file or directory)" in drafts.trouble()
    drafts.note("coder", "abc")
    drafts.save()
    assert (drafts.trouble(), drafts.of("coder")) == ("", "abc")
    (tmp_path / "gone").mkdir()
    drafts.save()
    assert Drafts(tmp_path / "gone" / "drafts.json").of("coder") == "abc"


def test_of_very_many_drafts_the_latest_stay(file: Path) -> None:
    file.write_text(json.dumps({f"c{n}": "old" for n in range(MOST)}))
    drafts = Drafts(file)
    drafts.note("coder", "new")
    drafts.save()
    assert len(Drafts(file).kept) == MOST
    assert Drafts(file).of("coder") == "new"


# the screens


@pytest.mark.anyio
async def test_a_message_that_was_kept_is_there_after_a_new_start(file: Path) -> None:
    for keys in ([*"half", "escape"], []):
        async with shown(StubDeck(busy_view()), drafts=Drafts(file)) as (app, pilot):
            app.screen.query_one(AgentTable).focus()
            await pilot.press("m", *keys)
            await until_shown(pilot, "half" if not keys else "kept as a draft")
            assert Drafts(file).of("coder") == "half"


@pytest.mark.anyio
async def test_a_message_that_is_being_typed_when_the_screen_ends_is_kept(file: Path) -> None:
    async with shown(StubDeck(busy_view()), drafts=Drafts(file)) as (app, pilot):
        app.screen.query_one(AgentTable).focus()
        await pilot.press("m", *"half")
        await until_shown(pilot, "half")
    app.drafts.save()
    assert Drafts(file).of("coder") == "half"


def editing() -> StubDeck:
    return StubDeck(view_of([turn(1, title="as it was")], [task(1)], [agent()]))


@pytest.mark.anyio
async def test_a_changed_text_of_a_queued_turn_is_kept_and_offered_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
    deck = editing()
    async with shown(deck, drafts=Drafts(file)) as (_, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "editing #1")
        await pilot.press(*"-and-more", "escape")
        await until_shown(pilot, "#1 is left as it was, your text is kept as a draft: enter on it")
        assert Drafts(file).kept == {"edit:#1": "as it was-and-more"}
        await pilot.press("enter")
        await until_shown(pilot, "your draft · ctrl+z as it is queued")
        assert "as it was-and-more" in screen_text(pilot.app)
        await pilot.press("enter")
        await until_shown(pilot, "#1 is saved")
        edits = [command.text for command in deck.commands if isinstance(command, EditTurn)]
        assert edits == ["as it was-and-more"]
        assert Drafts(file).kept == {}


@pytest.mark.anyio
async def test_a_kept_edit_is_given_up_by_taking_it_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
    drafts = Drafts(file)
    drafts.note("edit:#1", "another text")
    async with shown(editing(), drafts=drafts) as (_, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "another text")
        await pilot.press("ctrl+z")
        await until_gone(pilot, "another text")
        await pilot.press("escape")
        await until_shown(pilot, "#1 is left as it was")
        assert Drafts(file).kept == {}


@pytest.mark.anyio
async def test_an_enter_that_repeats_does_not_save_a_draft_that_nobody_has_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts, deck = Drafts(file), editing()
    drafts.note("edit:#1", "another text")
    async with shown(deck, drafts=drafts) as (app, pilot):
        await pilot.press("Q")
        await until_shown(pilot, "esc back")
        monkeypatch.setattr(live, "ECHO_SECONDS", 600.0)
        app.finished_at = -1_000.0
        await pilot.press("enter")
        await until_shown(pilot, "another text")
        await pilot.press("enter")
        await pilot.pause()
        assert not [command for command in deck.commands if isinstance(command, EditTurn)]


@pytest.mark.anyio
async def test_the_edit_of_a_turn_that_has_started_becomes_a_message_to_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ECHO_SECONDS", 0.0)
    deck = editing()
    async with shown(deck, drafts=Drafts(file)) as (app, pilot):
        await pilot.press("Q", "enter")
        await until_shown(pilot, "editing #1")
        await pilot.press(*"-and-more")
        started = {1: replace(deck.view.turns[1], state=TurnState.RUNNING, started_ms=NOW_MS)}
        deck.publish(replace(deck.view, turns=started))
        await shows(pilot, deck)
        await until_shown(pilot, "It is not queued any more")
        await pilot.press("escape")
        await until_shown(pilot, "kept as a draft: m on it takes it up again")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("m")
        await until_shown(pilot, "as it was-and-more")


@pytest.mark.anyio
async def test_an_answer_that_was_begun_is_kept_until_it_is_given(file: Path) -> None:
    question = Ask(8, 408, "which branch?", default="main", opened_ms=NOW_MS)
    deck = StubDeck(busy_view(asks={8: question}))
    async with shown(deck, drafts=Drafts(file)) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "which branch?")
        await pilot.press(*"dev", "escape")
        await until_gone(pilot, "asks ─")
        assert Drafts(file).kept == {"answer:8": "dev"}
    async with shown(deck, drafts=Drafts(file)) as (_, pilot):
        await pilot.press("exclamation_mark", "enter")
        await until_shown(pilot, "your draft · enter answers")
        await pilot.press("0", "enter")
        await until(pilot, lambda: deck.commands)
        (command,) = deck.commands
        assert isinstance(command, AnswerAsk)
        assert command.answer == "dev0"
        await until(pilot, lambda: Drafts(file).kept == {})


@pytest.mark.anyio
async def test_escape_says_that_an_answer_is_kept_and_says_nothing_where_there_is_none(
    file: Path,
) -> None:
    question = Ask(8, 408, "which branch?", default="main", opened_ms=NOW_MS)
    async with shown(StubDeck(busy_view(asks={8: question})), drafts=Drafts(file)) as (_, pilot):
        for keys in ([], ["x"]):
            await pilot.press("exclamation_mark", "enter")
            await until_shown(pilot, "which branch?")
            await pilot.press(*keys, "escape", "escape")
            await until_gone(pilot, "needs you ─")
            assert ("kept as a draft" in screen_text(pilot.app)) is bool(keys)


@pytest.mark.anyio
async def test_a_file_that_cannot_be_read_is_told_on_the_screen(file: Path) -> None:
    file.mkdir()
    async with shown(StubDeck(busy_view()), drafts=Drafts(file)) as (_, pilot):
        await until_shown(pilot, "cannot be read (Is a directory)")
