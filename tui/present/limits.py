"""Limits in words: `5/5 full`, `0 closed`, `1 ∞`, `4/2 over by 2`."""

from __future__ import annotations

from batchdeck.core.model.limit import ATTENTION
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Tone

_BEGUN = "/outstanding"


def used_under(view: DeckView, name: str) -> int:
    """What counts under a limit now: turns, or items of a foreach."""
    if name == ATTENTION:
        return view.waiting
    if not name.startswith("items:"):
        return view.running_by.get(name, 0)
    items = view.items.get(batch_of_items(name))
    if items is None:
        return 0
    return items.outstanding if name.endswith(_BEGUN) else items.active


def queued_under(view: DeckView, name: str) -> int:
    """What waits, behind a limit or another one: turns, or items of a foreach."""
    if not name.startswith("items:"):
        return view.queued_by.get(name, 0)
    items = view.items.get(batch_of_items(name))
    return 0 if items is None else items.queued


def batch_of_items(name: str) -> str:
    """The batch in `items:BATCH` or `items:BATCH/outstanding`."""
    return name.removeprefix("items:").removesuffix(_BEGUN)


def slots(used: int, limit: int | None) -> str:
    """The bare numbers: `2/3`, `1 ∞`, `0` where it is closed and nothing runs."""
    if limit is None:
        return f"{used} ∞"
    if limit == 0 and used == 0:
        return "0"
    return f"{used}/{limit}"


def standing(used: int, limit: int | None) -> str:
    """What the numbers mean: `full`, `closed`, `over by 2`, or nothing worth a word."""
    if limit is None:
        return ""
    if limit == 0:
        return "closed"
    if used > limit:
        return f"over by {used - limit}"
    return "full" if used == limit else ""


def limit_cell(used: int, limit: int | None, *notes: str) -> Cell:
    """Numbers, their meaning and further notes, the words in one column below each other."""
    words = " ".join(word for word in (standing(used, limit), *notes) if word)
    return Cell(f"{slots(used, limit):<5} {words}".rstrip(), _tone(used, limit))


def limit_words(used: int, limit: int | None) -> str:
    """In running text: `2/2`, `closed`, `3/2`."""
    return "closed" if limit == 0 else slots(used, limit)


def number(value: int | None) -> str:
    """A limit by itself, as in `2 → 3`; never a bare 0."""
    if value is None:
        return "none"
    return "0 (closed)" if value == 0 else str(value)


def _tone(used: int, limit: int | None) -> Tone:
    if limit == 0 or (limit is not None and used > limit):
        return Tone.ALERT
    if used:
        return Tone.RUNNING
    return Tone.MUTED
