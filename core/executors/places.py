"""Which place in the file system a path means, however it is spelled."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

from batchdeck.core.errors import BadInput
from batchdeck.core.model.folder import Folder


def identify(path: str | Path) -> Folder:
    """The identity of a folder, which need not exist yet.

    Symlinks and `..` are followed first, so they make no second place; an existing folder is known
    by its device and inode, what does not exist by its name below the deepest folder that does.

    Raises:
        BadInput: the path is empty or holds a NUL.
    """
    text = os.fspath(path)
    if not text or "\0" in text:
        raise BadInput(f"{text!r} is not a path.")
    real = os.path.realpath(text)
    existing, missing = _split_at_existing(real)
    keys = _keys_upward(existing)
    for name in missing:
        keys.insert(0, f"{keys[0]}/{_as_key(name)}")
    return Folder(path=_spelling(text, real), key=keys[0], above=tuple(keys[1:]))


def device_and_inode(key: str) -> tuple[int, int] | None:
    """What a key says about a folder that existed when it was identified, else None."""
    numbers, slash, _ = key.partition("/")
    if slash:
        return None
    device, _, inode = numbers.partition(":")
    return int(device), int(inode)


def _split_at_existing(real: str) -> tuple[str, list[str]]:
    """The deepest ancestor that can be looked at, and the names below it."""
    missing: list[str] = []
    while not os.path.exists(real):
        real, name = os.path.split(real)
        missing.insert(0, name)
    return real, missing


def _keys_upward(folder: str) -> list[str]:
    keys = []
    while True:
        status = os.stat(folder)
        keys.append(f"{status.st_dev}:{status.st_ino}")
        parent = os.path.dirname(folder)
        if parent == folder:
            return keys
        folder = parent


def _as_key(name: str) -> str:
    """A name as its file system compares it, in text that can be stored; injective on Linux."""
    if sys.platform == "darwin":
        name = unicodedata.normalize("NFC", name).casefold()
    return os.fsencode(name.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")


def _spelling(text: str, real: str) -> str:
    """The path as a person wrote it, absolute; what cannot be shown or is roundabout, resolved."""
    absolute = text if os.path.isabs(text) else os.path.join(os.getcwd(), text)
    if ".." in absolute.split(os.sep):
        return real
    return os.path.normpath(absolute)
