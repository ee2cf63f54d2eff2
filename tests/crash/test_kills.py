"""A supervisor may be killed at any moment: nothing is lost, doubled or stranded."""

from __future__ import annotations

import pytest

from batchdeck.core.points import POINTS
from tests.crash.harness import NamedPoints, RandomTimes
from tests.crash.victims import KINDS, Victims
from tests.support.length import so_many

pytestmark = pytest.mark.crash


def test_killed_at_every_named_point_it_loses_and_doubles_nothing(
    kills: int | None, seed: int
) -> None:
    report = NamedPoints(kills or so_many(120, 1_000), seed).run()
    assert report.findings.sound, report.line
    least = report.kills // 20
    missed = {point: report.hits[point] for point in POINTS if report.hits[point] < least}
    assert not missed, f"hit less than {least} times of {report.kills}: {missed}"


def test_killed_at_random_times_it_loses_and_doubles_nothing(kills: int | None, seed: int) -> None:
    report = RandomTimes(kills or so_many(60, 1_000), seed).run()
    assert report.findings.sound, report.line


def test_whoever_is_killed_nothing_is_lost_doubled_or_left_behind(
    kills: int | None, seed: int
) -> None:
    report = Victims(kills or so_many(60, 300), seed).run()
    assert report.findings.sound, report.line
    least = report.kills // 20
    assert {kind for kind in KINDS if report.hits[kind] >= least} == set(KINDS), report.hit
