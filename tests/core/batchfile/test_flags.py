"""A flag beats the file, and says that it is a flag."""

from __future__ import annotations

from typing import Any

import pytest

from batchdeck.core.batchfile.flags import with_flags
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.batch import OnError
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status

SPEC = BatchSpec(
    name="docs",
    tasks=(TaskSpec(key="T1", agent="coder"),),
    agents={
        "coder": Agent("coder", AgentKind.COMMAND, command=("x",)),
        "alone": Agent("alone", AgentKind.ACP, command=("x",)),
    },
    limits=(
        Limit("batch:docs", 4, origin="docs.yaml"),
        Limit("status:docs/READY", 3, origin="docs.yaml"),
    ),
)


def test_what_was_not_given_stays() -> None:
    assert with_flags(SPEC) == SPEC


def test_flags_take_the_place_of_the_files_numbers() -> None:
    spec = with_flags(
        SPEC,
        max_parallel=2,
        by_status={Status.READY: 1, Status.FAILED: None},
        agent_limits={"coder": 2},
        on_error=OnError.FAIL,
        reconcile_interval=5,
    )

    assert {limit.name: (limit.value, limit.origin, limit.explicit) for limit in spec.limits} == {
        "batch:docs": (2, "--max-parallel", True),
        "status:docs/READY": (1, "--max-parallel-by-status", True),
        "status:docs/FAILED": (None, "--max-parallel-by-status", True),
        "agent:coder": (2, "--agent-limit", True),
    }
    assert len(spec.limits) == 4
    assert (spec.on_error, spec.reconciliation_interval_seconds) == (OnError.FAIL, 5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_parallel": -1}, "-1 is no limit"),
        ({"max_parallel": 33}, "Give at most 32"),
        ({"by_status": {Status.READY: -2}}, "-2 is no limit"),
        ({"agent_limits": {"codr": 1}}, "did you mean 'coder'"),
        ({"agent_limits": {"coder": 11}}, "Give at most 10"),
        ({"agent_limits": {"alone": 2}}, "runs one turn at a time"),
        ({"agent_limits": {"alone": None}}, "runs one turn at a time"),
        ({"on_error": OnError.COLLECT}, "collect_to"),
        ({"reconcile_interval": -1}, "cannot be"),
        ({"reconcile_interval": float("nan")}, "cannot be"),
    ],
)
def test_flags_out_of_bounds_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        with_flags(SPEC, **given)


def test_a_limit_may_be_given_as_none() -> None:
    (batch,) = (one for one in with_flags(SPEC, max_parallel=None).limits if one.name[0] == "b")

    assert (batch.value, batch.origin) == (None, "--max-parallel")


def test_an_unsupported_agent_limit_has_its_own_code() -> None:
    with pytest.raises(BadInput) as refused:
        with_flags(SPEC, agent_limits={"alone": 2})

    assert refused.value.code == "agent_parallelism_limit_unsupported"


def test_caps_and_agents_are_the_configurations() -> None:
    config = Settings(max_parallel_cap=99, agents={"other": Agent("other", AgentKind.DEMO)})

    spec = with_flags(SPEC, max_parallel=64, agent_limits={"other": 3}, config=config)

    assert {limit.name: limit.value for limit in spec.limits}["agent:other"] == 3
