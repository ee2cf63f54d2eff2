"""Issues followed on a real server: cheaply, in pages, and never believed further than it says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from batchdeck.core.model.issue import IssueRef, IssueState
from batchdeck.core.trackers.dialects import dialect_for
from batchdeck.core.trackers.forge import MOST_SINGLES, Forge
from tests.support.tracker_server import TrackerServer, fault, tracker_server

pytestmark = pytest.mark.anyio


class MovedClock:
    """A clock that goes on only when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def monotonic(self) -> float:
        return self.seconds

    def now_ms(self) -> int:
        return int(self.seconds * 1000)


@asynccontextmanager
async def forge(
    server: TrackerServer, clock: MovedClock | None = None, **fields: object
) -> AsyncIterator[Forge]:
    dialect = dialect_for(server.kind, server.address)
    given = {"token": server.token, "token_env": None, "seconds": 20.0, **fields}
    made = Forge(dialect, clock or MovedClock(), **given)
    try:
        yield made
    finally:
        await made.close()


def refs(numbers: Iterable[int], repo: str = "o/r") -> list[IssueRef]:
    return [IssueRef("", repo, number) for number in numbers]


ONE = IssueRef("", "o/r", 1)


@pytest.mark.parametrize("kind", ["github", "gitea"])
async def test_a_closed_issue_is_seen_with_what_happened_to_it(kind: str) -> None:
    with tracker_server(kind) as server:
        server.put(1)
        async with forge(server) as tracker:
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.OPEN
            server.close(1)
            fact = (await tracker.look([ONE])).facts[ONE]
            assert fact.state is IssueState.CLOSED
            assert fact.event.startswith("2023-")
            server.put(1)
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.OPEN


@pytest.mark.parametrize("reason", ["completed", "not_planned", "duplicate", None])
async def test_the_reason_of_a_closed_issue_is_kept(reason: str | None) -> None:
    with tracker_server() as server:
        server.close(1, reason)
        async with forge(server) as tracker:
            assert (await tracker.look([ONE])).facts[ONE].reason == reason


@pytest.mark.parametrize(
    ("kind", "pull", "state"),
    [
        ("github", {"merged_at": "2024-01-01T00:00:00Z"}, IssueState.MERGED),
        ("github", {"merged_at": None}, IssueState.CLOSED),
        ("gitea", {"merged": True, "merged_at": None}, IssueState.MERGED),
        ("gitea", {"merged": False, "merged_at": None}, IssueState.CLOSED),
    ],
)
async def test_a_merged_pull_request_is_told_from_one_that_was_only_closed(
    kind: str, pull: dict[str, object], state: IssueState
) -> None:
    with tracker_server(kind) as server:
        server.put(1, "closed", pull=pull)
        async with forge(server) as tracker:
            seen = await tracker.look([ONE])
            assert (seen.facts[ONE].state, seen.facts[ONE].is_pull) == (state, True)
            doubts = seen.standing[0].doubtful
            assert bool(doubts) is (state is IssueState.CLOSED)


async def test_five_hundred_tasks_cost_one_list_a_look_and_then_nothing() -> None:
    with tracker_server() as server:
        for number in range(1, 151):
            server.put(number, repo="o/r")
            server.put(number, repo="o/s")
        wanted = [*refs(range(1, 151)), *refs(range(1, 151), "o/s")]
        async with forge(server) as tracker:
            seen = await tracker.look(wanted)
            assert len(seen.facts) == 300
            assert (len(server.lists), len(server.singles)) == (2, 0)
            server.forget()
            for _ in range(5):
                await tracker.look(wanted)
            assert [one.status for one in server.asked] == [304] * 10
            assert len({(one.path, *one.query.items()) for one in server.asked}) == 2
            server.forget()
            server.close(7)
            assert (await tracker.look(wanted)).facts[refs([7])[0]].state is IssueState.CLOSED
            assert [one.status for one in server.asked] == [200, 304]


