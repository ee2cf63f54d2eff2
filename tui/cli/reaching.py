"""Gets a command to whoever holds the deck: over its socket, or here where nobody does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from batchdeck.core.commands import Command, Receipt
from batchdeck.core.control.wire import receipt_document
from batchdeck.core.errors import DeckHeld, NoSupervisor

if TYPE_CHECKING:
    from batchdeck.tui.cli.context import Context, Opening


def submit(context: Context, command: Command, *, offline: bool) -> tuple[int, dict[str, Any]]:
    """Exit code and document of the answer.

    Raises:
        NoSupervisor: nobody dispatches, and this needs somebody who does.
    """
    paths = context.paths
    if context.doors.holder(paths.lock) is not None:
        return _over_the_socket(context, command)
    if not offline:
        raise NoSupervisor(
            f"Nobody dispatches the deck at {paths.root}. Start it with batchdeck or batchdeck run."
        )
    try:
        receipt = anyio.run(_here, context, command)
    except DeckHeld:  # a supervisor was quicker
        return _over_the_socket(context, command)
    document = receipt_document(receipt)
    if receipt.accepted:
        document["supervised"] = False
    return receipt.exit_code, document


def _over_the_socket(context: Context, command: Command) -> tuple[int, dict[str, Any]]:
    from batchdeck.core.control.client import call

    answer = call(context.paths.socket, command)
    return answer.exit_code, answer.document


async def _here(context: Context, command: Command) -> Receipt:
    """What a command comes to; of one that is refused, no deck is left that was not there."""
    from batchdeck.tui.cli.context import Opening

    opening = Opening(dispatch=False)
    if not context.paths.database.exists():
        receipt = await _carried_out(context, command, replace(opening, rehearse=True))
        if not receipt.accepted:
            return receipt
    return await _carried_out(context, command, opening)


async def _carried_out(context: Context, command: Command, opening: Opening) -> Receipt:
    async with context.doors.open_deck(context.paths, opening) as deck:
        return await deck.submit(command)
