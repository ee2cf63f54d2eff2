"""Reading over the hole in an output of which the middle was given back to the disk."""

from __future__ import annotations

import errno
import os


def read_piece(file: int, begin: int, limit: int) -> tuple[int, bytes]:
    """What there is from `begin` on, up to the next hole, and where it begins: behind a hole.

    `file`: a descriptor, whose own position counts for nothing.
    """
    begin = _behind_hole(file, begin)
    return begin, os.pread(file, min(limit, _next_hole(file, begin, limit) - begin), begin)


def _behind_hole(file: int, begin: int) -> int:
    size = os.fstat(file).st_size
    if begin >= size:
        return begin
    try:
        return os.lseek(file, begin, os.SEEK_DATA)
    except OSError as error:  # nothing but a hole up to the end, or a system without such
        return size if error.errno == errno.ENXIO else begin


def _next_hole(file: int, begin: int, limit: int) -> int:
    try:
        return os.lseek(file, begin, os.SEEK_HOLE)
    except OSError:
        return begin + limit
