"""Limits: what people write, what is refused and in which words, and which number binds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.batch import BatchState
from batchdeck.core.model.limit import read_limit_value, read_status, read_status_limits
from batchdeck.core.model.task import Status
from batchdeck.core.rules.limits import (
    UNSUPPORTED,
    check_limit,
    effective_limit,
    full_limit_name,
)
from batchdeck.core.view import DeckView, ItemsStanding
from tests.support.builders import NOW, StateBuilder


def deck(*batches: str) -> StateBuilder:
    build = StateBuilder()
    build.agent("coder", 2)
    build.agent("solo", 1, serial=True)
    for name in batches:
        build.batch(name)
    return build


def view_of(*batches: str) -> DeckView:
    return deck(*batches).state.snapshot(NOW)


# -- reading


def test_limits_per_status_are_read_whatever_their_case_and_blanks() -> None:
    found = read_status_limits(" ready = 3 ,In_Progress=2,backlog=none")
    assert found == {Status.READY: 3, Status.IN_PROGRESS: 2, Status.BACKLOG: None}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("READY", "Invalid format 'READY'. Expected STATUS=N"),
        ("READY=3, X ", "Invalid format 'X'. Expected STATUS=N"),
        ("READY=3,", "Invalid format ''. Expected STATUS=N"),
        ("", "Invalid format ''. Expected STATUS=N"),
        (
            "RUNNING=1",
            "'RUNNING' is not a status. There are: BACKLOG, READY, IN_PROGRESS, BLOCKED, FAILED, "
            "DONE, MERGED.",
        ),
        (
            "READY=many",
            "READY: 'many' is not a limit. Give a whole number of 9 digits at most, 0 (closed) or "
            "more, or none.",
        ),
        ("READY=3,ready=2", "READY is given twice in 'READY=3,ready=2'."),
    ],
)
def test_a_faulty_list_of_status_limits_is_refused_in_these_words(text: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_status_limits(text)
    assert refused.value.message == words
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("value", ["-1", "-3", "1.5", "1e3", "true", "", "٣ ٣", "0x2", "+1", "1_0"])
def test_negative_fractional_and_other_numbers_are_no_limits(value: str) -> None:
    with pytest.raises(BadInput, match="whole number"):
        read_status_limits(f"READY={value}")


def test_zero_is_closed_and_none_is_no_limit_of_its_own() -> None:
    assert read_limit_value("0", "global") == 0
    assert read_limit_value(" None ", "global") is None


@given(st.dictionaries(st.sampled_from(list(Status)), st.none() | st.integers(0, 999_999_999)))
def test_what_is_written_is_read_back(limits: dict[Status, int | None]) -> None:
    text = ", ".join(
        f"{status.lower()} = {'none' if value is None else value}"
        for status, value in limits.items()
    )
    if limits:
        assert read_status_limits(text) == limits


@pytest.mark.parametrize("name", ["ready", " READY ", "Ready"])
def test_a_status_is_read_whatever_its_case(name: str) -> None:
    assert read_status(name) is Status.READY


# -- names


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("global", "global"),
        ("attention", "attention"),
        ("agent:coder", "agent:coder"),
        ("batch:docs", "batch:docs"),
        ("items:docs", "items:docs"),
        ("items:docs/outstanding", "items:docs/outstanding"),
        ("status:READY", "status:docs/READY"),
        ("status:in_progress", "status:docs/IN_PROGRESS"),
        ("status:docs/ready", "status:docs/READY"),
    ],
)
def test_a_limit_has_one_full_name_however_it_is_written(written: str, full: str) -> None:
    assert full_limit_name(with_items(4, 20), written) == full


def with_items(active: int | None, outstanding: int | None) -> DeckView:
    """A deck whose batch docs has a foreach with these limits."""
    build = deck("docs")
    build.limit("items:docs", active)
    build.limit("items:docs/outstanding", outstanding)
    items = {"docs": ItemsStanding(0, 0, active, outstanding)}
    return replace(build.state.snapshot(NOW), items=items)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("items:docs", 21, "Change items:docs/outstanding too"),
        ("items:docs", None, ""),
        ("items:docs", 20, ""),
        ("items:docs", 0, ""),
        ("items:docs/outstanding", 3, "Change items:docs too"),
        ("items:docs/outstanding", 4, ""),
        ("items:docs/outstanding", None, ""),
    ],
)
def test_no_more_items_are_at_work_than_may_have_begun(
    name: str, value: int | None, words: str
) -> None:
    if not words:
        check_limit(with_items(4, 20), name, value)
        return
    with pytest.raises(BadInput, match=words):
        check_limit(with_items(4, 20), name, value)


def test_items_without_a_limit_at_work_are_bounded_by_those_that_may_begin() -> None:
    check_limit(with_items(None, 20), "items:docs/outstanding", 30)


def test_a_batch_without_a_foreach_has_no_items_to_limit() -> None:
    with pytest.raises(BadInput, match="with a foreach: none"):
        full_limit_name(view_of("docs"), "items:docs")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("coder", "'coder' is not a limit"),
        ("agent:codr", "did you mean agent:coder?"),
        ("agent:zzz", "agents here: coder, solo"),
        ("batch:x", "batches here: docs"),
        ("status:", "is not a limit"),
        ("status:x/READY", "There is no batch 'x'"),
        ("status:RUNNING", "'RUNNING' is not a status"),
        ("Global", "is not a limit"),
    ],
)
def test_an_unknown_limit_is_refused_with_those_there_are(written: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        full_limit_name(view_of("docs"), written)
    assert words in refused.value.message


def test_a_status_without_its_batch_names_all_where_several_are_active() -> None:
    with pytest.raises(BadInput) as refused:
        full_limit_name(view_of("docs", "site"), "status:READY")
    assert refused.value.code == "ambiguous"
    assert "status:docs/READY, status:site/READY" in refused.value.message


def test_a_status_without_its_batch_means_the_one_that_is_active() -> None:
    build = deck("docs")
    build.batch("site", state=BatchState.COMPLETED)
    view = build.state.snapshot(NOW)
    assert full_limit_name(view, "status:READY") == "status:docs/READY"


def test_a_status_without_its_batch_chooses_none_of_several_that_have_ended() -> None:
    build = deck("docs")
    for name in ("docs", "site"):
        build.batch(name, state=BatchState.COMPLETED)
    with pytest.raises(BadInput, match="No batch is active; say which") as refused:
        full_limit_name(build.state.snapshot(NOW), "status:READY")
    assert refused.value.code == "ambiguous"


def test_a_status_needs_a_batch() -> None:
    with pytest.raises(BadInput, match="no batch whose status limit"):
        full_limit_name(view_of(), "status:READY")


# -- numbers


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("global", None, "global: none is not a limit for the deck; 0 to 32 is."),
        ("global", 33, "global: 33 is over the cap; 0 to 32 is allowed."),
        ("global", -1, "global: a limit is a whole number"),
        ("batch:docs", -1, "batch:docs: a limit is a whole number"),
        ("status:docs/READY", True, "status:docs/READY: a limit is a whole number"),
        ("agent:coder", 11, "agent:coder: 11 is over the cap; 0 to 10 is allowed."),
        ("agent:solo", 2, "agent:solo: solo runs one turn at a time, so 2 is not possible."),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_limit(
    name: str, value: int | None, words: str
) -> None:
    with pytest.raises(BadInput) as refused:
        check_limit(view_of("docs"), name, value)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("global", 0),
        ("global", 32),
        ("agent:coder", 0),
        ("agent:coder", 10),
        ("agent:coder", None),
        ("agent:solo", 0),
        ("agent:solo", 1),
        ("agent:solo", None),
        ("batch:docs", 1000),
        ("status:docs/READY", None),
        ("attention", 0),
    ],
)
def test_a_number_in_range_is_allowed_and_zero_always(name: str, value: int | None) -> None:
    check_limit(view_of("docs"), name, value)


@pytest.mark.parametrize("fields", [{"serial": True}, {"folder": "/repo"}, {"kind": AgentKind.ACP}])
def test_an_agent_that_cannot_run_two_turns_has_a_limit_of_one_whatever_is_stored(
    fields: dict[str, object],
) -> None:
    build = deck()
    kind = fields.pop("kind", AgentKind.DEMO)
    build.agent("one", 5, **fields)
    if kind is AgentKind.ACP:
        from dataclasses import replace

        build.state.agents["one"] = replace(build.state.agents["one"], kind=AgentKind.ACP)
    view = build.state.snapshot(NOW)
    assert effective_limit(view, "agent:one") == 1
    assert view.limits["agent:one"].value == 5
    with pytest.raises(BadInput) as refused:
        check_limit(view, "agent:one", 2)
    assert refused.value.code == UNSUPPORTED


def test_a_closed_serial_agent_is_closed() -> None:
    build = deck()
    build.agent("one", 0, serial=True)
    assert effective_limit(build.state.snapshot(NOW), "agent:one") == 0


def test_an_agent_without_a_limit_may_run_up_to_the_cap() -> None:
    build = deck()
    build.agent("wide", None)
    assert effective_limit(build.state.snapshot(NOW), "agent:wide") == 10


def test_the_deck_has_four_unless_somebody_said_otherwise_and_the_rest_none() -> None:
    view = DeckView()
    assert effective_limit(view, "global") == 4
    assert effective_limit(view, "batch:docs") is None
    assert effective_limit(view, "status:docs/READY") is None
    assert effective_limit(view, "attention") is None
