"""The `batchdeck` command: what has to stand before anything else is loaded."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """The `batchdeck` command."""
    if sys.platform == "win32":
        sys.exit("batchdeck runs on Linux and macOS.")
    if os.getpid() == 1:
        from batchdeck.core.first_process import stand_first

        stand_first()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it quietly until somebody watches for it
    os.umask(0o077)
    _give_what_is_missing()
    try:
        from batchdeck.root import run

        sys.exit(run())
    finally:
        _let_go_of_what_is_gone()


def _give_what_is_missing() -> None:
    """A program that was started with its standard streams closed must not open its files there."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _let_go_of_what_is_gone() -> None:
    """A terminal or reader that has gone must not change the exit code (Python would make it 120).

    What could not be written goes to nowhere.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


if __name__ == "__main__":
    main()
