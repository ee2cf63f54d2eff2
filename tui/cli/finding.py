"""Finds in a view what a person named."""

from __future__ import annotations

from collections.abc import Iterable

from batchdeck.core.errors import Ambiguous, BadInput, NotFound
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.task import Task
from batchdeck.core.text import did_you_mean, number_in
from batchdeck.core.view import DeckView


def turn_number(name: str) -> int | None:
    """The number in `#412`; None: it names something else."""
    return number_in(name[1:]) if name.startswith("#") else None


def needed_turn_number(name: str) -> int:
    """The number in `#412` or `412`.

    Raises:
        BadInput: it is neither.
    """
    number = number_in(name.removeprefix("#"))
    if number is None:
        raise BadInput(f"{name!r} is not a turn; give its number, as in #412.")
    return number


def check_known(kind: str, name: str | None, known: Iterable[str]) -> None:
    """Refuses the name of something that is not on this deck.

    Raises:
        NotFound: with the nearest name there is.
    """
    names = sorted(known)
    if name is not None and name not in names:
        near = did_you_mean(name, names) or "."
        listed = f" There are: {', '.join(names[:20])}." if names else ""
        raise NotFound(f"There is no {kind} {name!r}{near}{listed}")


def named_turn(view: DeckView, name: str) -> tuple[int | None, Task | None]:
    """The number of the turn that TASK|TURN names, and its task where the view has it.

    `#412` is always a turn. Without the sign a task of that name comes first; the number is None
    where that one has had no turn yet.

    Raises:
        NotFound, Ambiguous: it names none.
    """
    number = turn_number(name)
    if number is None and not any(name in (task.key, task.name) for task in view.tasks.values()):
        number = number_in(name)
    if number is None:
        task = one_task(view, name)
        return task.turn, task
    turn = view.turns.get(number)
    return number, None if turn is None or turn.task is None else view.tasks.get(turn.task)


def needed_turn(view: DeckView, name: str) -> int:
    """As `named_turn`, for a turn that must be there.

    Raises:
        NotFound, Ambiguous: it names none, or a task that has had none.
    """
    number, task = named_turn(view, name)
    if number is None:
        subject = name if task is None else task.key
        raise NotFound(f"{subject} has had no turn yet.")
    return number


def one_task(view: DeckView, name: str) -> Task:
    """A task by `BATCH/TASK`, or by its bare key where that is unambiguous.

    Raises:
        NotFound: none of that name.
        Ambiguous: several batches have one.
    """
    found = [task for task in view.tasks.values() if name in (task.key, task.name)]
    if len(found) > 1:
        active = [t for t in found if view.batches[t.batch].state is BatchState.RUNNING]
        found = active if len(active) == 1 else found
    if not found:
        raise NotFound(f"There is no task {name!r} on this deck; batchdeck tasks lists them.")
    if len(found) > 1:
        options = ", ".join(task.name for task in found)
        raise Ambiguous(f"{name!r} is in several batches; say which: {options}.")
    return found[0]
