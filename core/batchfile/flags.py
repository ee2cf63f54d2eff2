"""What the command line changes in a batch file's wishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from batchdeck.core.batchfile.faults import UNSUPPORTED_LIMIT, nearest
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import OnError
from batchdeck.core.model.limit import (
    Limit,
    agent_limit,
    batch_limit,
    items_limit,
    outstanding_limit,
    status_limit,
)
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.model.task import Status


class NotGiven(Enum):
    """A limit that was not given; None is one that was, as `none`."""

    NOT_GIVEN = "not given"


NOT_GIVEN = NotGiven.NOT_GIVEN


def with_flags(
    spec: BatchSpec,
    *,
    max_parallel: int | NotGiven | None = NOT_GIVEN,
    by_status: Mapping[Status, int | None] | None = None,
    agent_limits: Mapping[str, int | None] | None = None,
    on_error: OnError | None = None,
    reconcile_interval: float | None = None,
    max_active: int | NotGiven | None = NOT_GIVEN,
    max_outstanding: int | NotGiven | None = NOT_GIVEN,
    config: Settings | None = None,
) -> BatchSpec:
    """The batch with what was given. A limit of None was given as `none`.

    Raises:
        BadInput: a number is out of bounds, or no agent has that name or can have that limit.
    """
    settings = config or Settings()
    flags = [
        *_items(spec, max_active, max_outstanding),
        *_global(spec, max_parallel, settings.max_parallel_cap),
        *(_by_status(spec, status, value) for status, value in (by_status or {}).items()),
        *(_agent(spec, name, value, settings) for name, value in (agent_limits or {}).items()),
    ]
    names = {limit.name for limit in flags}
    kept = (limit for limit in spec.limits if limit.name not in names)
    interval = _interval(spec, reconcile_interval)
    return replace(
        spec,
        limits=(*kept, *flags),
        on_error=_on_error(spec, on_error),
        reconciliation_interval_seconds=interval,
    )


def _flag(name: str, value: int | None, flag: str) -> Limit:
    if value is not None and (isinstance(value, bool) or value < 0):
        raise BadInput(f"{flag}: {value} is no limit. Give a whole number, 0 (closed) or more.")
    return Limit(name, value, changed_by="flag", origin=flag, explicit=True)


def _global(spec: BatchSpec, value: int | NotGiven | None, cap: int) -> list[Limit]:
    if isinstance(value, NotGiven):
        return []
    if value is not None and value > cap:
        raise BadInput(f"--max-parallel: {value} is too large. Give at most {cap}.")
    return [_flag(batch_limit(spec.name), value, "--max-parallel")]


def _items(
    spec: BatchSpec, active: int | NotGiven | None, outstanding: int | NotGiven | None
) -> list[Limit]:
    """Both numbers of a foreach, held against each other and against those of the file."""
    flags = {"--max-active": active, "--max-outstanding": outstanding}
    names = {
        "--max-active": items_limit(spec.name),
        "--max-outstanding": outstanding_limit(spec.name),
    }
    given = {flag: value for flag, value in flags.items() if not isinstance(value, NotGiven)}
    if not given:
        return []
    if spec.foreach is None:
        raise BadInput("--max-active, --max-outstanding: the batch file has no foreach.")
    in_file = {limit.name: limit.value for limit in spec.limits}
    most, begun = (given.get(flag, in_file[name]) for flag, name in names.items())
    if most is not None and begun is not None and begun < most:
        raise BadInput(
            f"--max-active, --max-outstanding: {most} items at work need at least {most} that may "
            f"have begun, not {begun}."
        )
    return [_flag(names[flag], value, flag) for flag, value in given.items()]


def _by_status(spec: BatchSpec, status: Status, value: int | None) -> Limit:
    return _flag(status_limit(spec.name, status), value, "--max-parallel-by-status")


def _agent(spec: BatchSpec, name: str, value: int | None, settings: Settings) -> Limit:
    known = {**settings.agents, **spec.agents}
    agent = known.get(name)
    named_by_tasks = {task.agent for task in spec.tasks}
    if agent is None and name not in named_by_tasks:
        raise BadInput(f"--agent-limit: there is no agent {name!r}{nearest(name, known)}")
    if value is not None and value > settings.parallelism_limit_cap:
        cap = settings.parallelism_limit_cap
        raise BadInput(f"--agent-limit: {value} is too large for {name}. Give at most {cap}.")
    if agent is not None and agent.one_at_a_time and (value is None or value > 1):
        raise BadInput(
            f"--agent-limit: {name} runs one turn at a time, and cannot have a higher limit.",
            code=UNSUPPORTED_LIMIT,
        )
    return _flag(agent_limit(name), value, "--agent-limit")


def _on_error(spec: BatchSpec, on_error: OnError | None) -> OnError:
    if on_error is OnError.COLLECT and spec.collect_to is None:
        raise BadInput("--on-error collect: the batch file says nothing about collect_to.")
    return on_error or spec.on_error


def _interval(spec: BatchSpec, seconds: float | None) -> float:
    if seconds is None:
        return spec.reconciliation_interval_seconds
    if not 0 <= seconds <= 1e9:
        raise BadInput(
            f"--reconcile-interval: {seconds:g} cannot be. Give seconds, or 0 for no timer."
        )
    return seconds
