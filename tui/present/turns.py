"""A turn as a row: symbol, names, state, time, and what it does or waits for."""

from __future__ import annotations

from batchdeck.core.model.turn import ENDED, LIVE, Turn, TurnState
from batchdeck.core.text import counted
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.durations import ago, rough, stopwatch, waited
from batchdeck.tui.present.gates import reason_line
from batchdeck.tui.present.scene import Scene

SYMBOLS: dict[TurnState, str] = {
    TurnState.QUEUED: "◷",
    TurnState.RUNNING: "▶",
    TurnState.STOPPING: "■",
    TurnState.WAITING: "?",
    TurnState.SUCCEEDED: "✓",
    TurnState.FAILED: "✗",
    TurnState.INCOMPLETE: "◐",
    TurnState.CANCELLED: "⊘",
    TurnState.LOST: "!",
    TurnState.SUPERSEDED: "»",
}
HELD = "‖"
ASKS = "?"

_TONES: dict[TurnState, Tone] = {
    TurnState.QUEUED: Tone.QUEUED,
    TurnState.RUNNING: Tone.RUNNING,
    TurnState.STOPPING: Tone.ALERT,
    TurnState.WAITING: Tone.NEEDS,
    TurnState.SUCCEEDED: Tone.DONE,
    TurnState.FAILED: Tone.FAILED,
    TurnState.INCOMPLETE: Tone.FAILED,
    TurnState.CANCELLED: Tone.MUTED,
    TurnState.LOST: Tone.NEEDS,
    TurnState.SUPERSEDED: Tone.MUTED,
}


def turn_row(turn: Turn, scene: Scene) -> Row:
    """The cells of the turns' table: symbol, turn, task, agent, state, lane, time, what."""
    tone = turn_tone(turn, scene)
    return (
        Cell(turn_symbol(turn, scene), tone),
        Cell(f"#{turn.id}"),
        Cell(scene.name_of(turn)),
        Cell(turn.agent + (" !" if turn.forced and turn.state in LIVE else "")),
        Cell(state_word(turn, scene), tone),
        Cell(turn.lane or ""),
        Cell(turn_time(turn, scene)),
        Cell(what(turn, scene), Tone.NEEDS if tone is Tone.NEEDS else Tone.PLAIN),
    )


def turn_symbol(turn: Turn, scene: Scene) -> str:
    if turn.id in scene.asks_by_turn:
        return ASKS
    return HELD if _is_held(turn, scene) else SYMBOLS[turn.state]


def turn_tone(turn: Turn, scene: Scene) -> Tone:
    if turn.id in scene.asks_by_turn:
        return Tone.NEEDS
    return Tone.HELD if _is_held(turn, scene) else _TONES[turn.state]


def state_word(turn: Turn, scene: Scene) -> str:
    """The state; a running turn that asks something says so."""
    if turn.state in LIVE and turn.id in scene.asks_by_turn:
        return "asks"
    return "held" if _is_held(turn, scene) else turn.state.value


def _is_held(turn: Turn, scene: Scene) -> bool:
    if turn.state is not TurnState.QUEUED:
        return False
    return turn.held_by is not None or f"turn:{turn.id}" in scene.view.holds


def turn_time(turn: Turn, scene: Scene) -> str:
    """How long it runs or ran, to the second; how long it waits for a slot or a person, roughly."""
    now_ms = scene.now_ms
    if turn.state is TurnState.QUEUED:
        return waited(now_ms - turn.queued_ms)
    ask = scene.asks_by_turn.get(turn.id)
    if turn.state is TurnState.WAITING and ask is not None:
        return waited(now_ms - ask.opened_ms)
    started = turn.queued_ms if turn.started_ms is None else turn.started_ms
    if turn.state not in ENDED:
        return stopwatch(now_ms - started)
    if turn.ended_ms is None or turn.started_ms is None:
        return ""
    return stopwatch(turn.ended_ms - started)


def what(turn: Turn, scene: Scene) -> str:
    """What it does, waits for, or came to; its title last, where there is room."""
    ask = scene.asks_by_turn.get(turn.id)
    if ask is not None:
        return f"asks: {ask.headline}"
    if turn.state is TurnState.QUEUED:
        reason = reason_line(scene.place(turn), scene.shut_gates(turn), scene.view.deck)
        return f"{reason} · {turn.title}" if turn.title else reason
    if turn.state in LIVE:
        return _doing(turn, scene)
    return _outcome(turn)


def _doing(turn: Turn, scene: Scene) -> str:
    parts = [_forced_words(turn)] if turn.forced else []
    pulse = scene.view.pulses.get(turn.id)
    if turn.state is TurnState.STOPPING:
        left = None if pulse is None else pulse.processes
        parts.append("is being stopped" if left is None else f"stopping ({left} left)")
    if pulse is None or not pulse.lines:
        words = " · ".join([*parts, "no output yet"])
        return f"{words}: {turn.title}" if turn.title else words
    silence = scene.now_ms - pulse.at_ms
    agent = scene.view.agents.get(turn.agent)
    if agent is not None and silence > agent.quiet_seconds * 1_000:
        parts.append(f"quiet for {rough(silence)}")
    else:
        parts.append(f"{counted(pulse.lines, 'line')}, last {ago(silence)}")
    return f"{' · '.join(parts)}: {pulse.last_line or turn.title}"


def _forced_words(turn: Turn) -> str:
    by = f" by {turn.forced_by}" if turn.forced_by else ""
    return f"forced past {', '.join(turn.forced)}{by}"


def _outcome(turn: Turn) -> str:
    parts = [part for part in (turn.error, turn.title) if part]
    if turn.exit_code:
        parts.insert(0, f"exit {turn.exit_code}")
    return " · ".join(parts)
