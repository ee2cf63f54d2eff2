"""What each action does, given where the operator is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from batchdeck.core.commands import Drain, PutHold, ReleaseHold, RetryTask, StopTurn
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.turns import state_word, what

if TYPE_CHECKING:
    from batchdeck.tui.screens.acting import ActingScreen, Step

Deed = Callable[["ActingScreen", Standpoint], None]


def perform(screen: ActingScreen, action_id: str, at: Standpoint) -> None:
    """Does an action that is not off."""
    _DEEDS[action_id](screen, at)


def _open(screen: ActingScreen, at: Standpoint) -> None:
    if at.focus is Focus.TURNS and at.turn is not None:
        screen.deck_app.open_turn(at.turn.id)
        return
    if at.focus is Focus.STATUS and at.status is not None:
        batch = f" batch:{at.status.batch}" if len(screen.scene.active_batches) > 1 else ""
        screen.set_filter(f"status:{at.status.status}" + (batch if at.status.batch else ""))
    elif at.agent is not None:
        screen.set_filter(f"agent:{at.agent}")
    screen.go_to(Focus.TURNS)


def _message(screen: ActingScreen, at: Standpoint) -> None:
    app = screen.deck_app
    if at.focus is Focus.AGENTS and at.agent is not None:
        app.write_to(at.agent)
    elif at.turn is not None:
        app.write_to(f"c{at.turn.conversation}", at.turn)


def _why(screen: ActingScreen, at: Standpoint) -> None:
    if at.turn is not None:
        screen.deck_app.open_why(at.turn.id)


def _limit(step: Step) -> Deed:
    def change(screen: ActingScreen, at: Standpoint) -> None:
        if at.limit is not None:
            screen.change_limit(at.limit, step)

    return change


def _type(screen: ActingScreen, at: Standpoint) -> None:
    _limit(lambda change, view: change.typing(view, at.key))(screen, at)


def _stop(screen: ActingScreen, at: Standpoint) -> None:
    if at.turn is None:
        return
    turn, app = at.turn, screen.deck_app
    word, past = ("Cancel", "cancelled") if turn.state is TurnState.QUEUED else ("Stop", "stopped")
    name = f"#{turn.id} {screen.scene.name_of(turn)}"
    app.ask_first(
        f"{word} {name}?",
        f"{turn.agent}: {what(turn, screen.scene)}",
        word,
        lambda: app.carry_out(StopTurn(turn=turn.id), f"{name} is {past}"),
    )


def _retry(screen: ActingScreen, at: Standpoint) -> None:
    if at.turn is None or at.turn.task is None:
        return
    task = at.view.tasks[at.turn.task]
    screen.deck_app.carry_out(RetryTask(task=task.name), f"{task.key} is queued again")


def _hold(screen: ActingScreen, at: Standpoint) -> None:
    if at.focus is Focus.AGENTS:
        what_to_hold, name = f"agent:{at.agent}", f"agent {at.agent}"
        is_held = what_to_hold in at.view.holds
    elif at.turn is not None:
        what_to_hold, name = f"turn:{at.turn.id}", f"#{at.turn.id}"
        is_held = _is_held(at, at.turn)
    else:
        return
    _put_or_release(screen, what_to_hold, name, is_held)


def _is_held(at: Standpoint, turn: Turn) -> bool:
    # releasing a turn authorises it too
    return turn.held_by is not None or not turn.authorised or f"turn:{turn.id}" in at.view.holds


def _put_or_release(screen: ActingScreen, what_to_hold: str, name: str, is_held: bool) -> None:
    app = screen.deck_app
    if is_held:
        app.carry_out(ReleaseHold(what=what_to_hold), f"{name} is released")
    else:
        app.carry_out(PutHold(what=what_to_hold), f"{name} is held: h releases it")


def _hold_deck(screen: ActingScreen, at: Standpoint) -> None:
    app = screen.deck_app
    if "deck" in at.view.holds:
        app.carry_out(ReleaseHold(what="deck"), "the deck is released")
    else:
        app.carry_out(PutHold(what="deck"), "the deck is held, nothing new starts: p releases it")


def _drain(screen: ActingScreen, at: Standpoint) -> None:
    words = (
        "the deck admits turns again"
        if at.view.draining
        else "draining: nothing new starts; d admits again"
    )
    screen.deck_app.carry_out(Drain(on=not at.view.draining), words)


def _copy(screen: ActingScreen, at: Standpoint) -> None:
    marked = screen.get_selected_text()
    if marked:
        screen.deck_app.copy(marked, "what is marked")
    elif at.turn is not None and at.focus in (Focus.TURNS, Focus.OUTPUT):
        scene, turn = screen.scene, at.turn
        line = f"#{turn.id} {scene.name_of(turn)} {turn.agent} {state_word(turn, scene)}"
        screen.deck_app.copy(f"{line}  {what(turn, scene)}", f"#{turn.id}")
    elif at.focus is Focus.AGENTS and at.agent is not None:
        screen.deck_app.copy(at.agent, at.agent)
    else:
        screen.say("copy: there is nothing to copy here", Tone.ALERT)


_DEEDS: dict[str, Deed] = {
    "open": _open,
    "message": _message,
    "why": _why,
    "limit.raise": _limit(lambda change, view: change.stepped(view, 1)),
    "limit.lower": _limit(lambda change, view: change.stepped(view, -1)),
    "limit.type": _type,
    "limit.none": _limit(lambda change, view: change.without_limit(view)),
    "stop": _stop,
    "hold": _hold,
    "retry": _retry,
    "needs": lambda screen, at: screen.deck_app.open_needs(),
    "filter": lambda screen, at: screen.ask_filter(),
    "events": lambda screen, at: screen.deck_app.open_events(),
    "copy": _copy,
    "deck.hold": _hold_deck,
    "deck.drain": _drain,
    "palette": lambda screen, at: screen.deck_app.action_command_palette(),
    "help": lambda screen, at: screen.deck_app.open_help(at.focus),
    "next_part": lambda screen, at: screen.go_on(1),
    "previous_part": lambda screen, at: screen.go_on(-1),
    "back": lambda screen, at: screen.go_back(),
    "leave": lambda screen, at: screen.deck_app.leave(),
}
