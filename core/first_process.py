"""The first process of a container: it takes in whatever ends, and passes signals on."""

from __future__ import annotations

import os
import signal

_PASSED_ON = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
_SENT_BY_A_PROCESS = 0
"""Greatest `si_code` of a signal that a process sent (sigaction(2)); a terminal's reach the worker
without us, and twice is another thing than once."""


def stand_first() -> None:
    """Returns in a child, which does the work; this process ends with the child's exit code.

    Orphans become children of a container's first process. One that has other things to do would
    leave them as zombies.
    """
    heard = {signal.SIGCHLD, *_PASSED_ON}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    while True:
        told = signal.sigwaitinfo(heard)
        if told.si_signo in _PASSED_ON and told.si_code <= _SENT_BY_A_PROCESS:
            os.kill(worker, told.si_signo)  # not taken in yet, so nobody else's
        code = _take_in(worker)
        if code is not None:
            os._exit(code)


def _take_in(worker: int) -> int | None:
    """Takes in all that has ended; the worker's exit code, once it has."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code
        if pid == 0:
            return None
