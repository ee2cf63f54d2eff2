"""A file's text, taken in only where it is one."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from batchdeck.core.batchfile.faults import BatchFileFaults, Fault
from batchdeck.core.errors import BadInput
from batchdeck.core.text import one_line

SIZE_LIMIT = 5 * 1024 * 1024

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def read_source(path: Path, name: str | None = None, limit: int = SIZE_LIMIT) -> str:
    """The text of a file, without byte order mark and with newlines alone as line ends.

    `name` is what the file is called in faults; its path where nothing is given. `limit`: bytes.

    Raises:
        BadInput: it is missing, cannot be read, is no regular file, or is over the limit.
        BatchFileFaults: it is not UTF-8, or holds control characters.
    """
    called = name or str(path)
    content = _content(path, called, limit)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _position(content[: error.start].decode("utf-8", "replace"))
        raise BatchFileFaults([Fault(called, *place, "this is not UTF-8 text")]) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    faults = [
        Fault(called, *_position(text[: found.start()]), f"a control character, {found[0]!r}")
        for found in _CONTROL.finditer(text)
    ]
    if faults:
        raise BatchFileFaults(faults[:20])
    return text


def _content(path: Path, called: str, limit: int) -> bytes:
    called = one_line(called, 1000)
    try:
        # without O_NONBLOCK, opening a FIFO would wait for somebody who writes
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{called}: cannot be read: {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"{called}: not a regular file")
    with open(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        hint = "; move what is many into a file of its own (items: {file: …})"
        raise BadInput(f"{called}: over {limit // 1024**2} MB{hint if limit == SIZE_LIMIT else ''}")
    return content


def _position(before: str) -> tuple[int, int]:
    """Line and column of what follows `before`."""
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
