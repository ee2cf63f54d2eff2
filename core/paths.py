"""Where a deck and its files live, and with which modes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from batchdeck.core.errors import BadInput

DECK_FOLDER = ".batchdeck"
DECK_VARIABLE = "BATCHDECK_DECK"
LONGEST_SOCKET_PATH = 104
"""Bytes that a Unix socket's path may have on every system."""


@dataclass(frozen=True, slots=True)
class DeckPaths:
    """The files of one deck."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "deck.db"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def socket(self) -> Path:
        """The control socket: in the deck, or, where that path is too long for a socket, in a
        folder of the user's own under /tmp, named by the deck's path."""
        path = self.root / "control.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            return path
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]
        return Path(f"/tmp/batchdeck-{os.geteuid()}") / f"{name}.sock"

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def log(self) -> Path:
        return self.root / "batchdeck.log"

    @property
    def drafts(self) -> Path:
        """What was written on the dashboard and not sent."""
        return self.root / "drafts.json"

    def run(self, attempt: str) -> Path:
        """An attempt's own folder."""
        return self.runs / attempt

    def make(self) -> None:
        """Makes the deck's folders, mode 0700 whatever the umask.

        Raises:
            BadInput: the folder cannot be made or written, or others could write to it.
        """
        try:
            for folder in (self.root, self.runs, self.socket.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_ours(folder)
                os.chmod(folder, 0o700)
            _hide_from_git(self.root)
        except OSError as error:
            raise BadInput(
                f"{self.root} cannot be used as a deck: {error.strerror or error}."
            ) from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise BadInput(f"{self.root} cannot be written to, so it cannot be used as a deck.")


def _hide_from_git(root: Path) -> None:
    """An agent that adds all files of a repository must not commit the deck."""
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def _check_ours(folder: Path) -> None:
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISDIR(status.st_mode):
        raise BadInput(f"{folder} is not a folder of its own (a link or a file).")
    if status.st_uid != os.geteuid():
        raise BadInput(f"{folder} belongs to somebody else, so it cannot be used as a deck.")


def find_deck(option: str | None, environment: Mapping[str, str], here: Path) -> DeckPaths:
    """The deck that is meant: `--deck`, `BATCHDECK_DECK`, or the nearest one upward from `here`.

    Where there is none, `here/.batchdeck`, which is made when first needed.
    """
    named = option or environment.get(DECK_VARIABLE)
    if named:
        folder = (here / named).absolute()
        inner = folder / DECK_FOLDER
        # whoever names the project means the deck in it
        is_project = not (folder / "deck.db").exists() and (inner / "deck.db").exists()
        return DeckPaths(inner if is_project else folder)
    for folder in (here, *here.parents):
        candidate = folder / DECK_FOLDER
        if candidate.is_dir() and (candidate / "deck.db").exists():
            return DeckPaths(candidate)
    return DeckPaths(here / DECK_FOLDER)


def absolute(path: str, base: Path) -> str:
    """A path that starts at `base`; `~` is the user's home."""
    return os.path.join(base, os.path.expanduser(path))


def of_the_user(find: Callable[[str], Path]) -> Path:
    """A folder of the user's own, by one of the functions of platformdirs.

    Raises:
        BadInput: nobody knows where this user's home is.
    """
    try:
        return find("batchdeck")
    except RuntimeError:
        raise BadInput("This user has no home folder; set HOME to an absolute path.") from None
