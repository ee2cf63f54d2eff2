"""A folder's identity: what two turns may not share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folder:
    """A working folder, compared by identity and never by its spelling.

    `key` is `DEVICE:INODE` of the deepest existing ancestor, followed by the rest of the path;
    `above` holds the keys of every folder that contains it, nearest first.
    """

    path: str
    key: str
    above: tuple[str, ...] = ()
