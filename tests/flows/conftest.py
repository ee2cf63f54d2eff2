"""A workspace, and terminals in it, for flows through the whole program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.terminal import Terminal
from tests.support.workspace import COMMAND, Workspace

OpenTerminal = Callable[..., Terminal]


@pytest.fixture
def terminal(space: Workspace) -> Iterator[OpenTerminal]:
    """Opens `batchdeck` in a real pseudo-terminal."""
    opened: list[Terminal] = []

    def run(*arguments: object, **given: Any) -> Terminal:
        command = [str(COMMAND), *map(str, arguments)]
        opened.append(Terminal(command, space.folder, space.environment, **given))
        return opened[-1]

    yield run
    for one in opened:
        one.close()
