"""What each action does, given where the operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchdeck.core.commands import Drain, PutHold, Reconcile, ReleaseHold
from batchdeck.tui.action import Focus, Standpoint
from batchdeck.tui.deed import Deed
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.turns import state_word, what
from batchdeck.tui.queue_deeds import QUEUE_DEEDS
from batchdeck.tui.turn_deeds import TURN_DEEDS

if TYPE_CHECKING:
    from batchdeck.tui.screens.acting import ActingScreen, Step


def perform(screen: ActingScreen, action_id: str, at: Standpoint) -> None:
    """Does an action that is not off."""
    _DEEDS[action_id](screen, at)


def _open(screen: ActingScreen, at: Standpoint) -> None:
    if at.focus is Focus.QUEUE and at.turn is not None:
        screen.edit(at.turn)
        return
    if at.focus in (Focus.TURNS, Focus.ITEMS) and at.turn is not None:
        screen.deck_app.open_turn(at.turn.id)
        return
    if at.focus is Focus.STATUS and at.status is not None:
        batch = f" batch:{at.status.batch}" if len(screen.scene.active_batches) > 1 else ""
        screen.set_filter(f"status:{at.status.status}" + (batch if at.status.batch else ""))
    elif at.agent is not None:
        screen.set_filter(f"agent:{at.agent}")
    screen.go_to(Focus.TURNS)


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


def _reconcile(screen: ActingScreen, at: Standpoint) -> None:
    app = screen.deck_app
    screen.say("reconcile: looking …")
    app.submit(Reconcile(), lambda receipt: app.tell(receipt, receipt.message))


def _edit_agent(screen: ActingScreen, at: Standpoint) -> None:
    agent = at.view.agents.get(at.agent or "")
    if agent is not None:
        screen.deck_app.open_agent(agent)


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


def _open_named(action_id: str) -> Deed:
    return lambda screen, at: screen.deck_app.open_named(action_id)


_DEEDS: dict[str, Deed] = {
    "open": _open,
    "why": _why,
    "limits": _open_named("limits"),
    "limit.raise": _limit(lambda change, view: change.stepped(view, 1)),
    "limit.lower": _limit(lambda change, view: change.stepped(view, -1)),
    "limit.type": _type,
    "limit.none": _limit(lambda change, view: change.without_limit(view)),
    "needs": _open_named("needs"),
    "filter": lambda screen, at: screen.ask_filter(),
    "events": _open_named("events"),
    "copy": _copy,
    "deck.hold": _hold_deck,
    "deck.drain": _drain,
    "reconcile": _reconcile,
    "palette": lambda screen, at: screen.deck_app.action_command_palette(),
    "agent.edit": _edit_agent,
    "agent.add": lambda screen, at: screen.deck_app.open_agent(None),
    "help": lambda screen, at: screen.deck_app.open_help(at.focus),
    "next_part": lambda screen, at: screen.go_on(1),
    "previous_part": lambda screen, at: screen.go_on(-1),
    "back": lambda screen, at: screen.go_back(),
    "leave": lambda screen, at: screen.deck_app.leave(),
    "undo": lambda screen, at: screen.deck_app.undo(),
    "queue": _open_named("queue"),
    "time.back": lambda screen, at: screen.deck_app.travel(-1),
    "time.on": lambda screen, at: screen.deck_app.travel(1),
    "folders": _open_named("folders"),
    "matrix": _open_named("matrix"),
    "items": _open_named("items"),
    "permissions": _open_named("permissions"),
    **TURN_DEEDS,
    **QUEUE_DEEDS,
}
