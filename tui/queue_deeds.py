"""Queue surgery: moving, editing, merging, giving to another agent, and sending now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchdeck.core.commands import MergeTurns, MoveTurn, RetargetTurn, SendNow
from batchdeck.core.rules.consequences import answer_for
from batchdeck.core.rules.reordering import Where
from batchdeck.core.text import counted
from batchdeck.tui.action import Standpoint
from batchdeck.tui.deed import Deed
from batchdeck.tui.present.block_moves import movable
from batchdeck.tui.present.busy import force_line
from batchdeck.tui.present.cells import Tone
from batchdeck.tui.screens.pick_agent import PickAgentScreen

if TYPE_CHECKING:
    from batchdeck.tui.screens.acting import ActingScreen


def _move(where: Where) -> Deed:
    side = "up" if where is Where.UP else "down"

    def move(screen: ActingScreen, at: Standpoint) -> None:
        turns = _to_move(screen, at, where)
        if not turns:
            screen.say(f"move {side}: nothing of {at.chosen[0].agent}'s is further {side}")
            return
        screen.expect_order()
        commands = [MoveTurn(turn=turn, where=where) for turn in turns]
        if len(commands) == 1:
            screen.deck_app.carry_out(commands[0])
        else:
            screen.deck_app.carry_out_all(commands, f"turns are moved {side}")

    return move


def _to_move(screen: ActingScreen, at: Standpoint, where: Where) -> list[int]:
    chosen = {turn.id for turn in at.chosen}
    moving: list[int] = []
    for agent in dict.fromkeys(turn.agent for turn in at.chosen):
        queue = screen.scene.queues.in_order(agent.__eq__)
        moving += movable(queue, chosen, where)
    return moving


def _merge(screen: ActingScreen, at: Standpoint) -> None:
    turns = tuple(turn.id for turn in at.marked)
    app = screen.deck_app

    def merge() -> None:
        app.carry_out(MergeTurns(turns=turns), f"{len(turns)} messages are one")
        screen.unmark()

    app.ask_first(
        f"Merge {len(turns)} messages?",
        f"They become one text, at the place of #{turns[0]}. This cannot be taken back.",
        "Merge",
        merge,
    )


def _retarget(screen: ActingScreen, at: Standpoint) -> None:
    turns, app = at.chosen, screen.deck_app
    about = f"#{turns[0].id}" if len(turns) == 1 else counted(len(turns), "turn")

    def then(agent: str | None) -> None:
        if agent is None:
            return
        commands = [RetargetTurn(turn=turn.id, agent=agent) for turn in turns]
        if len(commands) == 1:
            app.carry_out(commands[0], f"{about} goes to {agent}")
        else:
            app.carry_out_all(commands, f"turns go to {agent}")
        screen.unmark()

    app.open(PickAgentScreen(f"give {about} to"), then)


def _send_now(screen: ActingScreen, at: Standpoint) -> None:
    turn, app = at.turn, screen.deck_app
    if turn is None:
        return
    answer = answer_for(at.view, turn, screen.scene.now_ms)
    if not answer.free and not answer.passable:
        screen.say(force_line(answer, at.view.deck), Tone.ALERT)
        return
    passing = frozenset(gate.name for gate in answer.gates)
    command = SendNow(turn=turn.id, passing=passing)
    if answer.free:
        app.carry_out(command, f"#{turn.id} is started")
        return
    app.ask_first(
        f"Send #{turn.id} {screen.scene.name_of(turn)} now?",
        force_line(answer, at.view.deck),
        "Send now",
        lambda: app.carry_out(command, f"#{turn.id} is started"),
    )


QUEUE_DEEDS: dict[str, Deed] = {
    "queue.up": _move(Where.UP),
    "queue.down": _move(Where.DOWN),
    "queue.merge": _merge,
    "queue.retarget": _retarget,
    "queue.now": _send_now,
}
