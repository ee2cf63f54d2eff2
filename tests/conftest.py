"""What every test may ask for, and how hypothesis looks for examples."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
"""The same examples every time; `HYPOTHESIS_PROFILE=random` looks for new ones."""


@pytest.fixture
def anyio_backend() -> str:
    """The engine runs on asyncio's loop."""
    return "asyncio"
