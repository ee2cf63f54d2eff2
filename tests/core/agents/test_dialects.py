"""What real programs wrote is understood, and success needs its proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.agents.dialects.names import OutputKind
from batchdeck.core.agents.dialects.registry import DIALECTS, Reading
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import TurnState

RECORDINGS = Path(__file__).parents[2] / "support" / "recordings"

CLAUDE, CODEX = "claude-stream-json", "codex-json"
GEMINI, OPENCODE = "gemini-stream-json", "opencode-json"


def agent(kind: str) -> Agent:
    return Agent("a", AgentKind.COMMAND, command=("x",), output=kind)


def told(kind: str, code: int, *events: dict[str, Any] | bytes) -> Outcome:
    dialect = DIALECTS[kind](agent(kind))
    for event in events:
        dialect.take(event if isinstance(event, bytes) else json.dumps(event).encode())
    return dialect.outcome(code)


@pytest.mark.parametrize(
    ("kind", "name", "text", "tokens", "cost", "session"),
    [
        (CLAUDE, "claude_tool", "The tool printed tool-ran. All done.", (300, 42), 0.00255, "da23"),
        (CODEX, "codex_tool", "Codex finished.", (0, 0), None, "01a2"),
        (GEMINI, "gemini_tool", "Gemini finished.", (0, 0), None, "9605"),
        (
            GEMINI,
            "gemini_text",
            "Hello from the mock model. This is a streamed answer.",
            (100, 20),
            None,
            "3ec0",
        ),
        (
            OPENCODE,
            "opencode_text",
            "Hello from the mock model. This is a streamed answer.",
            (100, 20),
            0.00045,
            "ses_",
        ),
    ],
)
def test_a_recorded_success_is_understood(
    kind: str, name: str, text: str, tokens: tuple[int, int], cost: float | None, session: str
) -> None:
    outcome = Reading(agent(kind), RECORDINGS / f"{name}.jsonl").outcome(0)

    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, text)
    assert (outcome.tokens_in, outcome.tokens_out) == tokens
    told = (outcome.cost, outcome.session_cost)
    assert told == ((None, cost) if kind == CLAUDE else (cost, None)), "claude's is its session's"
    assert (outcome.session or "").startswith(session)


@pytest.mark.parametrize("code", [0, 1])
def test_success_with_is_error_is_a_failure(code: int) -> None:
    outcome = Reading(agent(CLAUDE), RECORDINGS / "claude_400.jsonl").outcome(code)

    assert outcome.state is TurnState.FAILED
    assert (outcome.error or "").endswith("API Error: 400 bad thing")


def test_exit_code_0_without_a_result_is_incomplete() -> None:
    outcome = Reading(agent(CLAUDE), RECORDINGS / "claude_int.jsonl").outcome(0)

    assert (outcome.state, outcome.error) == (TurnState.INCOMPLETE, "it ended without a result")
    assert outcome.tokens_in is None


def test_a_result_after_too_many_turns_is_incomplete() -> None:
    result = {
        "type": "result",
        "subtype": "error_max_turns",
        "is_error": True,
        "errors": ["3 turns"],
    }

    outcome = told(CLAUDE, 1, result)

    assert (outcome.state, outcome.error) == (TurnState.INCOMPLETE, "3 turns")


@pytest.mark.parametrize("kind", [CLAUDE, CODEX, GEMINI, OPENCODE])
def test_an_exit_code_shows_what_the_program_said_last(kind: str) -> None:
    outcome = told(kind, 41, b"please log in \x1b[1mfirst\x1b[0m")

    assert outcome.state is TurnState.FAILED
    assert outcome.error == "exit code 41: please log in first"


@pytest.mark.parametrize("kind", [CLAUDE, CODEX, GEMINI, OPENCODE])
def test_no_output_at_all_is_no_success(kind: str) -> None:
    assert told(kind, 0).state is TurnState.INCOMPLETE


def test_a_warning_of_codex_is_no_failure_and_a_failed_turn_is_one() -> None:
    warning = {"type": "item.completed", "item": {"type": "error", "message": "no metadata"}}
    provider = json.dumps({"error": {"message": "bad thing"}})

    assert told(CODEX, 0, warning, {"type": "turn.completed"}).state is TurnState.SUCCEEDED
    failed = told(CODEX, 0, {"type": "turn.failed", "error": {"message": provider}})
    assert (failed.state, failed.error) == (TurnState.FAILED, "bad thing")


def test_a_failed_result_of_gemini_is_told() -> None:
    outcome = told(GEMINI, 0, {"type": "result", "status": "error", "error": {"message": "no"}})

    assert (outcome.state, outcome.error) == (TurnState.FAILED, "no")


def test_an_error_of_opencode_is_a_failure_though_its_exit_code_is_0() -> None:
    step = {"type": "step_finish", "part": {"reason": "stop"}}
    error = {"type": "error", "error": {"name": "X", "data": {"message": "no key"}}}

    assert told(OPENCODE, 0, step, error).error == "no key"
    assert told(OPENCODE, 0, step).state is TurnState.SUCCEEDED
    tools = {"type": "step_finish", "part": {"reason": "tool-calls"}}
    assert told(OPENCODE, 0, tools).state is TurnState.INCOMPLETE


def test_partial_messages_tell_the_text_once() -> None:
    outcome = Reading(agent(CLAUDE), RECORDINGS / "claude_partial.jsonl").outcome(0)
    assert outcome.state is TurnState.SUCCEEDED
    assert outcome.text == "Hello from the mock model. This is a streamed answer."
    assert (outcome.tokens_in, outcome.tokens_out) == (100, 20)


@pytest.mark.parametrize(
    ("name", "code", "state"),
    [
        ("claude_int", 0, TurnState.INCOMPLETE),
        ("claude_term", -15, TurnState.FAILED),
        ("claude_400", 1, TurnState.FAILED),
        ("claude_429", 1, TurnState.FAILED),
        ("claude_multi", 0, TurnState.SUCCEEDED),
    ],
)
def test_how_a_recorded_run_ended_is_understood(name: str, code: int, state: TurnState) -> None:
    assert Reading(agent(CLAUDE), RECORDINGS / f"{name}.jsonl").outcome(code).state is state


def test_steps_of_opencode_add_up() -> None:
    def step(reason: str) -> dict[str, Any]:
        tokens = {"input": 10, "output": 1}
        return {"type": "step_finish", "part": {"reason": reason, "cost": 0.5, "tokens": tokens}}

    outcome = told(OPENCODE, 0, step("tool-calls"), step("stop"))

    assert (outcome.tokens_in, outcome.tokens_out, outcome.cost) == (20, 2, 1.0)


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path: Path) -> None:
    output = tmp_path / "output"
    event = {"type": "result", "subtype": "success", "result": "a\u2028b\x85c"}
    output.write_text(json.dumps(event, ensure_ascii=False) + "\n")

    assert Reading(agent(CLAUDE), output).outcome(0).text == "abc"


def test_a_last_line_without_a_newline_counts(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text('{"type": "turn.completed"}')

    assert Reading(agent(CODEX), output).outcome(0).state is TurnState.SUCCEEDED


def test_every_kind_of_output_has_its_dialect() -> None:
    assert set(DIALECTS) == set(OutputKind)


EVENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type subtype result message content part item error usage stats tokens errors"
                " session_id role delta text reason cost input input_tokens".split()
            ),
            inner
            | st.sampled_from(
                "assistant result message text error step_finish turn.failed turn.completed"
                " item.completed agent_message init success".split()
            ),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(OutputKind)), st.lists(EVENTS | st.binary(), max_size=5))
def test_nothing_that_a_program_writes_makes_a_dialect_fail(kind: str, events: list[Any]) -> None:
    outcome = told(kind, 0, *events)

    assert outcome.state in {TurnState.SUCCEEDED, TurnState.FAILED, TurnState.INCOMPLETE}
    outcome.text.encode()
    (outcome.error or "").encode()


def test_a_result_that_was_cut_at_64_kib_is_no_success() -> None:
    result = json.dumps({"type": "result", "subtype": "success", "result": "x" * 200_000})
    outcome = told(CLAUDE, 0, result.encode()[:65_536])
    assert outcome.state is TurnState.INCOMPLETE


@pytest.mark.parametrize(
    ("kind", "name"), [(CLAUDE, "claude_tool"), (CODEX, "codex_tool"), (GEMINI, "gemini_tool")]
)
def test_a_program_that_ends_in_the_middle_of_its_work_has_not_succeeded(
    kind: str, name: str
) -> None:
    """It exits with 0 after what a tool gave back, as if it had forgotten to go on."""
    lines = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines()
    last = max(number for number, line in enumerate(lines) if b"tool-ran" in line[-4_000:])
    marks = (b"tool_result", b"aggregated_output")
    cut = max(n for n, line in enumerate(lines) if any(mark in line for mark in marks))
    assert cut <= last
    assert told(kind, 0, *lines[: cut + 1]).state is TurnState.INCOMPLETE
