"""A limit that is being changed: a number that is not applied yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from batchdeck.core.errors import BadInput
from batchdeck.core.rules.limits import check_limit
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Tone
from batchdeck.tui.present.limits import limit_cell, slots, used_under

_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class LimitChange:
    """From which number to which."""

    name: str
    """The full name of the limit."""
    before: int | None
    after: int | None
    typed: str = ""
    """The digits that were typed so far."""
    remark: str = ""
    """What is to be said of it: why what was typed is no limit, or who has changed it meanwhile."""

    def to(self, view: DeckView, value: int | None) -> LimitChange | str:
        """To that number, or in words why it is none for this limit; None: no limit of its own."""
        try:
            check_limit(view, self.name, value)
        except BadInput as refusal:
            return refusal.message
        return replace(self, after=value, typed="", remark="")

    def stepped(self, view: DeckView, by: int) -> LimitChange | str:
        """One step on, or in words why there is none."""
        now, words = self.after, limit_name_words(self.name)
        if now is None and by > 0:
            return f"{words} has no limit to raise; - gives it one"
        if now is None:
            # the first number of a limit that had none: what runs now stays within it
            return self.to(view, max(1, used_under(view, self.name)))
        if now + by < 0:
            return f"{words} is closed already"
        return self.to(view, now + by)

    def typing(self, view: DeckView, digit: str) -> LimitChange:
        """With one digit more; where that is no limit, there is nothing to apply."""
        typed = (self.typed + digit)[:_MOST_DIGITS]
        changed = self.to(view, int(typed))
        if isinstance(changed, str):
            return replace(self, after=self.before, typed=typed, remark=changed)
        return replace(changed, typed=typed)

    def without_limit(self, view: DeckView) -> LimitChange | str:
        """No limit of its own, or in words why it needs one."""
        return self.to(view, None)


def limit_cell_of(
    name: str, change: LimitChange | None, used: int, limit: int | None, *notes: str
) -> Cell:
    """The cell of a limit; while it is being changed, what it would become: `2/2 → 3`."""
    if change is None or change.name != name:
        return limit_cell(used, limit, *notes)
    return Cell(becoming(slots(used, limit), change), Tone.NEEDS)


def becoming(now: str, change: LimitChange) -> str:
    """`2/2 → 3`, or only `2/2` where it would stay."""
    if change.after == change.before:
        return now
    after = "∞" if change.after is None else "closed" if change.after == 0 else change.after
    return f"{now} → {after}"


def changed_by(view: DeckView, name: str) -> str:
    """`: op changed it`, where it is known who changed a limit last."""
    stored = view.limits.get(name)
    return f": {stored.changed_by} changed it" if stored and stored.changed_by else ""


def limit_name_words(name: str) -> str:
    """`agent coder` for `agent:coder`, `items docs begun` for `items:docs/outstanding`."""
    words = name.replace(":", " ", 1)
    if name.startswith("items:") and words.endswith("/outstanding"):
        return f"{words.removesuffix('/outstanding')} begun"
    return words
