"""What every test may ask for, and how hypothesis looks for examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.invoking import Invoke, invoker
from tests.support.length import VARIABLE
from tests.support.workspace import Workspace, workspaces

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


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    """A project folder of its own, with the installed command in it."""
    yield from workspaces(tmp_path)


@pytest.fixture
def invoke_in(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Workspace], Invoke]:
    """Runs the command in this process, in whatever workspace."""
    return lambda space: invoker(space, monkeypatch, capfd)


@pytest.fixture
def invoke(invoke_in: Callable[[Workspace], Invoke], request: pytest.FixtureRequest) -> Invoke:
    """The command in the deck at work where the test has one, else in its workspace."""
    name = "dispatched" if "dispatched" in request.fixturenames else "space"
    return invoke_in(request.getfixturevalue(name))
