"""What is done to turns: to the one under the cursor, or to all that are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from batchdeck.core.commands import Command, PutHold, ReleaseHold, RetryTask, StopTurn
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.text import counted
from batchdeck.core.view import DeckView
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.deed import Deed
from batchdeck.tui.present.turns import what
from batchdeck.tui.questions import to_block
from batchdeck.tui.reasons import holdable, retryable, stoppable
from batchdeck.tui.screens.answer import AnswerScreen

if TYPE_CHECKING:
    from batchdeck.tui.screens.acting import ActingScreen


def message(screen: ActingScreen, at: Standpoint) -> None:
    app = screen.deck_app
    if at.focus is Focus.AGENTS and at.agent is not None:
        app.write_to(at.agent)
    elif at.turn is not None:
        app.write_to(f"c{at.turn.conversation}", at.turn)


def stop(screen: ActingScreen, at: Standpoint) -> None:
    turns = [turn for turn in at.chosen if stoppable(turn, at.view)]
    app = screen.deck_app
    if len(turns) == 1:
        _stop_one(screen, turns[0])
        return
    running = sum(turn.state is not TurnState.QUEUED for turn in turns)
    word = "Delete" if at.focus is Focus.QUEUE else "Stop"
    app.ask_first(
        f"{word} {counted(len(turns), 'turn')}?",
        f"{running} of them run; {len(turns) - running} are only queued.",
        f"{word} {len(turns)}",
        lambda: _finish(screen, [_stopping(turn) for turn in turns], "turns are stopped"),
    )


def _stop_one(screen: ActingScreen, turn: Turn) -> None:
    queued = turn.state is TurnState.QUEUED
    word, past = ("Cancel", "cancelled: u takes that back") if queued else ("Stop", "stopped")
    name = f"#{turn.id} {screen.scene.name_of(turn)}"
    app = screen.deck_app
    app.ask_first(
        f"{word} {name}?",
        f"{turn.agent}: {what(turn, screen.scene)}",
        word,
        lambda: app.carry_out(_stopping(turn), f"{name} is {past}"),
    )


def _stopping(turn: Turn) -> Command:
    # one that has started meanwhile was not what the question was about
    return StopTurn(turn=turn.id, only_queued=turn.state is TurnState.QUEUED)


def retry(screen: ActingScreen, at: Standpoint) -> None:
    names = [_task_name(turn, at.view) for turn in at.chosen if retryable(turn, at.view)]
    commands = [RetryTask(task=name) for name in names]
    if len(commands) == 1:
        key = names[0].partition("/")[2]
        screen.deck_app.carry_out(commands[0], f"{key} is queued again")
    else:
        _finish(screen, commands, "tasks are queued again")


def _task_name(turn: Turn, view: DeckView) -> str:
    return "" if turn.task is None else view.tasks[turn.task].name


def hold(screen: ActingScreen, at: Standpoint) -> None:
    if at.focus is Focus.AGENTS:
        name = f"agent:{at.agent}"
        _put_or_release(screen, name, f"agent {at.agent}", name in at.view.holds)
        return
    turns = [turn for turn in at.chosen if holdable(turn, at.view)]
    if len(turns) == 1:
        turn = turns[0]
        _put_or_release(screen, f"turn:{turn.id}", f"#{turn.id}", is_held(turn, at.view))
        return
    # several: released only where all of them are held
    free = [turn for turn in turns if not is_held(turn, at.view)]
    if free:
        _finish(screen, [PutHold(what=f"turn:{turn.id}") for turn in free], "turns are held")
    else:
        released = [ReleaseHold(what=f"turn:{turn.id}") for turn in turns]
        _finish(screen, released, "turns are released")


def is_held(turn: Turn, view: DeckView) -> bool:
    # releasing a turn authorises it too
    return turn.held_by is not None or not turn.authorised or f"turn:{turn.id}" in view.holds


def _put_or_release(screen: ActingScreen, what_to_hold: str, name: str, held: bool) -> None:
    app = screen.deck_app
    if held:
        app.carry_out(ReleaseHold(what=what_to_hold), f"{name} is released")
    else:
        app.carry_out(PutHold(what=what_to_hold), f"{name} is held: h releases it")


def _finish(screen: ActingScreen, commands: Sequence[Command], done: str) -> None:
    screen.deck_app.carry_out_all(commands, done)
    screen.unmark()


def block(screen: ActingScreen, at: Standpoint) -> None:
    """Asks what the task waits for, and keeps it from starting until somebody has answered."""
    task = None if at.turn is None or at.turn.task is None else at.view.tasks.get(at.turn.task)
    if task is None:
        return
    screen.deck_app.open(AnswerScreen(to_block(task)))


TURN_DEEDS: dict[str, Deed] = {
    "message": message,
    "stop": stop,
    "hold": hold,
    "retry": retry,
    "block": block,
    "sort": lambda screen, at: screen.sort(),
    "mark": lambda screen, at: screen.mark(),
    "mark.all": lambda screen, at: screen.mark_all(),
}
