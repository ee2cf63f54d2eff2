"""Chat agents: what is asked, what comes back in pieces, and every way it can go wrong."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import anyio
import pytest

from batchdeck.core.agents import chat_stream
from batchdeck.core.agents.adapter import Assignment, Control, Outcome
from batchdeck.core.agents.openai import OpenAIAgent
from batchdeck.core.agents.output import EventOutput
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.turn import AttemptEnd, TurnState
from batchdeck.core.telling.said import Kind
from batchdeck.core.telling.transcript import teller_of, told_lines
from tests.core.agents.support import room_for
from tests.support.chat_server import ChatServer, chat_server, delta, error, events

pytestmark = pytest.mark.anyio


def assignment(folder: Path, server: ChatServer | str, **given: Any) -> Assignment:
    base = server if isinstance(server, str) else server.base_url
    agent = Agent("w", AgentKind.OPENAI, base_url=base, model="m", api_key_env="KEY", **given)
    return Assignment(
        turn=1,
        attempt="a" * 32,
        number=1,
        agent=agent,
        prompt="now this",
        runs=folder,
        said=(("operator", "first"), ("agent", "answered")),
        environment={"KEY": "secret-key"},
    )


async def outcome_of(given: Assignment, control: Control | None = None) -> Outcome:
    agent = OpenAIAgent()
    try:
        with anyio.fail_after(20):
            return await agent.run(given, control or Control(lambda _: None))
    finally:
        await agent.close()


def told(given: Assignment) -> list[str]:
    """What its output tells of text, of its end and of errors."""
    lines = told_lines(teller_of(given.agent), (given.run / "output").read_bytes())
    return [line.words for line in lines if line.kind is not Kind.USAGE]


async def test_an_answer_comes_in_pieces_and_is_one_text(tmp_path: Path) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    with chat_server(events(delta("Hel"), delta("lo", "stop"), usage)) as server:
        given = assignment(tmp_path, server, price_input=1.0, price_output=2.0)
        outcome = await outcome_of(given)
    assert (outcome.state, outcome.text, outcome.exit_code) == (TurnState.SUCCEEDED, "Hello", 0)
    assert (outcome.tokens_in, outcome.tokens_out) == (7, 3)
    assert outcome.cost == pytest.approx(13e-6)
    assert told(given) == ["Hello", "finished: stop"]


async def test_the_conversation_the_key_and_the_attempts_id_go_along(tmp_path: Path) -> None:
    with chat_server(events(delta("ok", "stop"))) as server:
        await outcome_of(assignment(tmp_path, server))
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert [(m["role"], m["content"]) for m in asked.body["messages"]] == [
        ("user", "first"),
        ("assistant", "answered"),
        ("user", "now this"),
    ]
    assert asked.headers["Authorization"] == "Bearer secret-key"
    assert asked.headers["Idempotency-Key"] == "a" * 32


async def test_the_proxy_of_the_environment_is_used_but_for_what_it_excepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(events(delta("ok", "stop"))) as server:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{server.port}")
        monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
        for base in ("http://model.invalid/v1", server.base_url):
            outcome = await outcome_of(assignment(tmp_path, base))
            assert outcome.state is TurnState.SUCCEEDED
    assert [asked.path for asked in server.asked] == [
        "http://model.invalid/v1/chat/completions",
        "/v1/chat/completions",
    ]


async def test_usage_that_is_not_given_is_unknown_and_not_nought(tmp_path: Path) -> None:
    with chat_server(events(delta("ok", "stop"))) as server:
        outcome = await outcome_of(assignment(tmp_path, server, price_input=1.0))
    assert (outcome.tokens_in, outcome.tokens_out, outcome.cost) == (None, None, None)


BROKEN = {
    "cut before its end": (events(delta("half"), done=False), TurnState.INCOMPLETE, "ended before"),
    "cut by its length": (events(delta("half", "length")), TurnState.INCOMPLETE, "length limit"),
    "an error in the stream": (
        events(delta("half"), {"error": {"message": "overloaded"}}),
        TurnState.FAILED,
        "overloaded",
    ),
    "no JSON": (events("{nonsense"), TurnState.FAILED, "no JSON"),
    "another form": (events("[1, 2]"), TurnState.FAILED, "unknown form"),
    "deep JSON": (events("[" * 200_000), TurnState.FAILED, "no JSON"),
    "a word for a choice": (events({"choices": ["x"]}), TurnState.FAILED, "unknown form"),
    "a number for choices": (events({"choices": 5}), TurnState.FAILED, "unknown form"),
    "a word for a delta": (
        events({"choices": [{"delta": "s"}]}),
        TurnState.FAILED,
        "unknown form",
    ),
    "a list for a text": (events(delta([1])), TurnState.FAILED, "unknown form"),  # type: ignore[arg-type]
    "a number for an end": (events(delta("x", 1)), TurnState.FAILED, "unknown form"),  # type: ignore[arg-type]
    "an error without words": (events({"error": {"code": "busy"}}), TurnState.FAILED, "busy"),
    "a page": (
        error(200, "<html>hello</html>", Content_Type="text/html"),
        TurnState.FAILED,
        "did not stream",
    ),
    "a rate limit": (
        error(429, '{"error": {"message": "slow down"}}', Retry_After="7"),
        TurnState.FAILED,
        "HTTP 429: slow down",
    ),
    "a fault of the server": (error(500, "oops"), TurnState.FAILED, "HTTP 500: oops"),
    "another place": (error(302, "", Location="http://127.0.0.1:1/"), TurnState.FAILED, "HTTP 302"),
}


@pytest.mark.parametrize("reply", BROKEN, ids=BROKEN)
async def test_what_is_no_whole_answer_is_no_success(tmp_path: Path, reply: str) -> None:
    said, state, words = BROKEN[reply]
    with chat_server(said) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.state is state
    assert words in (outcome.error or "")
    assert len(server.asked) == 1, "the key goes nowhere else"


UNFINISHED = {
    "a filter": (events(delta("half", "content_filter")), "content filter"),
    "a call of a tool": (events(delta("", "tool_calls")), "call a tool"),
    "a reason nobody knows": (events(delta("half", "nap")), "not finished: nap"),
    "nothing but an end": (events(), "without an answer"),
}


@pytest.mark.parametrize("reply", UNFINISHED, ids=UNFINISHED)
async def test_an_answer_that_did_not_come_to_its_end_is_incomplete(
    tmp_path: Path, reply: str
) -> None:
    said, words = UNFINISHED[reply]
    with chat_server(said) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.state is TurnState.INCOMPLETE
    assert words in (outcome.error or "")


@pytest.mark.parametrize("finish", ["stop", "STOP", "eos_token", None])
async def test_the_end_of_an_answer_is_known_by_what_servers_call_it(
    tmp_path: Path, finish: str | None
) -> None:
    with chat_server(events(delta("all", finish))) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert (outcome.state, outcome.text) == (TurnState.SUCCEEDED, "all")


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def said_in_stream(**error: Any) -> Any:
    return events(delta("half"), {"error": error}, done=False)


LATER = {
    "a gateway without its server": error(502, "bad gateway"),
    "a server that is not up yet": error(503, "loading the model"),
    "a gateway that has waited": error(504, ""),
    "an overloaded server": error(529, '{"error": {"type": "overloaded_error"}}'),
    "a server that hangs up": hangs_up,
    "a rate limit in the stream": said_in_stream(message="Rate limit exceeded", code=429),
    "a rate limit's number as a word": said_in_stream(message="slow down", code="429"),
    "a rate limit's kind": said_in_stream(message="slow down", type="rate_limit_error"),
    "a rate limit's words": said_in_stream(message="Rate limit reached for m"),
}


@pytest.mark.parametrize("reply", LATER.values(), ids=LATER)
async def test_a_server_that_can_answer_later_closes_its_account_and_ends_nothing(
    tmp_path: Path, reply: Any
) -> None:
    with chat_server(reply) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.limited is not None
    assert outcome.limited.words == outcome.error
    assert outcome.surroundings is None


async def test_a_server_that_is_not_up_says_when_to_come_again(tmp_path: Path) -> None:
    with chat_server(error(503, "", Retry_After="30")) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.limited is not None
    assert outcome.limited.after_seconds == 30


NO_USE = {
    "no such model": error(404, '{"error": {"message": "model m not found"}}'),
    "no money": error(402, "pay first"),
    "another place": error(302, "", Location="http://127.0.0.1:1/"),
    "a page": error(200, "<html>log in</html>", Content_Type="text/html"),
}


@pytest.mark.parametrize("reply", NO_USE.values(), ids=NO_USE)
async def test_what_no_turn_would_fare_better_with_holds_the_agent(
    tmp_path: Path, reply: Any
) -> None:
    with chat_server(reply) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert (outcome.surroundings, outcome.limited) == ("agent", None)
    assert outcome.error


@pytest.mark.parametrize(
    "error_said", [{"message": "bad prompt", "code": 400}, {"message": "no room", "code": "x"}]
)
async def test_another_error_in_the_stream_is_the_turns_own(
    tmp_path: Path, error_said: dict[str, Any]
) -> None:
    with chat_server(said_in_stream(**error_said)) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert (outcome.state, outcome.limited, outcome.surroundings) == (TurnState.FAILED, None, None)


async def test_an_error_whose_words_do_not_end_is_told_as_far_as_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_stream, "ERROR_SECONDS", 0.3)
    release = threading.Event()

    def stuck(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(500)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"half a wo")
        release.wait(20)

    with chat_server(stuck) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
        release.set()
    assert outcome.error == "HTTP 500: half a wo"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's table of connections")
async def test_the_kernel_asks_whether_a_silent_server_is_still_there(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        begun.set()
        release.wait(20)

    def timer(port: int) -> str:
        """What the kernel has set on the connection to a port (proc(5), tcp): 02 is keepalive."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        (found,) = [row for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01"]
        return found[5].partition(":")[0]

    control = Control(lambda _: None)
    with chat_server(silent) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outcome_of, assignment(tmp_path, server), control)
            await anyio.to_thread.run_sync(begun.wait)
            found = timer(server.port)
            control.stop.set()
        release.set()
    assert found == "02"


