"""What every test may ask for."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The engine runs on asyncio's loop."""
    return "asyncio"
