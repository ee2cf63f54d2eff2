"""A queued turn as a row of the queue: who it is for, what it says, and what it waits for."""

from __future__ import annotations

from batchdeck.core.model.hold import is_for_editing
from batchdeck.core.model.turn import Turn
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.columns import ANY_WIDTH, Column
from batchdeck.tui.present.durations import waited
from batchdeck.tui.present.gates import reason_line
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.turns import turn_symbol, turn_tone

QUEUE_COLUMNS = (
    Column("", 1),
    Column("turn", 5),
    Column("task", 8, drop=2),
    Column("agent", 10),
    Column("asked by", 8, drop=4),
    Column("waits", 7, drop=3),
    Column("text", 12, drop=1, most=20),
    Column("for", 28, most=ANY_WIDTH),
)


def queue_row(turn: Turn, scene: Scene) -> Row:
    """The cells of the queue: symbol, turn, task, agent, trigger, time, text, reason."""
    tone = turn_tone(turn, scene)
    edited = is_for_editing(turn.held_by)
    task = scene.task_of(turn)
    reason = reason_line(scene.place(turn), scene.shut_gates(turn), scene.view.deck)
    return (
        Cell("✎" if edited else turn_symbol(turn, scene), tone),
        Cell(f"#{turn.id}"),
        Cell(scene.name_of(turn)),
        Cell(turn.agent),
        Cell(turn.trigger, Tone.MUTED),
        Cell(waited(scene.now_ms - turn.queued_ms)),
        Cell(turn.title or ("" if task is None else task.title)),
        Cell("being edited: not sent before that is saved" if edited else reason, tone),
    )
