"""Status × agent: what runs and what waits in each cell, with the limits at the margins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from batchdeck.core.model.limit import GLOBAL, agent_limit, status_limit
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import LIVE, TurnState
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.limits import limit_cell
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.statuses import LANES

TOTAL = ""
"""The key of the row over all agents."""
LIMIT = "limit"
"""The key of the row with the limits of the lanes."""


class Crossing(NamedTuple):
    """How many run and wait for one agent in one lane; lane None: messages without a task."""

    running: int
    queued: int


Matrix = Mapping[tuple[str, Status | None], Crossing]


def matrix(view: DeckView) -> Matrix:
    """Every cell in which something runs or waits."""
    running: Counter[tuple[str, Status | None]] = Counter()
    queued: Counter[tuple[str, Status | None]] = Counter()
    for turn in view.turns.values():
        if turn.state is TurnState.QUEUED:
            queued[turn.agent, turn.lane] += 1
        elif turn.state in LIVE:
            running[turn.agent, turn.lane] += 1
    return {key: Crossing(running[key], queued[key]) for key in running.keys() | queued.keys()}


def matrix_keys(view: DeckView) -> tuple[str, ...]:
    """The rows: the limits of the lanes, all agents, then each."""
    return (LIMIT, TOTAL, *view.agents)


def matrix_row(key: str, cells: Matrix, scene: Scene) -> Row:
    """The cells of one row: name, each lane, messages, all."""
    if key == LIMIT:
        return _limits(scene)
    agents = tuple(scene.view.agents) if key == TOTAL else (key,)
    lanes = (*LANES, None)
    counted = [_sum(cells, agents, (lane,)) for lane in lanes]
    name = GLOBAL if key == TOTAL else agent_limit(key)
    used, limit = scene.view.running_by.get(name, 0), effective_limit(scene.view, name)
    margin = limit_cell(used, limit)
    margin = Cell(" ".join(margin.text.split()), margin.tone)  # its column is narrow
    label = Cell("all agents", Tone.MUTED) if key == TOTAL else Cell(key)
    return (label, *(_cell(crossing) for crossing in counted), margin)


def _limits(scene: Scene) -> Row:
    batches = scene.active_batches
    if len(batches) != 1:
        blank = [Cell("each batch" if batches else "", Tone.MUTED)] * len(LANES)
        return (Cell("limit", Tone.MUTED), *blank, Cell(""), Cell(""))
    names = [status_limit(batches[0].name, lane) for lane in LANES]
    values = [effective_limit(scene.view, name) for name in names]
    cells = (Cell(_limit_words(value), Tone.MUTED) for value in values)
    return (Cell("limit", Tone.MUTED), *cells, Cell(""), Cell(""))


def _limit_words(value: int | None) -> str:
    """One word: the column is narrow."""
    return "∞" if value is None else "closed" if value == 0 else str(value)


def _sum(cells: Matrix, agents: tuple[str, ...], lanes: tuple[Status | None, ...]) -> Crossing:
    found = [cells[key] for agent in agents for lane in lanes if (key := (agent, lane)) in cells]
    return Crossing(sum(c.running for c in found), sum(c.queued for c in found))


def _cell(crossing: Crossing) -> Cell:
    if not any(crossing):
        return Cell("·", Tone.MUTED)
    tone = Tone.RUNNING if crossing.running else Tone.QUEUED
    return Cell(f"{crossing.running}/{crossing.queued}", tone)
