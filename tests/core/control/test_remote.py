"""A second seat: it sees what the supervisor sees, does what it is told, and outlives its going."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pytest

from batchdeck.core.commands import OnBusy, Receipt, Send, SetLimit
from batchdeck.core.control.http import HEALTH
from batchdeck.core.control.remote import GONE, RemoteDeck, attached
from batchdeck.core.control.server import served
from batchdeck.core.control.wire import answer_document, receipt_from
from batchdeck.core.errors import NoSupervisor
from batchdeck.core.model.gate import Gate, GateName, Holder
from batchdeck.core.paths import DeckPaths
from batchdeck.core.port import Deck
from batchdeck.core.view import DeckView
from tests.core.control.test_server import at_work
from tests.core.control.test_views import same
from tests.support.puppets import bench

pytestmark = pytest.mark.anyio


async def until(deck: RemoteDeck, holds: Callable[[DeckView], bool]) -> DeckView:
    """Waits until the seat shows it."""
    with anyio.fail_after(10):
        view = deck.view
        while not holds(view):
            view = await deck.wait_newer(view.revision)
    return view


async def test_it_shows_what_the_supervisor_shows(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (here, path), attached(path) as seat:
        await until(seat, lambda view: view.running == 1 and view.queued == 1)
        await here.end(1)
        await until(seat, lambda view: view.live == (2,) and same(view, here.deck.view))


async def test_what_is_done_at_one_seat_is_seen_at_the_other_within_a_second(
    tmp_path: Path,
) -> None:
    async with at_work(tmp_path) as (here, path), attached(path) as one, attached(path) as other:
        receipt = await one.submit(SetLimit(name="agent:a", value=2, by="one"))
        assert (receipt.accepted, receipt.before) == (True, 1)
        assert here.deck.view.limits["agent:a"].value == 2
        with anyio.fail_after(1):
            await until(other, lambda view: view.limits["agent:a"].changed_by == "one")


async def test_a_busy_agent_is_answered_with_its_gates(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, path), attached(path) as seat:
        receipt = await seat.submit(Send(to="a", text="hi", on_busy=None))
        assert (receipt.accepted, receipt.exit_code) == (False, 3)
        assert receipt.error == "agent_parallelism_limit_reached"
        shut = [gate for gate in receipt.gates if not gate.open]
        assert [gate.name for gate in shut] == [GateName.AGENT]
        assert shut[0].holders[0].turn == 1
        queued = await seat.submit(Send(to="a", text="hi", on_busy=OnBusy.QUEUE))
        assert (queued.accepted, queued.turn) == (True, 3)


async def test_output_events_and_messages_come_across(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (here, path), attached(path) as seat:
        await here.end(1, text="done at last")
        assert (await seat.output(1)).data == b"done at last"
        assert list(await seat.events()) == list(await here.deck.events())
        conversation = here.deck.view.turns[1].conversation
        assert await seat.messages(conversation) == await here.deck.messages(conversation)
        assert await seat.spent(1) == await here.deck.spent(1)


async def test_to_a_supervisor_that_is_stopped_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("batchdeck.core.control.remote.ANSWER_SECONDS", 0.05)
    asked: list[str] = []

    async def stopped(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        await anyio.sleep_forever()

    transport = httpx.MockTransport(stopped)
    async with httpx.AsyncClient(transport=transport, base_url="http://deck") as client:
        receipt = await RemoteDeck(client).submit(SetLimit(name="global", value=3))
    assert (receipt.accepted, receipt.error) == (False, NoSupervisor("").code)
    assert "is its process stopped?" in receipt.message
    assert asked == [HEALTH]


async def test_a_seat_that_only_looks_changes_nothing(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (here, path), attached(path, read_only=True) as seat:
        revision = here.deck.view.revision
        receipt = await seat.submit(SetLimit(name="agent:a", value=2))
        assert (receipt.accepted, receipt.error) == (False, "read_only")
        assert here.deck.view.revision == revision


async def serving(deck: Deck, path: Path, until_told: anyio.Event) -> None:
    async with served(deck, path):
        await until_told.wait()


async def test_the_last_word_stays_when_the_supervisor_goes_and_it_goes_on_when_one_is_back(
    tmp_path: Path,
) -> None:
    path = DeckPaths(tmp_path / ".batchdeck").socket
    first, second = anyio.Event(), anyio.Event()
    async with bench(tmp_path) as here, anyio.create_task_group() as servers:
        servers.start_soon(serving, here.deck, path, first)
        async with attached(path) as seat:
            await here.deck.submit(SetLimit(name="global", value=3))
            await until(seat, lambda view: view.limits["global"].value == 3)
            first.set()
            gone = await until(seat, lambda view: not view.supervised)
            assert (gone.banner, gone.limits["global"].value) == (GONE, 3)
            while path.exists():  # it says its last word before it closes the door
                await anyio.sleep(0.01)
            assert not (await seat.submit(SetLimit(name="global", value=4))).accepted
            with pytest.raises(NoSupervisor):
                await seat.events()
            await here.deck.submit(SetLimit(name="global", value=2))
            servers.start_soon(serving, here.deck, path, second)
            back = await until(seat, lambda view: view.supervised)
            assert (back.banner, back.limits["global"].value) == (None, 2)
            assert back.revision > gone.revision
        second.set()


async def test_nobody_at_the_socket_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchdeck.core.control.remote.PATIENCE_SECONDS", 0.1)
    with pytest.raises(NoSupervisor, match="does not answer"):
        await attached(tmp_path / "control.sock").__aenter__()


async def test_a_caller_that_cannot_be_answered_closes_the_door_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    async with at_work(tmp_path) as (_, path):
        with monkeypatch.context() as patched:
            patched.setattr("batchdeck.core.control.remote.PATIENCE_SECONDS", 0.1)
            patched.setattr("batchdeck.core.control.watching.lines_of", broken)
            with pytest.raises(NoSupervisor):
                await attached(path).__aenter__()
        async with attached(path) as seat:
            assert seat.view.running == 1


def test_a_gate_is_the_same_at_both_ends() -> None:
    holder = Holder(11, "T1", 5, forced=True)
    gate = Gate(
        GateName.FOLDER, False, "/data/docs", 1, 1, (holder,), "when #11 ends", True, "under docs"
    )
    answer = answer_document(Receipt(accepted=False, error="busy", exit_code=3, gates=(gate,)))
    assert receipt_from(answer).gates == (gate,)
