"""Time goes on whatever is done to the wall clock."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from batchdeck.core.clock import SystemClock
from batchdeck.core.executors import runner
from batchdeck.tui.present.happenings import clock_time

MONTHS = (3, 4, 10, 11)
"""In which clocks are put forward and back, on both halves of the earth."""


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


class StandingStill(runner.Alarm):
    """The runner's alarm, without its signals."""

    def __init__(self) -> None:
        self.stop_asked = False


@pytest.mark.parametrize("hours", [12, -24, 24])
def test_a_suspended_machine_or_a_clock_that_is_set_charges_no_agent(
    hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a machine sleeps the clocks of the wall and of the boot go on, and this one not."""
    now = {"monotonic": 1000.0, "wall": 1_800_000_000.0}
    clocks = {
        "monotonic": lambda: now["monotonic"],
        "time": lambda: now["wall"],
        "clock_gettime": lambda clock: now["wall"],
    }
    monkeypatch.setattr(runner, "time", SimpleNamespace(**clocks))
    ended = []
    monkeypatch.setattr(runner.Watch, "_end_tree", lambda watch, at: ended.append(watch.end) or {})
    (tmp_path / "output").touch()
    spec = {"timeout_seconds": 2700, "grace_seconds": 5, "output_cap": 1 << 20}
    watch = runner.Watch(str(tmp_path), os.getpid(), spec, StandingStill())
    now["wall"] += hours * 3600
    watch._act(runner.time.monotonic())
    assert ended == []
    now["monotonic"] += 2701
    watch._act(runner.time.monotonic())
    assert ended == ["timed out"]


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
)
def test_a_change_of_zone_or_of_daylight_saving_changes_what_is_shown_and_nothing_else(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SystemClock()
    before = clock.now_ms()
    hours = [int(datetime(2026, month, 1, tzinfo=ZoneInfo("UTC")).timestamp()) for month in MONTHS]
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for hour in hours:
            for at in range(hour, hour + 31 * 86_400, 1800):
                shown = clock_time(at * 1000)
                assert shown == datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%H:%M:%S")
        assert 0 <= clock.now_ms() - before < 10_000
    finally:
        monkeypatch.undo()
        time.tzset()
