"""When the operator looked last, and what the deck was like then."""

from __future__ import annotations

from batchdeck.core.view import DeckView
from batchdeck.tui.present.since import since_words

AWAY_MS = 60_000
"""Nobody has looked who has pressed no key for so long."""
READING_MS = 20_000
"""What changed stays to be read for so long after the first key."""


class LookingAway:
    """Keeps the view of the last key press, to tell what has changed since."""

    def __init__(self, now_ms: int) -> None:
        self._seen = DeckView()
        self._last_key_ms = now_ms
        self._told = ""
        self._told_until_ms = 0

    def key_pressed(self, view: DeckView, now_ms: int) -> bool:
        """Somebody is there; whether they have just come back."""
        back = now_ms - self._last_key_ms >= AWAY_MS
        if back:
            self._told = self.words(view, now_ms)
            self._told_until_ms = now_ms + READING_MS
        self._seen, self._last_key_ms = view, now_ms
        return back

    def words(self, view: DeckView, now_ms: int) -> str:
        """What has changed since; empty while somebody looks."""
        if now_ms < self._told_until_ms:
            return self._told
        if not self._seen.revision:
            self._seen = view
        away = now_ms - self._last_key_ms
        return since_words(self._seen, view, away) if away >= AWAY_MS else ""
