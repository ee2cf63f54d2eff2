"""Folders that may not be worked in at the same time."""

from __future__ import annotations

from batchdeck.core.model.folder import Folder


def overlaps(one: Folder, other: Folder) -> bool:
    """Whether they are the same place, or one lies inside the other."""
    return one.key == other.key or one.key in other.above or other.key in one.above
