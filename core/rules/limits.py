"""Limits as they bind: the stored number, its default and its cap."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.limit import (
    ATTENTION,
    DEFAULT_GLOBAL,
    GLOBAL,
    items_limit,
    outstanding_limit,
    read_status,
    status_limit,
)
from batchdeck.core.model.task import Status
from batchdeck.core.view import DeckView

_MOST_NAMED = 20
_NONE: Mapping[str, int | None] = MappingProxyType({})
UNSUPPORTED = "agent_parallelism_limit_unsupported"


def effective_agent_limit(view: DeckView, agent: str) -> int:
    """How many turns of `agent` may run at once: 1 for one that cannot run two."""
    stored = view.limits.get(f"agent:{agent}")
    number = None if stored is None else stored.value
    if number is None:
        number = view.parallelism_limit_cap
    definition = view.agents.get(agent)
    if definition is not None and definition.one_at_a_time:
        return min(number, 1)
    return number


def effective_limit(view: DeckView, name: str) -> int | None:
    """The number in force under a limit's full name; None: the next wider limit applies."""
    if name.startswith("agent:"):
        return effective_agent_limit(view, name.removeprefix("agent:"))
    stored = view.limits.get(name)
    if stored is not None:
        return stored.value
    return DEFAULT_GLOBAL if name == GLOBAL else None


def full_limit_name(view: DeckView, name: str) -> str:
    """The full name of what a person wrote: `status:ready` becomes `status:docs/READY`.

    Raises:
        BadInput: no such limit, or a status without a batch while several are active.
    """
    if name in (GLOBAL, ATTENTION):
        return name
    kind, _, rest = name.partition(":")
    if kind == "agent" and rest in view.agents:
        return name
    if kind == "batch" and rest in view.batches:
        return name
    if kind == "items" and rest.removesuffix("/outstanding") in view.items:
        return name
    if kind == "status" and rest:
        return _full_status_name(view, rest)
    near = _meant(view, name)
    if near:
        raise BadInput(f"{name!r} is not a limit; did you mean {near}?", code="not_found")
    raise BadInput(
        f"{name!r} is not a limit. There are global, batch:NAME, status:STATUS, "
        "status:BATCH/STATUS, agent:NAME, items:BATCH, items:BATCH/outstanding and "
        f"attention{_known(view, kind)}.",
        code="not_found",
    )


def _meant(view: DeckView, name: str) -> str | None:
    """The limit that a person may have meant: `agent:coder` for `agent:codr` or `coder`."""
    full = [GLOBAL, ATTENTION]
    full += [f"agent:{agent}" for agent in view.agents]
    full += [f"batch:{batch}" for batch in view.batches]
    full += [f"status:{status}" for status in Status] if view.batches else []
    full += [items_limit(batch) for batch in view.items]
    bare: dict[str, str] = {}
    for one in full:
        bare.setdefault(one.partition(":")[2].casefold() or one, one)
    if ":" not in name:
        close = get_close_matches(name.casefold(), bare, n=1, cutoff=0.7)
        return bare[close[0]] if close else None
    close = get_close_matches(name, full, n=1, cutoff=0.8)
    return close[0] if close else None


def _known(view: DeckView, kind: str) -> str:
    if kind == "agent" and view.agents:
        return f"; agents here: {', '.join(sorted(view.agents))}"
    if kind == "items":
        return f"; with a foreach: {', '.join(view.items) or 'none'}"
    if kind == "batch" and view.batches:
        return f"; batches here: {', '.join(view.batches)}"
    return ""


def _full_status_name(view: DeckView, rest: str) -> str:
    batch, slash, status_name = rest.rpartition("/")
    status = read_status(status_name)
    if slash:
        if batch not in view.batches:
            raise BadInput(f"There is no batch {batch!r}{_known(view, 'batch')}.", code="not_found")
        return status_limit(batch, status)
    active = [b.name for b in view.batches.values() if b.state is BatchState.RUNNING]
    candidates = active or list(view.batches)
    if len(candidates) == 1:
        return status_limit(candidates[0], status)
    if not candidates:
        raise BadInput("There is no batch whose status limit could be set.", code="not_found")
    options = ", ".join(f"status:{name}/{status}" for name in candidates[-_MOST_NAMED:])
    how_many = f"{len(candidates)} batches are" if active else "No batch is"
    raise BadInput(f"{how_many} active; say which: {options}.", code="ambiguous")


def check_limit(
    view: DeckView, name: str, value: int | None, others: Mapping[str, int | None] = _NONE
) -> None:
    """Refuses a number that a limit may not have; `name` is full. `others`: set with it.

    Raises:
        BadInput: out of range, or more than 1 for an agent that cannot run two turns.
    """
    if value is not None and (isinstance(value, bool) or value < 0):
        raise BadInput(f"{name}: a limit is a whole number, 0 (closed) or more, or none.")
    if name == GLOBAL:
        if value is None:
            raise BadInput(
                f"global: none is not a limit for the deck; 0 to {view.max_parallel_cap} is."
            )
        _within(name, value, view.max_parallel_cap)
    if name.startswith("agent:"):
        _check_agent_limit(view, name, value)
    if name.startswith("items:"):
        _check_items_limit(view, name, value, others)


def check_limits(view: DeckView, wanted: Mapping[str, int | None]) -> dict[str, int | None]:
    """Refuses numbers that limits may not have together; names are full.

    Returns the same in an order in which each is possible once those before it are in force.

    Raises:
        BadInput: as `check_limit`.
    """
    for name, value in wanted.items():
        check_limit(view, name, value, wanted)
    # more may begin before more are at work; fewer are at work before fewer may begin
    begun = [name for name in wanted if name.endswith("/outstanding")]
    raised = [name for name in begun if _is_raised(view, name, wanted[name])]
    at_work = [name for name in wanted if name not in begun]
    return {name: wanted[name] for name in (*raised, *at_work, *begun)}


def _is_raised(view: DeckView, name: str, value: int | None) -> bool:
    now = effective_limit(view, name)
    return now is not None and (value is None or value > now)


def _check_items_limit(
    view: DeckView, name: str, value: int | None, others: Mapping[str, int | None]
) -> None:
    """More items at work than may have begun is a contradiction, whichever is changed."""
    batch = name.removeprefix("items:").removesuffix("/outstanding")
    active, outstanding = items_limit(batch), outstanding_limit(batch)
    both = {active, outstanding}
    numbers = {key: others.get(key, effective_limit(view, key)) for key in both} | {name: value}
    most, begun = numbers[active], numbers[outstanding]
    if begun is None or most is None or most <= begun:
        return
    other = outstanding if name == active else active
    advice = "Give others" if both <= others.keys() else f"Change {other} too"
    raise BadInput(
        f"{name}: {value} would leave {most} items at work and {begun} that may have begun. "
        f"{advice}."
    )


def _within(name: str, value: int, cap: int) -> None:
    if value > cap:
        raise BadInput(f"{name}: {value} is over the cap; 0 to {cap} is allowed.")


def _check_agent_limit(view: DeckView, name: str, value: int | None) -> None:
    agent = view.agents.get(name.removeprefix("agent:"))
    if agent is not None and agent.one_at_a_time and value is not None and value > 1:
        raise BadInput(
            f"{name}: {agent.name} runs one turn at a time, so {value} is not possible.",
            code=UNSUPPORTED,
        )
    if value is not None:
        _within(name, value, view.parallelism_limit_cap)
