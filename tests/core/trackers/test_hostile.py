"""Sixty answers that no tracker should give: none changes a task, each says why, all recover."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import anyio
import pytest

from batchdeck.core.model.issue import IssueFact, IssueRef, IssueState
from batchdeck.core.trackers.choosing import Trackers, trackers
from batchdeck.core.trackers.dialects import Dialect
from batchdeck.core.trackers.forge import Forge
from tests.core.trackers.test_forge import ONE, MovedClock, forge
from tests.support.tracker_server import Fault, fault, reply, tracker_server

pytestmark = pytest.mark.anyio

AT = 1_700_000_000
"""What the server's own clock says, far from ours."""


def issue(**more: Any) -> dict[str, Any]:
    return {
        "number": 1,
        "state": "closed",
        "state_reason": "completed",
        "updated_at": "2030-01-01T00:00:00Z",
        "closed_at": "2030-01-01T00:00:00Z",
        "node_id": "I_o/r_1",
        "id": 1001,
        "repository_url": "https://x/repos/o/r",
        **more,
    }


def listed(*items: Any) -> Fault:
    return lambda handler: reply(handler, 200, list(items))


def raw(status: int, body: bytes, **headers: object) -> Fault:
    return lambda handler: reply(handler, status, body, **headers)


def reset_connection(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def silence(handler: BaseHTTPRequestHandler) -> None:
    """Nothing, until the other side gives up."""
    handler.connection.settimeout(10)
    handler.rfile.read(1)


def slow(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, for ever."""
    handler.send_response_only(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        threading.Event().wait(0.05)


def cut(handler: BaseHTTPRequestHandler) -> None:
    body = json.dumps([issue()]).encode()
    handler.send_response_only(200)
    handler.send_header("content-length", str(len(body) + 10))
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


def redirect(status: int, location: str) -> Fault:
    return lambda handler: reply(handler, status, {}, location=location)


def endless(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, 302, {}, location=handler.path)


def date(seconds: float) -> str:
    return formatdate(AT + seconds, usegmt=True)


LIMITED = "API rate limit exceeded"
HTML = b"<html><body>Sign in</body></html>"
TOO_SLOW = "not answer in time"
ANSWERS: dict[str, tuple[Fault, str]] = {
    "400": (fault(400), "answers 400"),
    "401": (fault(401, "Bad credentials"), "rejects"),
    "401 without words": (raw(401, b""), "rejects"),
    "402": (fault(402), "answers 402"),
    "403": (fault(403, "Resource not accessible"), "refuses this (403)"),
    "403 html": (raw(403, HTML), "refuses this (403)"),
    "403 secondary limit": (fault(403, "secondary rate limit", retry_after=30), "limits"),
    "403 secondary limit in words": (
        fault(403, "You have exceeded a secondary rate limit"),
        "limits",
    ),
    "403 limit used up": (
        fault(403, LIMITED, x_ratelimit_remaining=0, x_ratelimit_reset=AT + 90, date=date(0)),
        "limits",
    ),
    "403 with something left": (fault(403, "no", x_ratelimit_remaining=7), "refuses this"),
    "404": (fault(404, "Not Found"), "shows no such repository"),
    "404 html": (raw(404, HTML), "shows no such repository"),
    "405": (fault(405), "answers 405"),
    "406": (fault(406), "answers 406"),
    "409": (fault(409), "answers 409"),
    "410 of the list": (fault(410, "Issues are disabled"), "has no issues"),
    "418": (fault(418), "answers 418"),
    "422": (fault(422, "Validation Failed"), "answers 422"),
    "429": (fault(429), "limits"),
    "429 with seconds": (fault(429, retry_after=5), "limits"),
    "429 with a date": (fault(429, retry_after=date(40), date=date(0)), "limits"),
    "429 with nonsense": (fault(429, retry_after="soon"), "limits"),
    "451": (fault(451), "answers 451"),
    "500": (fault(500), "fault (500)"),
    "501": (fault(501), "fault (501)"),
    "502": (raw(502, HTML), "fault (502)"),
    "503": (fault(503, retry_after=3), "fault (503)"),
    "504": (fault(504), "fault (504)"),
    "599": (fault(599), "fault (599)"),
    "200 html": (raw(200, HTML, content_type="text/html"), "no JSON (text/html)"),
    "200 nothing": (raw(200, b""), "no JSON"),
    "200 no utf-8": (raw(200, b"\xff\xfe[]"), "no"),
    "200 null": (raw(200, b"null"), "no list"),
    "200 an object": (raw(200, b'{"state": "closed", "number": 1}'), "no list"),
    "200 a text": (raw(200, b'"closed"'), "no list"),
    "200 deep": (raw(200, b"[" * 100_000), "no JSON"),
    "200 numbers": (listed(1, 2), "no issue"),
    "200 an issue without a state": (listed({**issue(), "state": None}), "no issue"),
    "200 another state": (listed(issue(state="locked")), "no issue"),
    "200 a number as text": (listed(issue(number="1")), "no issue"),
    "200 a number that is true": (listed(issue(number=True)), "no issue"),
    "200 no time": (listed(issue(updated_at=None)), "no issue"),
    "200 a time that is none": (listed(issue(updated_at="yesterday")), "no issue"),
    "200 no id": (
        listed({k: v for k, v in issue().items() if k not in ("id", "node_id")}),
        "no issue",
    ),
    "200 more than 5 MB": (raw(200, b" " * 5_000_001 + b"[]"), "more than 5 MB"),
    "200 packed": (raw(200, gzip.compress(b"[]"), content_encoding="gzip"), "encoding"),
    "200 packed a thousandfold": (
        raw(200, gzip.compress(b" " * 50_000_000), content_encoding="gzip"),
        "encoding",
    ),
    "200 cut off": (cut, "cannot be reached"),
    "201": (raw(201, json.dumps([issue()]).encode()), "answers 201"),
    "204": (fault(204), "answers 204"),
    "206": (raw(206, json.dumps([issue()]).encode()), "answers 206"),
    "300": (fault(300), "answers 300"),
    "208": (fault(208), "answers 208"),
    "301 to another host": (
        redirect(301, "https://example.invalid/issues"),
        "points to example.invalid",
    ),
    "302 to another port": (redirect(302, "http://127.0.0.1:1/x"), "points to 127.0.0.1"),
    "307 to another scheme": (redirect(307, "https://127.0.0.1/x"), "points to 127.0.0.1"),
    "308 for ever": (endless, "from address to address"),
    "302 to nothing": (redirect(302, "http://[::1"), "no"),
    "reset": (reset_connection, "cannot be reached"),
    "silence": (silence, TOO_SLOW),
    "one byte now and then": (slow, TOO_SLOW),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_such_an_answer_changes_nothing_says_why_and_is_recovered_from(name: str) -> None:
    answer, words = ANSWERS[name]
    clock = MovedClock()
    with tracker_server() as server:
        server.put(1)
        async with forge(server, clock, seconds=2.0 if words is TOO_SLOW else 20.0) as tracker:
            await tracker.look([ONE])
            server.forget()
            server.always = answer
            seen = await tracker.look([ONE])
            assert seen.facts[ONE].state is IssueState.OPEN
            assert words in seen.errors[0], seen.errors
            assert (seen.standing[0].good, seen.standing[0].words in seen.errors[0]) == (
                False,
                True,
            )
            asked = len(server.asked)
            await tracker.look([ONE])
            assert len(server.asked) == asked, "it is spared for a while"
            server.always = None
            server.close(1)
            clock.seconds += 4_000
            seen = await tracker.look([ONE])
            assert (seen.facts[ONE].state, seen.errors) == (IssueState.CLOSED, ())
            assert seen.standing[0].good


SINGLES: dict[str, Fault] = {
    "another number": lambda handler: reply(handler, 200, issue(number=2)),
    "another repository": lambda handler: reply(
        handler, 200, issue(repository_url="https://x/repos/o/other")
    ),
    "a list": listed(issue()),
    "410 without a word": fault(410),
    "404": fault(404),
    "403": fault(403),
    "500": fault(500),
    "304 that nobody asked for": fault(304),
    "html": raw(200, HTML),
}


@pytest.mark.parametrize("name", SINGLES)
async def test_a_single_answer_that_is_not_about_the_issue_is_no_evidence(name: str) -> None:
    with tracker_server() as server:
        server.put(2)
        async with forge(server) as tracker:
            server.faults = [None, SINGLES[name]]
            seen = await tracker.look([ONE])
            known: IssueFact | None = seen.facts.get(ONE)
            assert known is None or known.state is IssueState.UNKNOWN
            assert seen.errors or seen.standing[0].doubtful


async def test_a_list_of_another_repository_says_nothing_about_this_one() -> None:
    with tracker_server() as server:
        server.put(1)
        async with forge(server) as tracker:
            await tracker.look([ONE])
            server.faults = [listed(issue(repository_url="https://x/repos/o/other"))]
            seen = await tracker.look([ONE])
            assert seen.facts[ONE].state is IssueState.OPEN
            assert "shows one of o/other" in seen.standing[0].doubtful[0]


async def test_another_issue_under_the_same_number_says_nothing() -> None:
    with tracker_server() as server:
        server.put(1)
        async with forge(server) as tracker:
            await tracker.look([ONE])
            server.put(1, "closed", "completed", node_id="I_another")
            seen = await tracker.look([ONE])
            assert seen.facts[ONE].state is IssueState.OPEN
            assert "is another issue than it was" in seen.standing[0].doubtful[0]


async def test_an_issue_that_stands_twice_in_a_list_is_as_it_stands_first() -> None:
    with tracker_server() as server:
        server.put(1)
        async with forge(server) as tracker:
            older = issue(state="open", updated_at="2029-01-01T00:00:00Z")
            server.faults = [listed(issue(), older)]
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.CLOSED


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (fault(403, "secondary rate limit", retry_after=30), 30),
        (fault(429, retry_after=120), 120),
        (fault(403, LIMITED, x_ratelimit_remaining=0, x_ratelimit_reset=AT + 90, date=date(0)), 90),
        (fault(429), 60),
        (fault(401), 300),
        (fault(500), 5),
    ],
)
async def test_it_is_asked_again_when_it_said_and_not_before(answer: Fault, seconds: int) -> None:
    clock = MovedClock()
    with tracker_server() as server:
        server.put(1)
        async with forge(server, clock) as tracker:
            server.faults = [answer]
            seen = await tracker.look([ONE])
            again = seen.standing[0].again_ms
            assert again is not None
            assert seconds * 1000 <= again - clock.now_ms() <= seconds * 1100
            clock.seconds += seconds - 0.1
            await tracker.look([ONE], at_once=True)
            assert len(server.asked) == 1
            clock.seconds += seconds * 0.1 + 0.2
            assert (await tracker.look([ONE])).errors == ()


async def test_failures_that_go_on_are_asked_about_less_and_less() -> None:
    clock = MovedClock()
    with tracker_server(always=fault(500)) as server:
        async with forge(server, clock) as tracker:
            for _ in range(1_200):
                await tracker.look([ONE])
                clock.seconds += 1
        assert 5 <= len(server.asked) <= 12, "20 minutes"


async def test_the_causes_are_told_apart() -> None:
    words = []
    for answer in (fault(401), fault(429), fault(403), fault(404), fault(500), reset_connection):
        with tracker_server(always=answer) as server:
            async with forge(server) as tracker:
                words.append((await tracker.look([ONE])).errors[0])
    assert len(set(words)) == 6


async def test_one_repository_that_is_not_shown_keeps_the_others_going() -> None:
    other = IssueRef("", "o/other", 7)
    with tracker_server() as server:
        server.put(1)
        async with forge(server) as tracker:
            seen = await tracker.look([ONE, other])
            assert list(seen.facts) == [ONE]
            assert "shows no such repository" in seen.errors[0]


async def test_the_token_goes_to_no_other_place() -> None:
    with tracker_server() as stranger, tracker_server() as server:
        server.put(1)
        server.always = redirect(302, f"{stranger.address}/api/v3/repos/o/r/issues")
        async with forge(server) as tracker:
            await tracker.look([ONE])
        assert stranger.asked == []


async def test_a_next_page_at_another_place_is_not_followed() -> None:
    with tracker_server() as stranger, tracker_server() as server:
        link = f'<{stranger.address}/more>; rel="next"'
        server.put(2)
        server.faults = [lambda handler: reply(handler, 200, [], link=link)]
        async with forge(server) as tracker:
            seen = await tracker.look([IssueRef("", "o/r", n) for n in range(10, 20)])
            assert "points to 127.0.0.1" in seen.errors[0]
        assert stranger.asked == []


def opened_with(seen: list[tuple[Dialect, str | None]]) -> Callable[..., Forge]:
    def open_one(dialect: Dialect, token: str | None, token_env: str | None) -> Forge:
        seen.append((dialect, token))
        return Forge(dialect, MovedClock(), token, token_env)

    return open_one


async def test_the_decks_token_is_for_the_decks_tracker_alone() -> None:
    opened: list[tuple[Dialect, str | None]] = []
    config = {"kind": "gitea", "base_url": "https://git.example", "token_env": "T"}
    several = Trackers(config, {"T": "secret"}, opened_with(opened))
    several.fresh(IssueRef("", "o/r", 1))
    several.fresh(IssueRef("github.com", "o/r", 1))
    assert [(dialect.host, token) for dialect, token in opened] == [
        ("git.example", "secret"),
        ("github.com", None),
    ]
    seen = await several.look([IssueRef("evil.example", "o/r", 1)])
    assert "evil.example is not this deck's tracker" in seen.errors[0]
    assert len(opened) == 2
    await several.close()


async def test_a_full_address_of_the_decks_tracker_is_the_same_issue() -> None:
    with tracker_server() as server:
        server.close(1)
        config = {"kind": "github", "base_url": server.address, "token_env": "T"}
        several = trackers(config, {"T": "a-token"}, MovedClock())
        full = IssueRef(f"127.0.0.1:{server.port}", "o/r", 1)
        seen = await several.look([ONE, full])
        assert seen.facts[ONE] == seen.facts[full]
        assert len(server.asked) == 1
        await several.close()


async def test_a_look_that_is_cancelled_leaves_a_tracker_that_works() -> None:
    with tracker_server() as server:
        server.put(1)
        async with forge(server, seconds=5.0) as tracker:
            server.faults = [silence]
            async with anyio.create_task_group() as looks:
                looks.start_soon(tracker.look, [ONE])
                with anyio.fail_after(10):
                    while not server.asked:
                        await anyio.sleep(0.01)
                looks.cancel_scope.cancel()
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.OPEN


def test_sixty_answers_are_tried() -> None:
    assert len(ANSWERS) >= 60
