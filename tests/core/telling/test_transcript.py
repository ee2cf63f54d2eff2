"""Every agent's output is told in one set of events; what nobody knows stays as it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.telling.said import Kind
from batchdeck.core.telling.transcript import Line, Transcript, teller_of, told_lines

RECORDINGS = Path(__file__).parents[2] / "support" / "recordings"
OUTPUTS = {
    "claude": "claude-stream-json",
    "codex": "codex-json",
    "gemini": "gemini-stream-json",
    "opencode": "opencode-json",
}
AGENTS = {
    **{
        name: Agent("a", AgentKind.COMMAND, output=output, command=("a",))
        for name, output in OUTPUTS.items()
    },
    "acp": Agent("a", AgentKind.ACP, command=("a",)),
    "chat": Agent("a", AgentKind.OPENAI),
}


def told(agent: str, *events: Any) -> list[tuple[str, str]]:
    """Kind and words of the lines that events tell."""
    raw = b"\n".join(e if isinstance(e, bytes) else json.dumps(e).encode() for e in events)
    return [(str(line.kind), line.words) for line in told_lines(teller_of(AGENTS[agent]), raw)]


def recorded(name: str) -> list[tuple[str, str]]:
    raw = (RECORDINGS / f"{name}.jsonl").read_bytes()
    teller = teller_of(AGENTS[name.partition("_")[0]])
    return [(str(line.kind), line.words) for line in told_lines(teller, raw)]


def acp(update: str, **fields: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "s", "update": {"sessionUpdate": update, **fields}},
    }


def chat(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("claude_tool", "Bash  echo tool-ran"),
        ("codex_tool", "/bin/bash -lc 'echo tool-ran'"),
        ("gemini_tool", "run_shell_command  echo tool-ran"),
    ],
)
def test_a_tool_its_result_the_text_the_usage_and_the_end_are_told_alike(
    name: str, tool: str
) -> None:
    lines = [line for line in recorded(name) if line[0] != "raw"]
    assert [kind for kind, _ in lines] == [
        "text",
        "tool",
        "tool result",
        "text",
        "usage",
        "result",
    ]
    assert lines[1][1] == tool
    assert lines[2][1] == "tool-ran"


@pytest.mark.parametrize("name", [path.stem for path in sorted(RECORDINGS.glob("*.jsonl"))])
def test_no_event_of_a_recorded_run_is_unknown(name: str) -> None:
    raw = [words for kind, words in recorded(name) if kind == "raw"]
    assert all(words.startswith("warning: ") for words in raw)


def test_partial_messages_are_told_once() -> None:
    lines = recorded("claude_partial")
    assert lines[0] == ("text", "Hello from the mock model. This is a streamed answer.")
    assert [kind for kind, _ in lines] == ["text", "usage", "result"]


def test_a_retry_and_an_api_error_that_calls_itself_success_are_told_as_such() -> None:
    kinds = dict(recorded("claude_429"))
    assert kinds["retry"] == "try 1 of 1 in 1 s: rate_limit"
    assert kinds["error"].startswith("API Error: Request rejected (429)")
    assert "result" not in kinds


def test_what_claude_denied_itself_is_a_permission() -> None:
    denial = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    event = {"type": "result", "subtype": "success", "permission_denials": [denial]}
    denied = "denied by its own settings: Bash  rm -rf build"
    assert told("claude", event) == [("permission", denied), ("result", "success")]


def test_an_acp_agents_messages_are_told() -> None:
    permission = {"toolCall": {"toolCallId": "1"}, "options": []}
    assert told(
        "acp",
        acp("agent_thought_chunk", content=text("let me ")),
        acp("agent_thought_chunk", content=text("see")),
        acp("tool_call", toolCallId="1", title="npm test", rawInput={"command": "npm test"}),
        {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": permission},
        {"method": "batchdeck/permission", "params": {"title": "npm test", "decision": "deny"}},
        acp("tool_call_update", toolCallId="1", status="in_progress"),
        acp("tool_call_update", toolCallId="1", status="failed", rawOutput="no\nway"),
        acp("agent_message_chunk", content=text("first\nsec")),
        acp("agent_message_chunk", content=text("ond")),
        acp("plan", entries=[{"content": "test", "status": "pending", "priority": "low"}]),
        acp("current_mode_update", currentModeId="x"),
        acp("usage_update", size=1, used=1, cost={"amount": 0.5, "currency": "USD"}),
        b"a banner",
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "max_tokens"}},
    ) == [
        ("thought", "let me see"),
        ("tool", "npm test"),
        ("permission", "wants to: npm test"),
        ("permission", "deny: npm test"),
        ("tool result", "failed"),
        ("tool result", "no"),
        ("tool result", "way"),
        ("text", "first"),
        ("text", "second"),
        ("thought", "- test (pending)"),
        ("usage", "0.5000 money"),
        ("raw", "a banner"),
        ("error", "max tokens"),
    ]


def test_a_chat_servers_stream_is_told() -> None:
    call = {"index": 0, "function": {"name": "look", "arguments": ""}}
    assert told(
        "chat",
        chat(reasoning_content="hm"),
        chat(content="Hel"),
        chat(content="lo\nyou"),
        chat(tool_calls=[call]),
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 5}},
        {"error": {"message": "cut"}},
        {"error": {"message": "cut"}},
        b"<html>",
    ) == [
        ("thought", "hm"),
        ("text", "Hello"),
        ("text", "you"),
        ("tool", "look (not carried out)"),
        ("result", "finished: stop"),
        ("usage", "1,200 tokens in, 5 out"),
        ("error", "cut"),
        ("raw", "<html>"),
    ]


def test_codexs_other_items_are_told() -> None:
    def item(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "item.completed", "item": {"type": kind, **fields}}

    failed = {"aggregated_output": "boom\n", "exit_code": 2, "status": "failed"}
    assert told(
        "codex",
        item("reasoning", text="think"),
        item("command_execution", command="x", **failed),
        item("file_change", changes=[{"kind": "update", "path": "a.py"}]),
        item("web_search", query="how"),
        item("todo_list", items=[{"text": "a", "completed": True}, {"text": "b"}]),
        item("something new", x=1),
        {"type": "error", "message": '{"error":{"message":"bad thing"}}'},
        {"type": "turn.failed", "error": {"message": '{"error":{"message":"bad thing"}}'}},
    ) == [
        ("thought", "think"),
        ("tool result", "failed"),
        ("tool result", "boom"),
        ("tool", "update a.py"),
        ("tool", "web search  how"),
        ("thought", "✓ a"),
        ("thought", "- b"),
        ("raw", json.dumps(item("something new", x=1))),
        ("error", "bad thing"),
    ]


def test_opencodes_tools_are_told_with_their_results() -> None:
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a\nb\n"}
    assert told("opencode", {"type": "tool_use", "part": {"tool": "bash", "state": state}}) == [
        ("tool", "bash  ls"),
        ("tool result", "a"),
        ("tool result", "b"),
    ]


def test_a_long_result_is_told_by_its_beginning() -> None:
    state = {"status": "completed", "output": "\n".join(map(str, range(500)))}
    lines = told("opencode", {"type": "tool_use", "part": {"tool": "bash", "state": state}})
    assert lines[-1] == ("tool result", "… 488 lines more")


def test_a_separator_inside_a_line_cuts_nothing() -> None:
    lines = told("opencode", '{"type":"text","part":{"text":"a\u2028b\u0085c"}}'.encode())
    assert lines == [("text", "abc")]


def test_no_escape_of_an_agent_gets_through() -> None:
    lines = told("claude", {"type": "assistant", "message": {"content": [text("\x1b[2Jgone")]}})
    assert lines == [("text", "gone")]


def test_text_stays_as_it_came() -> None:
    transcript = Transcript(teller_of(Agent("a", AgentKind.COMMAND, command=("a",))))
    assert transcript.is_plain
    assert transcript.take(b'{"type":"text"}') == [Line(Kind.RAW, '{"type":"text"}')]


def test_a_line_that_still_grows_is_there_to_be_shown() -> None:
    transcript = Transcript(teller_of(AGENTS["chat"]))
    assert transcript.take(json.dumps(chat(content="Hel")).encode()) == []
    assert transcript.unfinished == Line(Kind.TEXT, "Hel")
    assert transcript.take(json.dumps(chat(content="lo\n")).encode()) == [Line(Kind.TEXT, "Hello")]
    assert transcript.unfinished is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_EVENTS = [
    json.loads(line)
    for path in sorted(RECORDINGS.glob("*.jsonl"))
    for line in path.read_text().splitlines()
] + [
    acp("tool_call", toolCallId="1", title="t", rawInput={"command": "x"}),
    acp("tool_call_update", toolCallId="1", status="failed", content=[{"type": "diff"}]),
    acp("plan", entries=[{"content": "x"}]),
    acp("usage_update", cost={"amount": 1}),
    chat(content="x", tool_calls=[{"function": {"name": "x"}}]),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@given(st.sampled_from(_EVENTS), st.data(), st.sampled_from(sorted(AGENTS)))
def test_no_event_however_broken_is_an_error(event: Any, data: st.DataObject, agent: str) -> None:
    path = data.draw(st.sampled_from(places(event)))
    broken = changed(event, path, data.draw(_JSON))
    raw = json.dumps(broken).encode()
    for line in told_lines(teller_of(AGENTS[agent]), raw):
        assert line.kind in Kind


@given(st.binary(max_size=200), st.sampled_from(sorted(AGENTS)))
def test_no_bytes_are_an_error(raw: bytes, agent: str) -> None:
    told_lines(teller_of(AGENTS[agent]), raw)
