"""Files and folders that only their owner may read, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_folder(path: Path) -> None:
    """Makes a folder and those above it; one that exists stays as it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, content: bytes = b"") -> None:
    """Writes a whole file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)


def replace_private(path: Path, content: bytes) -> None:
    """Puts a whole file in the place of another at once: nobody reads a part of it.

    Raises:
        OSError: it cannot be written; what was there before stays.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)  # one of a process of that number, whatever its mode
        write_private(fresh, content)
        os.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
