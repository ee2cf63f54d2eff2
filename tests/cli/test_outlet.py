"""What is printed keeps its order, and a reader that does not read stops nobody."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from batchdeck.core.model.hold import END_DRAIN
from batchdeck.tui.cli.outlet import Outlet
from batchdeck.tui.cli.waiting import waits_for
from tests.support.stub_deck import NOW_MS, turn, view_of


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_words_on_another_stream_do_not_overtake_those_that_were_said_before(
    pipe: tuple[int, int],
) -> None:
    reading, writing = pipe
    out = Outlet(writing)
    for number in range(200):
        out.write(f"{number} before\n")
        out.settle()
        os.write(writing, f"{number} after\n".encode())
    said = os.read(reading, 1 << 16).decode().splitlines()
    assert said == [f"{n} {word}" for n in range(200) for word in ("before", "after")]
    out.close()


def test_a_reader_that_does_not_read_is_waited_for_once_and_briefly(
    pipe: tuple[int, int],
) -> None:
    reading, writing = pipe
    out = Outlet(writing)
    out.write("x" * (1 << 20))  # more than a pipe takes
    done = threading.Event()

    def settle() -> None:
        for _ in range(10_000):
            out.settle()
        done.set()

    threading.Thread(target=settle, daemon=True).start()
    assert done.wait(10)
    left = 1 << 20
    while left:
        left -= len(os.read(reading, left))
    out.close()


def test_what_waits_for_a_draining_deck_is_told_what_ends_the_drain() -> None:
    view = view_of([turn(1)], draining=True)
    assert waits_for(view, NOW_MS) == f"waits for you: the deck is draining ({END_DRAIN})"
