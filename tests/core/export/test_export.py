"""Results leave the deck whole, in batch order, and harmless in whatever opens them."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pytest

from batchdeck.core.commands import RetryTask, StopTurn
from batchdeck.core.deck.looking import look
from batchdeck.core.export.record import COLUMNS, History
from batchdeck.core.export.report import _timeline
from batchdeck.core.export.tables import _cell
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.model.turn import TurnState
from batchdeck.core.paths import DeckPaths
from tests.cli.test_schema import check
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio

NASTY = "=cmd|'/c calc'!A1 <script>alert(1)</script> & \x1b]0;x\x07 ü"


async def exported(tmp_path: Path, form: str) -> str:
    tasks = [TaskSpec("T1", "a", title=NASTY), TaskSpec("T2", "a"), TaskSpec("T3", "a")]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 3)]))
        await here.end(2, text="second", tokens_in=5, tokens_out=2, cost=0.25)
        await here.end(1, TurnState.FAILED, error="it <broke>", text="one\ntwo " + NASTY)
        with look(DeckPaths(tmp_path / ".batchdeck")) as found:
            return "".join(found.export(form, None))


async def test_json_lines_carry_every_field_in_batch_order(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (await exported(tmp_path, "jsonl")).splitlines()]
    assert [line["task"] for line in lines] == ["T1", "T2", "T3"]
    assert set(lines[0]) == {*COLUMNS, "history"}
    first, second, third = lines
    assert (first["status"], first["state"], first["error"]) == ("FAILED", "failed", "it <broke>")
    assert (second["output"], second["tokens_in"], second["cost"]) == ("second", 5, 0.25)
    assert (third["status"], third["ended_ms"], third["cost"]) == ("IN_PROGRESS", None, None)


async def test_every_attempt_of_a_task_is_there_its_earlier_turns_included(tmp_path: Path) -> None:
    tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a"), TaskSpec("T3", "a")]
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.end(1, TurnState.FAILED, error="no", tokens_in=5, tokens_out=2, cost=0.25)
        await here.end(2)
        again = await here.deck.submit(RetryTask(task="T1"))
        await here.deck.submit(StopTurn(turn=3))
        await here.end(again.turn, tokens_in=7, tokens_out=3)
        with look(DeckPaths(tmp_path / ".batchdeck")) as found:
            lines = [json.loads(line) for line in "".join(found.export("jsonl", "b")).splitlines()]
    assert (lines[0]["tokens_in"], lines[0]["tokens_out"], lines[0]["cost"]) == (12, 5, 0.25)
    first, second = lines[0]["history"]
    assert (first["turn"], first["trigger"], first["error"]) == ("1", "task", "no")
    assert (first["tokens_in"], first["cost"], first["end"]) == (5, 0.25, "exited")
    assert (second["turn"], second["trigger"], second["tokens_in"]) == ("4", "retry", 7)
    assert [len(line["history"]) for line in lines] == [2, 1, 1]
    check("export", lines[0])


async def test_a_table_runs_nothing_in_a_spreadsheet(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(await exported(tmp_path, "csv"))))
    assert len(rows) == 3
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())
    assert rows[0]["title"].startswith("'=cmd")


@pytest.mark.parametrize("text", ["\n=1+1", " @x", "\t-1", "＝1+1", "\r+1"])
def test_a_formula_is_known_behind_blanks_and_in_wide_signs(text: str) -> None:
    assert _cell(text) == f"'{text}"
    assert _cell(f"x{text}") == f"x{text}"


def test_a_limit_that_was_changed_after_the_last_end_is_not_drawn() -> None:
    drawn = "".join(_timeline(History(((0, 100, "a"),), ((0, 2), (500, 3)))))
    assert "at most 2 at once" in drawn
    points = [float(x) for x in re.findall(r"[MH](\d+(?:\.\d+)?)", drawn)]
    assert max(points) <= 960


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words += data


async def test_a_report_is_one_file_without_scripts_or_addresses(tmp_path: Path) -> None:
    page = _Page()
    text = await exported(tmp_path, "html")
    page.feed(text)
    assert "script" not in page.tags
    assert page.addresses == []
    assert "it <broke>" in page.words
    assert "1 FAILED" in page.words
    assert "svg" in page.tags
    assert "\x1b" not in text


async def test_one_batch_can_be_chosen(tmp_path: Path) -> None:
    await exported(tmp_path, "jsonl")
    raw = sqlite3.connect(tmp_path / ".batchdeck" / "deck.db")
    raw.close()
    with look(DeckPaths(tmp_path / ".batchdeck")) as found:
        assert list(found.export("jsonl", "other")) == []
