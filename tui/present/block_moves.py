"""Several turns moved one place: which of them go, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from batchdeck.core.rules.reordering import Where


def movable(queue: Iterable[int], chosen: Collection[int], where: Where) -> list[int]:
    """The chosen turns of one agent's queue that can go one place up or down, the first first.

    Those that stand at the end already stay, and so do those right behind them: a block keeps
    its order.
    """
    stuck, moving = True, []
    for turn in queue if where is Where.UP else reversed(list(queue)):
        if turn not in chosen:
            stuck = False
        elif not stuck:
            moving.append(turn)
    return moving
