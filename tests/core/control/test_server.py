"""The control socket: who may reach it, what it refuses, and a command that is done once."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from batchdeck.core.commands import Send, SetLimit
from batchdeck.core.control import server
from batchdeck.core.control.client import call
from batchdeck.core.control.http import MOST_BYTES
from batchdeck.core.control.server import served
from batchdeck.core.control.wire import command_document, command_from
from batchdeck.core.errors import BadInput, NoSupervisor
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.paths import DeckPaths
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import Bench, bench

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[tuple[Bench, Path]]:
    """A served deck whose agent `a` is busy with T1, while T2 waits; and its socket."""
    paths = DeckPaths(folder / ".batchdeck")
    async with bench(folder) as here, served(here.deck, paths.socket):
        tasks = [TaskSpec("T1", "a"), TaskSpec("T2", "a")]
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1)]))
        await here.puppets.until_begun(1)
        yield here, paths.socket


async def talk(path: Path, data: bytes) -> bytes:
    """Everything the server says to some bytes, until it hangs up."""
    with anyio.fail_after(10):
        async with await anyio.connect_unix(path) as stream:
            said = b""
            try:
                await stream.send(data)
                while True:
                    said += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return said


def request(body: bytes, method: str = "POST", target: str = "/v1/commands") -> bytes:
    head = f"{method} {target} HTTP/1.1\r\nHost: deck\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def ask(path: Path, document: Any, **given: str) -> tuple[int, Any]:
    """Status and document of the answer to one request."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    said = await talk(path, request(body, **given))
    head, _, answer = said.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(answer)


