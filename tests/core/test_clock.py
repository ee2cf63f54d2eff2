"""Time goes on whatever is done to the wall clock."""

from __future__ import annotations

import time

import pytest

from batchdeck.core.clock import SystemClock


def test_now_is_now() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_wall_clock_that_is_set_changes_nothing(
    jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SystemClock()
    before = clock.now_ms()
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + jump * 1_000_000_000)
    assert 0 <= clock.now_ms() - before < 1000
