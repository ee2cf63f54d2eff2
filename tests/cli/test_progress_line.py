"""The line below a headless run stays one line, whatever becomes of the terminal's width."""

from __future__ import annotations

import pyte
import pytest

from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.tui.cli.progress import StandingLine, progress_words, reflows
from tests.support.stub_deck import agent, batch, task, turn, view_of

WORDS = "━━━━━━━━━━━━ 3/4 " + "1 running · 0 queued · 3 done · 1 failed · 2 wait for you"


def reflowed(screen: pyte.Screen, columns: int) -> pyte.Screen:
    """What a terminal that breaks lines anew makes of a screen whose cursor is behind its last."""
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    narrow = pyte.Screen(columns, screen.lines)
    pyte.Stream(narrow).feed("\r\n".join(lines))
    return narrow


def shown(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display if line.strip()]


def fed(screen: pyte.Screen, text: str) -> list[str]:
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    return shown(screen)


def test_lines_come_above_it() -> None:
    line, screen = StandingLine(reflows=True), pyte.Screen(100, 8)
    assert fed(screen, line.drawn(["one"], "half", 100)) == ["one", "half"]
    assert fed(screen, line.drawn(["two"], "more", 100)) == ["one", "two", "more"]
    assert fed(screen, line.drawn([], "", 100)) == ["one", "two"]


@pytest.mark.parametrize("columns", [20, 40, 60, 61])
def test_a_narrower_terminal_keeps_nothing_of_the_line_that_it_broke(columns: int) -> None:
    line, screen = StandingLine(reflows=True), pyte.Screen(100, 12)
    fed(screen, line.drawn(["one", "two"], WORDS, 100))
    narrow = reflowed(screen, columns)
    seen = fed(narrow, line.drawn(["three"], WORDS, columns))
    assert seen[:3] == ["one", "two", "three"]
    assert len(seen) == 4
    assert len(seen[3]) < columns


def test_where_lines_are_cut_instead_none_above_is_lost() -> None:
    line, screen = StandingLine(reflows=False), pyte.Screen(100, 12)
    fed(screen, line.drawn(["one", "two"], WORDS, 100))
    screen.resize(12, 40)
    assert fed(screen, line.drawn(["three"], WORDS, 40))[:3] == ["one", "two", "three"]


def test_terminals_that_cut_lines_are_known() -> None:
    assert reflows({"TERM": "xterm-256color"})
    assert reflows({"TERM": "screen", "TMUX": "/tmp/x", "XTERM_VERSION": "XTerm(390)"})
    for cuts in ({"XTERM_VERSION": "XTerm(390)"}, {"TERM": "linux"}, {"STY": "1.pts"}):
        assert not reflows({"TERM": "xterm", **cuts})


def test_it_says_how_far_the_batches_are() -> None:
    tasks = [task(1, Status.DONE), task(2, Status.FAILED), task(3), task(4, Status.BLOCKED)]
    turns = [turn(3, TurnState.RUNNING), turn(4, TurnState.WAITING)]
    view = view_of(turns, tasks, [agent()], [batch("docs")])
    told = "2/4 1 running · 0 queued · 1 done · 1 failed · 1 waits for you"
    assert progress_words(view, ["docs"], 120) == f"━━━━━━━━━━━━──────────── {told}"
    assert progress_words(view, ["docs"], 60) == told
    assert progress_words(view, [], 60) == "1 running · 0 queued · 0 done · 1 waits for you"