@pytest.fixture
def open_mask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_mask")
async def test_only_the_owner_can_reach_it_whatever_the_mask(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE((path.parent / "deck.db").stat().st_mode) & 0o077 == 0
        assert os.umask(0) == 0, "the process's mask is as it was"
    assert not path.exists()


async def test_a_command_is_answered_once_its_effect_is_there(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (here, path):
        status, answer = await ask(path, {"kind": "limit", "name": "agent:a", "value": 2})
        assert (status, answer["accepted"], answer["exit_code"]) == (200, True, 0)
        assert here.deck.view.live == (1, 2)


async def test_the_client_speaks_to_it(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path):
        command = SetLimit(name="global", value=3)
        answer = await anyio.to_thread.run_sync(call, path, command)
        assert (answer.accepted, answer.exit_code, answer.document["before"]) == (True, 0, 4)


async def test_the_same_command_twice_is_carried_out_once(tmp_path: Path) -> None:
    send = {"kind": "send", "id": "x1", "to": "a", "text": "hi", "on_busy": "queue"}
    async with at_work(tmp_path) as (here, path):
        first = await ask(path, send)
        assert await ask(path, send) == first
        assert here.deck.view.queued == 2


async def test_the_same_command_twice_at_once_is_carried_out_once(tmp_path: Path) -> None:
    send = {"kind": "send", "id": "x1", "to": "a", "text": "hi", "on_busy": "queue"}
    answers: list[Any] = []
    async with at_work(tmp_path) as (here, path):
        async with anyio.create_task_group() as senders:

            async def once() -> None:
                answers.append(await ask(path, send))

            for _ in range(5):
                senders.start_soon(once)
        assert all(answer == answers[0] for answer in answers)
        assert here.deck.view.queued == 2


async def test_a_busy_agent_is_409_with_its_gates_and_nothing_is_stored(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (here, path):
        status, answer = await ask(path, {"kind": "send", "to": "a", "text": "hi"})
        assert (status, answer["exit_code"]) == (409, 3)
        receipt = answer["receipt"]
        assert receipt["error"] == "agent_parallelism_limit_reached"
        (gate,) = receipt["gates"]
        assert (gate["gate"], gate["open"], gate["used"], gate["limit"]) == ("agent", False, 1, 1)
        assert [holder["task"] for holder in gate["holders"]] == ["T1"]
        assert receipt["position"] == 1
        assert here.deck.view.queued == 1


@pytest.mark.parametrize("to", ["a", "nobody", "c99", ""])
@pytest.mark.parametrize("on_busy", ["now", "", "QUEUE", 1, True, [], {}])
async def test_a_bad_on_busy_is_400_before_anything_is_looked_up(
    tmp_path: Path, to: str, on_busy: Any
) -> None:
    async with at_work(tmp_path) as (here, path):
        command = {"kind": "send", "to": to, "text": "hi", "on_busy": on_busy}
        status, answer = await ask(path, command)
        assert (status, answer["error"]) == (400, "on_busy_invalid")
        assert here.deck.view.queued == 1


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        b"NaN",
        [],
        7,
        {},
        {"kind": "explode"},
        {"kind": None},
        {"kind": ["send"]},
        {"kind": "limit", "name": "global", "value": 2, "valu": 3},
        {"kind": "limit", "name": "global"},
        {"kind": "limit", "name": "global", "value": "many"},
        {"kind": "limit", "name": "global", "value": 2.5},
        {"kind": "limit", "name": 7, "value": 1},
        {"kind": "stop", "turn": None},
        {"kind": "send", "to": "a"},
        {"kind": "status", "task": "T1", "status": "GONE"},
    ],
)
async def test_what_is_no_command_is_400_in_words(tmp_path: Path, document: Any) -> None:
    async with at_work(tmp_path) as (here, path):
        before = here.deck.view.limits
        status, answer = await ask(path, document)
        assert status == 400
        assert answer["message"]
        assert here.deck.view.limits == before


async def test_unknown_keys_are_named(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path):
        _, answer = await ask(path, {"kind": "drain", "on": True, "of": 1})
        assert "'of'" in answer["message"]


@pytest.mark.parametrize("value", [True, "3", 2.5, [3]])
async def test_a_limit_that_is_no_whole_number_is_refused(tmp_path: Path, value: object) -> None:
    async with at_work(tmp_path) as (here, path):
        before = here.view.limits
        status, told = await ask(path, {"kind": "limit", "name": "global", "value": value})
        assert status == 400
        assert "value" in told["message"]
        assert here.view.limits == before


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/v1/commands", 405),
        ("POST", "/v2/commands", 404),
        ("POST", "/", 404),
        ("GET", "/v1/health", 200),
    ],
)
async def test_other_requests_get_their_own_status(
    tmp_path: Path, method: str, target: str, expected: int
) -> None:
    async with at_work(tmp_path) as (_, path):
        status, _ = await ask(path, {"kind": "drain"}, method=method, target=target)
        assert status == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /v1/commands HTTP/1.1\r\n\r\n",
        b"POST /v1/commands HTTP/1.1\r\nHost: d\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/commands HTTP/9.9\r\nHost: d\r\nConnection: close\r\n\r\n",
        b"POST / HTTP/1.1\r\nConnection: close\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    ],
)
async def test_what_is_no_http_is_refused_and_the_deck_works_on(
    tmp_path: Path, data: bytes
) -> None:
    async with at_work(tmp_path) as (here, path):
        said = await talk(path, data)
        assert said == b"" or said.startswith(b"HTTP/1.1 4")
        assert (await ask(path, {"kind": "drain"}))[0] == 200
        assert here.deck.view.mode == "draining"


async def test_a_request_that_is_too_large_is_413(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path):
        said = await talk(path, request(b" " * (MOST_BYTES + 1)))
        assert said.startswith(b"HTTP/1.1 413") or said == b""
        assert (await ask(path, {"kind": "drain"}))[0] == 200


async def test_a_caller_that_hangs_up_in_the_middle_disturbs_nobody(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path):
        async with await anyio.connect_unix(path) as stream:
            await stream.send(
                b"POST /v1/commands HTTP/1.1\r\nHost: d\r\nContent-Length: 9\r\n\r\n{"
            )
        async with await anyio.connect_unix(path):
            pass
        assert (await ask(path, {"kind": "drain"}))[0] == 200


async def test_several_requests_share_a_connection(tmp_path: Path) -> None:
    body = json.dumps(command_document(SetLimit(name="global", value=3))).encode()
    both = request(body).replace(b"Connection: close\r\n", b"") + request(body)
    async with at_work(tmp_path) as (_, path):
        assert (await talk(path, both)).count(b"HTTP/1.1 200") == 2


async def test_the_socket_of_a_supervisor_that_is_gone_is_taken_over(tmp_path: Path) -> None:
    paths = DeckPaths(tmp_path / ".batchdeck")
    paths.make()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(paths.socket))
    assert paths.socket.exists()
    async with at_work(tmp_path) as (_, path):
        assert (await ask(path, {"kind": "drain"}))[0] == 200


