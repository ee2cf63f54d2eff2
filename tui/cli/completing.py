"""What the shell may complete: names that are on the deck at this moment.

eval "$(_BATCHDECK_COMPLETE=bash_source batchdeck)"      # or zsh_source, fish_source
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from batchdeck.core.errors import BatchdeckError
from batchdeck.core.model.task import Status
from batchdeck.core.text import clean_line
from batchdeck.core.view import DeckView

MOST = 500
"""More than so many are no help, and slow in a shell."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _from_deck(names: Callable[[DeckView], Iterable[tuple[str, str]]]) -> Complete:
    """Completes names, each with a word about it; a deck that cannot be read has none."""

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            with context.find_root().obj.look() as look:
                found = list(names(look.view()))
        except BatchdeckError:
            return []
        return [
            CompletionItem(name, help=clean_line(about, 60))
            for name, about in found
            if name.startswith(incomplete)
        ][:MOST]

    return complete


def _agents(view: DeckView) -> Iterable[tuple[str, str]]:
    return ((agent.name, str(agent.kind)) for agent in view.agents.values())


def _batches(view: DeckView) -> Iterable[tuple[str, str]]:
    return ((batch.name, batch.state.replace("_", " ")) for batch in view.batches.values())


def _tasks(view: DeckView) -> Iterable[tuple[str, str]]:
    return ((task.key, f"{task.status} {task.title}") for task in view.tasks.values())


def _turns(view: DeckView) -> Iterable[tuple[str, str]]:
    """Bare numbers: a shell takes `#` for a comment."""
    return (
        (str(turn.id), f"{turn.state} {turn.agent} {turn.title}")
        for turn in view.turns.values()
        if turn.ended_ms is None
    )


def _limits(view: DeckView) -> Iterable[tuple[str, str]]:
    return (
        (f"{name}=", "none" if limit.value is None else str(limit.value))
        for name, limit in view.limits.items()
    )


def _what_can_be_held(view: DeckView) -> Iterable[tuple[str, str]]:
    yield "deck", view.mode
    for name, kind in _agents(view):
        yield f"agent:{name}", kind
    for name, state in _batches(view):
        yield f"batch:{name}", state
    yield from ((f"turn:{number}", about) for number, about in _turns(view))


def _asks(view: DeckView) -> Iterable[tuple[str, str]]:
    return ((str(ask.id), ask.headline) for ask in view.asks.values())


def _allowances(view: DeckView) -> Iterable[tuple[str, str]]:
    return ((str(one.id), f"{one.agent}: {one.covers}") for one in view.allowances.values())


agents = _from_deck(_agents)
batches = _from_deck(_batches)
tasks = _from_deck(_tasks)
turns = _from_deck(_turns)
tasks_and_turns = _from_deck(lambda view: [*_tasks(view), *_turns(view)])
addressees = _from_deck(lambda view: [*_agents(view), *_tasks(view)])
limits = _from_deck(_limits)
what_can_be_held = _from_deck(_what_can_be_held)
asks = _from_deck(_asks)
allowances = _from_deck(_allowances)


def statuses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The statuses that a task may have."""
    return [CompletionItem(status) for status in Status if status.startswith(incomplete.upper())]
