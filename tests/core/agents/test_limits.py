"""A used-up account is recognised by what programs and servers really say, and nothing else is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.agents.dialects.limits import is_notice, usage_limit
from batchdeck.core.agents.dialects.registry import DIALECTS, Reading
from batchdeck.core.agents.openai import limited_until
from batchdeck.core.model.account import UsageLimit
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import TurnState
from batchdeck.core.rules.cooling import LONGEST_MS, LONGEST_UNSAID_MS, UNSAID_MS, resets_ms

RECORDINGS = Path(__file__).parents[2] / "support" / "recordings"
NOW = int(datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp() * 1_000)
MINUTE, HOUR = 60_000, 3_600_000


def told(kind: str, code: int, *events: dict[str, Any]) -> Any:
    dialect = DIALECTS[kind](Agent("a", AgentKind.COMMAND, command=("x",), output=kind))
    for event in events:
        dialect.take(json.dumps(event).encode())
    return dialect.outcome(code)


@pytest.mark.parametrize(
    ("words", "wait_ms"),
    [
        (f"Claude AI usage limit reached|{NOW // 1_000 + 90}", 90_000),
        ("You've hit your limit · resets 2pm (Asia/Shanghai)", 18 * HOUR),
        ("You've hit your session limit · resets 3:30pm (UTC)", 3 * HOUR + 30 * MINUTE),
        (
            "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or "
            "try again in 5 days 22 hours 11 minutes.",
            ((5 * 24 + 22) * 60 + 11) * MINUTE,
        ),
        ("You've hit your usage limit. Try again in 3 hours 2 minutes.", 182 * MINUTE),
        ("Rate limit reached for gpt-5 in organization x. Please try again in 1.3s.", 1_300),
        ('{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 34.07s."}', 34_070),
        ('{"type":"usage_limit_reached","resets_in_seconds":13872}', 13_872_000),
        (f'{{"type":"usage_limit_reached","resets_at":{NOW // 1_000 + 60}}}', 60_000),
        ("Weekly limit reached · resets in 2 hours", 2 * HOUR),
        ("5-hour limit reached", UNSAID_MS),
        ("This request would exceed your organization's rate limit of 30,000 tokens", UNSAID_MS),
        ('{"error":{"type":"rate_limit_error","message":"slow down"}}', UNSAID_MS),
        ("slow down rate_limit_exceeded", UNSAID_MS),
        ("API Error: Request rejected (429) · try later", UNSAID_MS),
        ("request failed with status code 429", UNSAID_MS),
        ("HTTP/1.1 429", UNSAID_MS),
        ("exceeded retry limit, last status: 503 Service Unavailable", UNSAID_MS),
        ("exceeded retry limit, last status: 429 Too Many Requests", UNSAID_MS),
        ("You exceeded your current quota, please check your plan", UNSAID_MS),
        ("You've hit your limit · resets 2pm (Nowhere/Land)", UNSAID_MS),
    ],
)
def test_the_reset_is_read_from_the_words(words: str, wait_ms: int) -> None:
    limit = usage_limit(words)
    assert limit is not None
    assert resets_ms(limit, NOW, 1) - NOW == wait_ms


@pytest.mark.parametrize(
    "words",
    [
        "the tests of the parser fail",
        "the context window limit was exceeded",
        "HTTP 500: overloaded",
        "Context limit reached \u00b7 /compact or /clear to continue",
        "Codex ran out of room: context window limit reached",
        "You've hit your context limit",
        "output token limit reached",
        "Maximum session turn limit reached",
        "Upload failed: file size limit reached",
        "the line length limit was exceeded",
        "HTTP 400: invalid value 429 for max_tokens",
        "429 tests failed",
        "write: Disk quota exceeded",
        "exceeded retry limit, last status: 401 Unauthorized",
        "max turns (42) reached",
        "the file has 4290 lines",
        "I have added the rate limiter as you asked. " * 20,
    ],
)
def test_other_failures_are_none(words: str) -> None:
    assert usage_limit(words) is None


def test_only_a_text_that_is_the_notice_itself_is_one() -> None:
    assert is_notice("You\u2019ve hit your limit · resets 2pm (UTC)")
    assert is_notice("Claude usage limit reached. Your limit will reset at 3pm.")
    assert not is_notice("You've hit your context limit")
    assert not is_notice("The docs now say what to do when you've hit your limit.")


@given(st.text(max_size=700))
def test_no_words_make_it_fail(words: str) -> None:
    limit = usage_limit(words) or UsageLimit(words)
    assert NOW < resets_ms(limit, NOW, 1) <= NOW + LONGEST_MS


@pytest.mark.parametrize(
    ("limit", "windows", "wait_ms"),
    [
        (UsageLimit(""), 1, UNSAID_MS),
        (UsageLimit(""), 3, 4 * UNSAID_MS),
        (UsageLimit(""), 99, LONGEST_UNSAID_MS),
        (UsageLimit("", after_seconds=0), 1, 1_000),
        (UsageLimit("", after_seconds=0), 2, UNSAID_MS),
        (UsageLimit("", after_seconds=7_200), 2, 2 * HOUR),
        (UsageLimit("", at_ms=NOW - 5), 1, 1_000),
        (UsageLimit("", after_seconds=1e12), 1, LONGEST_MS),
        (UsageLimit("", time_of_day=(12, 0), zone="UTC"), 1, 24 * HOUR),
        (UsageLimit("", time_of_day=(12, 1), zone="UTC"), 1, MINUTE),
    ],
)
def test_how_long_an_account_is_left_alone(limit: UsageLimit, windows: int, wait_ms: int) -> None:
    assert resets_ms(limit, NOW, windows) - NOW == wait_ms


# -- dialects


def test_the_recorded_429_of_claude_is_a_used_up_account() -> None:
    agent = Agent("a", AgentKind.COMMAND, command=("claude",), output="claude-stream-json")
    outcome = Reading(agent, RECORDINGS / "claude_429.jsonl").outcome(1)
    assert outcome.state is TurnState.FAILED
    assert outcome.limited is not None
    assert "429" in outcome.limited.words


def test_the_recorded_400_of_claude_is_none() -> None:
    agent = Agent("a", AgentKind.COMMAND, command=("claude",), output="claude-stream-json")
    assert Reading(agent, RECORDINGS / "claude_400.jsonl").outcome(1).limited is None


def claude_says(text: str, model: str, *, is_error: bool) -> list[dict[str, Any]]:
    message = {"model": model, "content": [{"type": "text", "text": text}]}
    result = {"type": "result", "subtype": "success", "is_error": is_error, "result": text}
    return [{"type": "assistant", "message": message}, result]


NOTICE = "You've hit your limit · resets 2pm (UTC)"
REJECTED = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 99}}


def test_a_notice_that_calls_itself_a_success_and_exits_with_0_is_a_used_up_account() -> None:
    events = claude_says(NOTICE, "<synthetic>", is_error=False)
    outcome = told("claude-stream-json", 0, *events)
    assert outcome.state is TurnState.FAILED
    assert outcome.limited.time_of_day == (14, 0)


def test_a_model_that_quotes_the_notice_has_answered() -> None:
    outcome = told("claude-stream-json", 0, *claude_says(NOTICE, "claude-x", is_error=False))
    assert (outcome.state, outcome.limited) == (TurnState.SUCCEEDED, None)


def test_claudes_event_names_the_reset() -> None:
    events = claude_says(NOTICE, "<synthetic>", is_error=True)
    outcome = told("claude-stream-json", 1, REJECTED, *events)
    assert (outcome.limited.at_ms, outcome.limited.time_of_day) == (99_000, None)


def test_a_rejected_request_whose_turn_succeeded_after_all_closes_nothing() -> None:
    events = claude_says("done", "claude-x", is_error=False)
    outcome = told("claude-stream-json", 0, REJECTED, *events)
    assert (outcome.state, outcome.limited) == (TurnState.SUCCEEDED, None)


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (
            "codex-json",
            {
                "type": "turn.failed",
                "error": {"message": "You've hit your usage limit. Try again in 2 hours."},
            },
        ),
        (
            "gemini-stream-json",
            {
                "type": "result",
                "status": "error",
                "error": {"message": "[API Error: RESOURCE_EXHAUSTED. Please retry in 2 h.]"},
            },
        ),
        (
            "opencode-json",
            {"type": "error", "error": {"data": {"message": "Too Many Requests: retry in 2 h"}}},
        ),
    ],
)
def test_the_other_programs_errors_name_it_too(kind: str, event: dict[str, Any]) -> None:
    outcome = told(kind, 1, event)
    assert outcome.state is TurnState.FAILED
    assert outcome.limited.after_seconds == 7_200


def test_any_program_that_fails_with_the_notice_as_its_last_line_is_believed() -> None:
    dialect = DIALECTS["text"](Agent("a", AgentKind.COMMAND, command=("x",)))
    dialect.take(b"Claude AI usage limit reached|1778565600")
    outcome = dialect.outcome(1)
    assert outcome.limited is not None
    assert outcome.limited.at_ms == 1_778_565_600_000


# -- servers


@pytest.mark.parametrize(
    ("header", "limit"),
    [
        ("7", UsageLimit("slow", after_seconds=7)),
        ("0.5", UsageLimit("slow", after_seconds=0.5)),
        ("Sun, 01 Mar 2026 12:00:30 GMT", UsageLimit("slow", at_ms=NOW + 30_000)),
        ("soon", UsageLimit("slow")),
        ("nan", UsageLimit("slow")),
        ("-3", UsageLimit("slow")),
        (None, UsageLimit("slow")),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, limit: UsageLimit) -> None:
    assert limited_until("slow", header) == limit
