"""The rows of the agents' table: slots, queue, tally and the activity of the last minute."""

from __future__ import annotations

from batchdeck.core.model.account import account_of
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.budget import Spent
from batchdeck.core.model.limit import agent_limit
from batchdeck.core.rules.limits import effective_agent_limit
from batchdeck.core.view import AgentTally, DeckView
from batchdeck.tui.present.activity import activity_bar, slice_counts
from batchdeck.tui.present.budgets import spent_words
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.durations import rough
from batchdeck.tui.present.limit_change import LimitChange, limit_cell_of

BAR_WIDTH = 12
_NO_TALLY = AgentTally()


def agent_rows(
    view: DeckView, now_ms: int, bars: bool = True, change: LimitChange | None = None
) -> dict[str, Row]:
    """Rows by the agent's name: agent, kind, running, queued, done, failed, last minute, used."""
    most = _most_at_once(view, now_ms) if bars else 0
    return {
        agent.name: _agent_row(view, agent, now_ms, most, change)
        for agent in view.agents.values()
        if agent.name
    }


def _agent_row(
    view: DeckView, agent: Agent, now_ms: int, most: int, change: LimitChange | None
) -> Row:
    name = agent_limit(agent.name)
    tally = view.agent_tallies.get(agent.name, _NO_TALLY)
    used, limit = view.running_by.get(name, 0), effective_agent_limit(view, agent.name)
    return (
        Cell(agent.name),
        Cell(agent.kind.value, Tone.MUTED),
        limit_cell_of(name, change, used, limit, *_notes(view, agent, now_ms)),
        _count(view.queued_by.get(name, 0)),
        _count(tally.done),
        Cell(str(tally.failed), Tone.FAILED if tally.failed else Tone.MUTED),
        Cell(_bar(tally, now_ms, most), Tone.RUNNING),
        Cell(spent_words(view.spent.get(name, Spent())), Tone.MUTED),
    )


def _bar(tally: AgentTally, now_ms: int, most: int) -> str:
    return activity_bar(tally.recent_ms, now_ms, BAR_WIDTH, most) if most else ""


def _notes(view: DeckView, agent: Agent, now_ms: int) -> list[str]:
    notes = ["held"] if f"agent:{agent.name}" in view.holds else []
    notes += account_notes(view, account_of(agent), now_ms)
    if agent.one_at_a_time:
        notes.append("serial")
    return notes


def account_notes(view: DeckView, account: str, now_ms: int) -> list[str]:
    """What an agent waits for because of its account: `account held`, `cools 4 min`, `tries`."""
    notes = ["account held"] if f"account:{account}" in view.holds else []
    cooldown = view.cooldowns.get(account)
    if cooldown is None:
        return notes
    left = cooldown.until_ms - now_ms
    return [*notes, f"cools {rough(left)}" if left > 0 else "tries its account"]


def _count(number: int) -> Cell:
    return Cell(str(number), Tone.PLAIN if number else Tone.MUTED)


def _most_at_once(view: DeckView, now_ms: int) -> int:
    """The fullest slice of all bars, so that they are drawn to one scale."""
    tallies = view.agent_tallies.values()
    return max(
        (max(slice_counts(tally.recent_ms, now_ms, BAR_WIDTH)) for tally in tallies), default=1
    )
