"""What every test may ask for, and how hypothesis looks for examples."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.support.length import VARIABLE

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
"""The same examples every time; `HYPOTHESIS_PROFILE=random` looks for new ones."""


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "The larger figures: more kills, steps, images and cases (tests/README.md)."
    parser.addoption("--at-length", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is imported: sizes are chosen at import."""
    if config.getoption("--at-length"):
        os.environ[VARIABLE] = "1"


@pytest.fixture
def anyio_backend() -> str:
    """The engine runs on asyncio's loop."""
    return "asyncio"
