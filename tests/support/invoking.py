"""The command run in this process, through its own entry: quicker than a process."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from batchdeck.__main__ import main
from tests.support.workspace import Result, Workspace

Invoke = Callable[..., Result]


def invoker(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Invoke:
    """The command in a workspace."""

    def run(
        *arguments: object,
        code: int | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str = "",
    ) -> Result:
        with monkeypatch.context() as patch:
            patch.chdir(cwd or space.folder)
            patch.setattr(sys, "argv", ["batchdeck", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(input))
            for name, value in {**space.environment, **(env or {})}.items():
                patch.setenv(name, value)
            capfd.readouterr()
            ended = _ended()
        printed = capfd.readouterr()
        assert code is None or ended == code, f"{arguments}: {ended}, {printed}"
        return Result(ended, printed.out, printed.err)

    return run


def _ended() -> int:
    """The exit code of the command."""
    with _process_as_it_was(), pytest.raises(SystemExit) as left:
        main()
    code = left.value.code
    assert isinstance(code, int)
    return code


@contextmanager
def _process_as_it_was() -> Iterator[None]:
    """Takes back what the program sets for its own process: mask, log, garbage collection."""
    logger = logging.getLogger("batchdeck")
    mask, thresholds, raises = os.umask(0o022), gc.get_threshold(), logging.raiseExceptions
    try:
        yield
    finally:
        os.umask(mask)
        gc.set_threshold(*thresholds)
        logging.raiseExceptions = raises
        logger.propagate = True
        for handler in tuple(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