async def test_without_issues_nothing_is_asked() -> None:
    with tracker_server() as server:
        async with forge(server) as tracker:
            await tracker.look([])
        assert server.asked == []


async def test_what_changed_is_read_over_as_many_pages_as_it_takes() -> None:
    with tracker_server() as server:
        for number in range(1, 251):
            server.put(number)
        wanted = refs(range(1, 251))
        async with forge(server) as tracker:
            await tracker.look(wanted)
            server.forget()
            for number in range(1, 151):
                server.close(number)
            seen = await tracker.look(wanted)
            closed = [ref for ref, fact in seen.facts.items() if fact.state is IssueState.CLOSED]
            assert len(closed) == 150
            assert len(server.asked) == 2


async def test_a_second_page_that_fails_hides_nothing_and_stops_nothing() -> None:
    with tracker_server() as server:
        for number in range(1, 206):
            server.put(number)
        server.close(205)
        wanted = refs(range(1, 206))
        clock = MovedClock()
        async with forge(server, clock) as tracker:
            server.faults = [None, fault(502)]
            seen = await tracker.look(wanted)
            assert {f.state for r, f in seen.facts.items() if r.number != 205} == {IssueState.OPEN}
            assert seen.facts[wanted[-1]].state is IssueState.CLOSED, "that page was good"
            assert "fault (502)" in seen.errors[0]
            clock.seconds += 10
            seen = await tracker.look(wanted)
            assert (len(seen.facts), seen.errors) == (205, ())


async def test_what_no_list_reaches_is_asked_for_singly_and_not_all_at_once() -> None:
    with tracker_server(per_page=10) as server:
        for number in range(1, 201):
            server.put(number)
        wanted = refs(range(1, 81))  # the oldest: beyond the pages that are read
        async with forge(server) as tracker:
            known = []
            for _ in range(4):
                known.append(len((await tracker.look(wanted)).facts))
            assert known == [MOST_SINGLES, 2 * MOST_SINGLES, 80, 80]
            assert len(server.singles) == 80


async def test_more_changes_than_are_read_put_what_was_known_in_doubt() -> None:
    with tracker_server(per_page=10) as server:
        for number in range(1, 301):
            server.put(number)
        first = refs([1])
        async with forge(server) as tracker:
            await tracker.look(first)
            server.close(1)
            for number in range(2, 301):
                server.put(number)
            server.forget()
            seen = await tracker.look(first)
            assert seen.facts[ONE].state is IssueState.CLOSED
            assert len(server.singles) == 1


async def test_an_issue_that_was_moved_away_is_followed_within_its_origin_and_told() -> None:
    with tracker_server() as server:
        server.put(1)
        server.put(5, "closed", "completed", repo="o/new")
        clock = MovedClock()
        async with forge(server, clock) as tracker:
            await tracker.look([ONE])
            del server.issues["o/r"][1]
            server.moved["o/r", 1] = f"{server.address}/api/v3/repos/o/new/issues/5"
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.OPEN
            clock.seconds += 3_601
            seen = await tracker.look([ONE])
            assert seen.facts[ONE].state is IssueState.CLOSED
            assert seen.standing[0].doubtful == ("o/r#1 was moved to o/new#5",)
            server.put(5, repo="o/new")
            clock.seconds += 61
            fact = (await tracker.look([ONE])).facts[ONE]
            assert fact.state is IssueState.OPEN, "no list shows it, so it is asked for each minute"


async def test_a_deleted_issue_is_told_once_and_not_asked_for_again() -> None:
    with tracker_server() as server:
        server.put(2)
        server.gone["o/r", 1] = (410, "This issue was deleted")
        async with forge(server) as tracker:
            for _ in range(3):
                assert (await tracker.look([ONE])).facts[ONE].state is IssueState.DELETED
            assert len(server.singles) == 1


