"""On which kind of file system a path lies; a deck's file needs one that locks and shares memory.

SQLite's write-ahead log does not work over a network (sqlite.org/wal.html, "Disadvantages").
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from batchdeck.core.errors import BadInput

NETWORK = frozenset({"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs"})
"""Kinds on which a deck is refused."""
SHARED = re.compile(r"9p|virtiofs|vboxsf|prl_fs|vmhgfs|fuse.*|ceph|lustre|glusterfs|afs|gfs2|ocfs2")
"""Kinds of which it is not known whether locks are kept between machines."""

_MOUNTS = Path("/proc/self/mountinfo")


def kind_of(path: Path) -> str | None:
    """The kind of file system that `path`, or its nearest existing ancestor, lies on; None where
    the system does not tell."""
    real = os.path.realpath(path)
    try:
        mounts = _MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return None
    found, longest = None, -1
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = _unescaped(fields.split(" ")[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:  # a later mount hides an earlier one
            found, longest = rest.split(" ")[0], len(point)
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def refuse_network(path: Path) -> None:
    """Raises BadInput where a deck cannot lie there."""
    kind = kind_of(path)
    if kind in NETWORK:
        raise BadInput(
            f"{path} lies on a network file system ({kind}), where a deck's database is not safe. "
            "Give a folder on a local disk: --deck DIR, or the variable BATCHDECK_DECK."
        )
