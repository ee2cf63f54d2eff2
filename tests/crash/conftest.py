"""How many kills, from which seed: `--kills 1000 --seed 21`, or the variables of these names."""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=None, help="Kills per crash test.")
    parser.addoption("--seed", type=int, default=None, help="Seed of the crash tests.")


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int | None:
    """How many kills were asked for; None: as many as the test itself thinks enough."""
    given = request.config.getoption("--kills", None) or os.environ.get("BATCHDECK_KILLS")
    return None if given is None else int(given)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    given = request.config.getoption("--seed", None) or os.environ.get("BATCHDECK_SEED")
    return 21 if given is None else int(given)