NO_END = {"a line": b"x" * 2**16, "an event": b"x\ndata: " * 2**13, "a remark": b"\n: x" * 2**14}


@pytest.mark.parametrize("kind", NO_END)
async def test_what_has_no_end_is_not_kept_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(chat_stream, "MOST_BYTES", 1_000_000)
    sent = 0

    def without_end(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        events(delta("x"), done=False)(handler)
        handler.wfile.write(b"data: ")
        while sent < 50_000_000:
            sent += handler.wfile.write(NO_END[kind])

    with chat_server(without_end) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert (outcome.state, outcome.text) == (TurnState.FAILED, "x")
    assert "without an end" in (outcome.error or "")
    assert sent < 50_000_000


async def test_a_long_answer_in_short_events_is_no_event_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_stream, "MOST_BYTES", 100_000)
    with chat_server(events(*[delta("x") for _ in range(5_000)], delta("", "stop"))) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert (outcome.state, len(outcome.text)) == (TurnState.SUCCEEDED, 5_000)


async def test_an_answer_counts_although_its_output_could_not_be_kept(tmp_path: Path) -> None:
    pieces = [delta("x" * 1_000) for _ in range(20)]
    with chat_server(events(*pieces, delta("", "stop"))) as server, room_for(5_000):
        given = assignment(tmp_path, server)
        outcome = await outcome_of(given)
    assert (outcome.state, len(outcome.text)) == (TurnState.SUCCEEDED, 20_000)


