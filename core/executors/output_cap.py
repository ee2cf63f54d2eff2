"""An agent's output, of which the middle is given back to the disk beyond a cap.

It stands alone, as the runner does.
"""

from __future__ import annotations

import os
import sys

_KEPT_HEAD, _KEPT_TAIL = 0.25, 0.5
"""Parts of the cap that are kept of an output from its beginning and from its end."""
_BLOCK = 4096
_PUNCH_HOLE = 0x03  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, fallocate(2)


class CappedOutput:
    """The file that the agent writes to. Beyond its cap, its middle is given back to the disk.

    The file keeps its length and the agent its descriptor: what is left out is a hole in it.
    """

    def __init__(self, path: str, cap: int) -> None:
        """Raises OSError where there is no such file."""
        # kept open: the agent may move its output away, or remove it, and write on
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._cap = cap
        self._left_out_to = 0

    def keep_within_cap(self) -> None:
        size = os.fstat(self._file).st_size
        first = int(self._cap * _KEPT_HEAD) // _BLOCK * _BLOCK
        begin = max(first, self._left_out_to)
        end = (size - int(self._cap * _KEPT_TAIL)) // _BLOCK * _BLOCK
        if size - begin + first > self._cap and end > begin and _punch(self._file, begin, end):
            self._left_out_to = end


def _punch(file: int, begin: int, end: int) -> bool:
    """Gives the blocks of a part of a file back; False where the system cannot."""
    if sys.platform != "linux":
        return False
    import ctypes  # takes longer to load than all the rest, and is hardly ever needed

    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return bool(libc.fallocate(file, _PUNCH_HOLE, begin, end - begin) == 0)
