"""A supervisor may be killed at any moment: nothing is lost, doubled or stranded."""

from __future__ import annotations

import pytest

from batchdeck.core.points import POINTS
from tests.crash.harness import NamedPoints, RandomTimes
from tests.crash.victims import KINDS, Victims

pytestmark = pytest.mark.crash


def test_killed_at_every_named_point_it_loses_and_doubles_nothing(
    kills: int | None, seed: int
) -> None:
    report = NamedPoints(kills or 60, seed).run()
    assert report.findings.sound, report.line
    least = max(1, report.kills // 20) if report.kills >= 200 else 1
    missed = {point: report.hits[point] for point in POINTS if report.hits[point] < least}
    assert not missed, f"hardly ever hit: {missed}"


def test_killed_at_random_times_it_loses_and_doubles_nothing(kills: int | None, seed: int) -> None:
    report = RandomTimes(kills or 40, seed).run()
    assert report.findings.sound, report.line


def test_whoever_is_killed_nothing_is_lost_doubled_or_left_behind(
    kills: int | None, seed: int
) -> None:
    report = Victims(kills or 60, seed).run()
    assert report.findings.sound, report.line
    assert {kind for kind in KINDS if report.hits[kind]} == set(KINDS)
