"""Every limit as a row: used, limit, what waits behind it, and who changed it last."""

from __future__ import annotations

from collections.abc import Iterator

from batchdeck.core.model.limit import (
    ATTENTION,
    GLOBAL,
    agent_limit,
    batch_limit,
    items_limit,
    outstanding_limit,
    status_limit,
)
from batchdeck.core.rules.limits import effective_limit
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.durations import ago
from batchdeck.tui.present.limit_change import LimitChange, limit_cell_of
from batchdeck.tui.present.limits import queued_under, used_under
from batchdeck.tui.present.scene import active_batches
from batchdeck.tui.present.statuses import LANES


def limit_names_shown(view: DeckView) -> Iterator[str]:
    """The full names of all limits there are, the widest first."""
    yield GLOBAL
    yield ATTENTION
    batches = [batch.name for batch in active_batches(view)]
    known = [name for name in view.limits if name.startswith(("batch:", "status:"))]
    yield from dict.fromkeys(batch_limit(name) for name in batches)
    lanes = [status_limit(batch, status) for batch in batches for status in LANES]
    yield from lanes
    for batch in view.items:
        yield items_limit(batch)
        yield outstanding_limit(batch)
    yield from (agent_limit(name) for name in view.agents)
    # those of batches that have ended stay in force, and may be wanted again
    active = {batch_limit(name) for name in batches} | set(lanes)
    yield from (name for name in known if name not in active)


def limit_row(name: str, view: DeckView, now_ms: int, change: LimitChange | None = None) -> Row:
    """The cells of the limits' table: what, name, used and limit, behind it, changed, by."""
    kind, _, rest = name.partition(":")
    limit = effective_limit(view, name)
    used, behind = used_under(view, name), queued_under(view, name)
    changed, by = _last_change(name, view, now_ms)
    return (
        Cell(kind, Tone.MUTED),
        Cell(rest or _WHOLE[kind]),
        limit_cell_of(name, change, used, limit, *_notes(name, view)),
        Cell("" if name == ATTENTION else str(behind), Tone.PLAIN if behind else Tone.MUTED),
        Cell(changed, Tone.MUTED),
        Cell(by, Tone.MUTED),
    )


_WHOLE = {GLOBAL: "the whole deck", ATTENTION: "waiting for you"}


def _notes(name: str, view: DeckView) -> list[str]:
    kind, _, rest = name.partition(":")
    agent = view.agents.get(rest) if kind == "agent" else None
    return ["serial"] if agent is not None and agent.one_at_a_time else []


def _last_change(name: str, view: DeckView, now_ms: int) -> tuple[str, str]:
    stored = view.limits.get(name)
    if stored is None:
        return "", "none set"
    when = ago(now_ms - stored.changed_ms) if stored.changed_ms else ""
    origin = "" if stored.origin in ("screen", "") else f"from {stored.origin}"
    return when, ", ".join(part for part in (stored.changed_by, origin) if part)