async def test_an_issue_that_is_not_shown_is_unknown_and_stays_so() -> None:
    with tracker_server() as server:
        server.put(2)
        async with forge(server) as tracker:
            for _ in range(3):
                seen = await tracker.look([ONE])
                assert seen.facts[ONE].state is IssueState.UNKNOWN
                assert seen.standing[0].doubtful == ("o/r#1 is unknown there (404)",)
            assert len(server.singles) == 1


async def test_without_a_token_it_is_asked_every_five_minutes() -> None:
    with tracker_server(token=None) as server:
        server.put(1)
        clock = MovedClock()
        async with forge(server, clock, token=None) as tracker:
            seen = await tracker.look([ONE])
            assert "without a token" in seen.standing[0].words
            for _ in range(9):
                clock.seconds += 30
                await tracker.look([ONE])
            assert len(server.asked) == 1
            clock.seconds += 30
            await tracker.look([ONE])
            assert len(server.asked) == 2


async def test_a_list_is_not_asked_for_again_before_it_wants_to_be() -> None:
    with tracker_server(poll_interval=60) as server:
        server.put(1)
        clock = MovedClock()
        async with forge(server, clock) as tracker:
            await tracker.look([ONE])
            server.close(1)
            clock.seconds += 59
            seen = await tracker.look([ONE])
            assert (len(server.lists), seen.errors, seen.standing[0].good) == (1, (), True)
            clock.seconds += 1
            assert (await tracker.look([ONE])).facts[ONE].state is IssueState.CLOSED


async def test_a_token_that_is_named_and_not_set_asks_nothing() -> None:
    with tracker_server() as server:
        async with forge(server, token=None, token_env="GITHUB_TOKEN") as tracker:
            seen = await tracker.look([ONE])
            assert "GITHUB_TOKEN is not set" in seen.errors[0]
            assert not seen.standing[0].good
        assert server.asked == []


async def test_what_was_just_confirmed_is_fresh_enough_to_start_upon() -> None:
    with tracker_server() as server:
        server.put(1)
        clock = MovedClock()
        async with forge(server, clock) as tracker:
            assert not tracker.fresh(ONE)
            await tracker.look([ONE])
            assert tracker.fresh(ONE)
            clock.seconds += 61
            assert not tracker.fresh(ONE)
            server.always = fault(500)
            await tracker.look([ONE])
            assert tracker.fresh(ONE), "it is spared: to wait for it would bring nothing"


async def test_the_token_and_the_version_are_sent_as_its_interface_wants_them() -> None:
    with tracker_server() as server:
        server.put(1)
        async with forge(server) as tracker:
            await tracker.look([ONE])
        headers = server.asked[0].headers
        assert headers["authorization"] == "Bearer a-token"
        assert headers["x-github-api-version"] == "2022-11-28"
        assert headers["user-agent"].startswith("batchdeck/")


@pytest.mark.parametrize(
    ("kind", "address", "base", "host"),
    [
        ("github", None, "https://api.github.com", "github.com"),
        ("github", "https://github.com/", "https://api.github.com", "github.com"),
        ("github", "https://api.github.com", "https://api.github.com", "github.com"),
        ("github", "https://ghe.corp", "https://ghe.corp/api/v3", "ghe.corp"),
        ("github", "https://ghe.corp/api/v3/", "https://ghe.corp/api/v3", "ghe.corp"),
        ("github", "https://x.ghe.com", "https://api.x.ghe.com", "x.ghe.com"),
        ("github", "https://api.x.ghe.com", "https://api.x.ghe.com", "x.ghe.com"),
        ("gitea", "https://git.example/git", "https://git.example/git/api/v1", "git.example"),
        ("gitea", "https://codeberg.org/api/v1", "https://codeberg.org/api/v1", "codeberg.org"),
    ],
)
def test_its_address_is_found_from_what_people_write(
    kind: str, address: str | None, base: str, host: str
) -> None:
    dialect = dialect_for(kind, address)
    assert (dialect.base, dialect.host) == (base, host)