async def test_a_file_in_the_sockets_place_is_left_alone_and_named(tmp_path: Path) -> None:
    paths = DeckPaths(tmp_path / ".batchdeck")
    paths.make()
    paths.socket.write_text("mine")
    async with bench(tmp_path) as here:
        with pytest.raises(BadInput, match="is not a socket"):
            async with served(here.deck, paths.socket):
                pass
    assert paths.socket.read_text() == "mine"


async def test_a_deck_with_a_long_path_has_its_socket_elsewhere_and_as_private(
    tmp_path: Path,
) -> None:
    folder = tmp_path / ("long-" * 20)
    folder.mkdir()
    async with at_work(folder) as (_, path):
        assert len(os.fsencode(path)) <= 104
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert (await ask(path, {"kind": "drain"}))[0] == 200
    assert not path.exists()


def test_a_folder_of_somebody_else_is_no_place_for_a_socket(tmp_path: Path) -> None:
    deck = tmp_path / "deck"
    (tmp_path / "real").mkdir()
    deck.symlink_to(tmp_path / "real")
    with pytest.raises(BadInput, match="not a folder of its own"):
        DeckPaths(deck).make()


def test_where_nobody_answers_the_client_gives_up_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchdeck.core.control.client.PATIENCE_SECONDS", 0.1)
    with pytest.raises(NoSupervisor, match="does not answer"):
        call(tmp_path / "nothing.sock", SetLimit(name="global", value=1))


async def test_a_busy_folder_is_409_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "docs" / "api").mkdir(parents=True)
    inside = replace(demo_agent("b", 1), folder=str(tmp_path / "docs" / "api"))
    tasks = [TaskSpec("T1", "a", folder=str(tmp_path / "docs"))]
    paths = DeckPaths(tmp_path / ".batchdeck")
    async with bench(tmp_path) as here, served(here.deck, paths.socket):
        await here.add(batch_spec("b", tasks, [demo_agent("a", 1), inside]))
        await here.puppets.until_begun(1)
        status, answer = await ask(paths.socket, {"kind": "send", "to": "b", "text": "hi"})
        assert (status, answer["receipt"]["error"]) == (409, "agent_folder_busy")
        (gate,) = answer["receipt"]["gates"]
        assert (gate["gate"], gate["passable"]) == ("folder", False)
        assert [holder["turn"] for holder in gate["holders"]] == ["1"]
        assert len(here.view.turns) == 1


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing can be opened any more by this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # below all that is open: what closes meanwhile makes no room
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_caller_that_cannot_be_let_in_waits_and_the_deck_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(tmp_path) as (here, path):
        with socket.socket(socket.AF_UNIX) as caller:
            with no_more_files():
                caller.connect(str(path))
                with anyio.fail_after(10):
                    while "callers wait" not in caplog.text:
                        await anyio.sleep(0.01)
            caller.sendall(request(b"", "GET", "/v1/health"))
            said = await anyio.to_thread.run_sync(caller.recv, 65536)
        assert said.startswith(b"HTTP/1.1 200")
        await here.end(1)
        await here.puppets.until_begun(2)


def test_a_command_names_only_what_is_not_as_by_default() -> None:
    sent = Send(id="1", to="a", text="x", held=True)
    assert command_document(sent) == {
        "kind": "send",
        "id": "1",
        "to": "a",
        "text": "x",
        "held": True,
    }
    assert command_from(command_document(sent)) == sent


async def test_more_callers_than_there_are_seats_are_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CALLERS", 1)
    health = request(b"", "GET", "/v1/health")
    async with at_work(tmp_path) as (_, path):
        async with await anyio.connect_unix(path) as first:
            await first.send(health.replace(b"Connection: close\r\n", b""))
            assert (await first.receive()).startswith(b"HTTP/1.1 200")
            assert await talk(path, health) == b""
        with anyio.fail_after(10):
            while not await talk(path, health):
                await anyio.sleep(0.01)


@pytest.mark.parametrize("question", ["output?turn=1&start=0", "history?after=0"])
async def test_one_answer_has_a_bound(tmp_path: Path, question: str) -> None:
    most = server.MOST_AT_ONCE[question.partition("?")[0]]
    async with at_work(tmp_path) as (_, path):
        for limit, status in ((-1, 400), (0, 200), (most, 200), (most + 1, 400)):
            target = f"/v1/{question}&limit={limit}"
            found, answer = await ask(path, b"", method="GET", target=target)
            assert found == status, target
            if status == 400:
                assert str(most) in answer["message"]
