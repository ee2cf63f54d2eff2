"""What a hold holds, in the words in which a person would release it."""

from __future__ import annotations

from batchdeck.core.view import DeckView


def what_is_held(what: str, view: DeckView) -> str:
    """`deck`, `agent:NAME`, `batch:NAME`, `#412`, or `folder:PATH`.

    The key of a folder, under which it is held, says nothing to a person.
    """
    kind, _, name = what.partition(":")
    if kind == "turn":
        return f"#{name}"
    if kind != "folder":
        return what
    folders = (turn.folder for turn in view.turns.values() if turn.folder is not None)
    return f"folder:{next((folder.path for folder in folders if folder.key == name), name)}"