async def test_where_no_output_can_be_made_the_turn_is_not_begun(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = await outcome_of(assignment(tmp_path / "file", "http://127.0.0.1:9/v1"))
    assert outcome.surroundings == "agent"
    assert "could not be started: Not a directory" in (outcome.error or "")


def test_what_could_not_be_kept_is_said_once_there_is_room_again(tmp_path: Path) -> None:
    output = EventOutput(tmp_path / "run")
    with room_for(2):
        output.write(b"12345")
        output.write(b"6")
    output.write(b"7")
    output.close()
    lines = (tmp_path / "run" / "output").read_text().split("\n")
    assert [lines[0], lines[2]] == ["12", "7"]
    assert "the output could not be kept" in lines[1]


async def test_a_line_separator_inside_a_string_cuts_nothing(tmp_path: Path) -> None:
    with chat_server(events(delta("a\u2028b\x85c", "stop"))) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.state is TurnState.SUCCEEDED
    assert outcome.text.startswith("a")
    assert outcome.text.endswith("c")


async def test_a_refused_key_is_a_failure_of_the_surroundings(tmp_path: Path) -> None:
    with chat_server(error(401, '{"error": {"message": "bad key"}}')) as server:
        outcome = await outcome_of(assignment(tmp_path, server))
    assert outcome.surroundings == "agent"
    assert "secret-key" not in str(outcome)


async def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    outcome = await outcome_of(assignment(tmp_path, "http://127.0.0.1:9/v1"))
    assert (outcome.state, outcome.surroundings) == (TurnState.FAILED, "agent")
    assert "127.0.0.1:9" in (outcome.error or "")


async def test_stopping_closes_the_stream_at_once(tmp_path: Path) -> None:
    begun, control = threading.Event(), Control(lambda _: None)

    def for_ever(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        while True:
            handler.wfile.write(b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n')
            begun.set()

    found: list[Outcome] = []
    with chat_server(for_ever) as server:
        async with anyio.create_task_group() as tasks:
            given = assignment(tmp_path, server)

            async def run() -> None:
                found.append(await outcome_of(given, control))

            tasks.start_soon(run)
            await anyio.to_thread.run_sync(begun.wait)
            control.stop.set()
        assert await anyio.to_thread.run_sync(server.gone.wait, 10)
    assert (found[0].state, found[0].end) == (TurnState.CANCELLED, AttemptEnd.STOPPED)


async def test_a_time_limit_ends_a_silent_answer(tmp_path: Path) -> None:
    release = threading.Event()

    def silent(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        release.wait(20)

    with chat_server(silent) as server:
        outcome = await outcome_of(assignment(tmp_path, server, timeout_seconds=0.2))
        release.set()
    assert outcome.end is AttemptEnd.TIMED_OUT
    assert "0.2 s" in (outcome.error or "")


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-very-sécret", "sk-very\x00secret"])
async def test_what_is_no_key_is_said_without_being_quoted(tmp_path: Path, key: str) -> None:
    with chat_server(events(delta("ok", "stop"))) as server:
        given = replace(assignment(tmp_path, server), environment={"KEY": key})
        outcome = await outcome_of(given)
    assert outcome.surroundings == "agent"
    assert "$KEY" in (outcome.error or "")
    assert "sk-very" not in str(outcome)


async def test_blanks_around_a_key_do_not_belong_to_it(tmp_path: Path) -> None:
    with chat_server(events(delta("ok", "stop"))) as server:
        given = replace(assignment(tmp_path, server), environment={"KEY": " secret-key\n"})
        outcome = await outcome_of(given)
    assert outcome.state is TurnState.SUCCEEDED
    assert server.asked[0].headers["Authorization"] == "Bearer secret-key"


async def test_an_error_stands_in_the_output_too(tmp_path: Path) -> None:
    with chat_server(error(500, "oops")) as server:
        given = assignment(tmp_path, server)
        outcome = await outcome_of(given)
    assert told(given) == [outcome.error]
