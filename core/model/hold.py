"""A hold: a deliberate stop of admissions, for the deck, a batch, an agent, a folder or a turn."""

from __future__ import annotations

from dataclasses import dataclass

from batchdeck.core.errors import BadInput
from batchdeck.core.text import number_in

DECK = "deck"
OURSELVES = "batchdeck"
"""Who holds what could not be started, or what is to be looked at first."""
END_DRAIN = "batchdeck drain --off"
"""What a person runs to let a draining deck admit again; a release does not."""
_EDITING = ", editing"
KINDS = ("batch", "agent", "account", "folder", "turn", "budget")
"""What can be held and released; a budget only the latter."""


@dataclass(frozen=True, slots=True)
class Hold:
    """`what` is `deck`, `batch:NAME`, `agent:NAME`, `account:NAME`, `folder:KEY` or `turn:ID`."""

    what: str
    by: str
    reason: str = ""
    at_ms: int = 0
    path: str | None = None
    """Of a folder: how it is spelled; its key says nothing to a person."""

    @property
    def named(self) -> str:
        """As a person would release it: `deck`, `agent:NAME`, `#412`, `folder:PATH` …"""
        kind, _, name = self.what.partition(":")
        if kind == "turn":
            return f"#{name}"
        return self.what if self.path is None else f"folder:{self.path}"


UNSAVED = f"{OURSELVES} (its edit was not saved)"
"""Who holds a turn whose editor had to be left with another text in it."""


def for_editing(by: str) -> str:
    """Who holds a turn while its text is edited: `operator, editing`."""
    return by + _EDITING


def is_for_editing(by: str | None) -> bool:
    """Whether a hold by `by` is there only while a text is edited."""
    return by is not None and by.endswith(_EDITING)


def read_hold_name(text: str | None) -> tuple[str, str]:
    """Splits what a person wrote into kind and name.

    Nothing or `deck`, `#412`, `agent:NAME`, `account:NAME`, `batch:NAME`, `folder:PATH`.

    Raises:
        BadInput: none of these.
    """
    if text is None or text == DECK:
        return DECK, ""
    if text.startswith("#") and number_in(text[1:]) is not None:
        return "turn", text[1:]
    if text == "drain":
        raise BadInput(f"A drain is no hold: batchdeck drain begins one, {END_DRAIN} ends it.")
    kind, colon, name = text.partition(":")
    named = number_in(name) is not None if kind == "turn" else bool(name)
    if colon and kind in KINDS and named:
        return kind, name
    raise BadInput(
        f"{text!r} cannot be held. Give deck, #TURN, agent:NAME, account:NAME, batch:NAME or "
        "folder:PATH."
    )
