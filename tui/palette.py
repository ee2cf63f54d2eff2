"""The palette: every action by its name, limits and themes by theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from batchdeck.core.errors import BadInput
from batchdeck.core.rules.limits import full_limit_name
from batchdeck.tui.action import Action, Standpoint, why_off
from batchdeck.tui.actions import ACTIONS
from batchdeck.tui.screens.acting import ActingScreen

if TYPE_CHECKING:
    from batchdeck.tui.app import DeckApp

_LIMIT = re.compile(r"limit\s+(\S+?)[\s=]+(\d{1,9}|none)\s*$")


class Entry(NamedTuple):
    name: str
    help: str
    do: Callable[[], object]


class DeckCommands(Provider):
    """What can be found and done from here."""

    @property
    def _deck_app(self) -> DeckApp:
        return cast("DeckApp", self.app)

    def _entries(self) -> Iterator[Entry]:
        screen = self.screen
        if isinstance(screen, ActingScreen):
            at = screen.here()
            for action in ACTIONS:
                if action.in_palette and screen.offers(action.id):
                    name = _NAMES.get(action.id, action.label)
                    yield Entry(name, _help(action, at), partial(screen.action_do, action.id))
        for theme in sorted(self._deck_app.available_themes):
            if theme.startswith("deck-") or theme in self._deck_app.own_themes:
                yield Entry(f"theme {theme}", "", partial(self._deck_app.use_theme, theme))

    async def discover(self) -> Hits:
        for entry in self._entries():
            yield DiscoveryHit(Content(entry.name), entry.do, entry.name, entry.help or None)

    async def search(self, query: str) -> Hits:
        limit = self._limit_entry(query)
        if limit is not None:
            yield Hit(1, Content(limit.name), limit.do, limit.name, limit.help)
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(entry.name)
            if score > 0:
                shown = matcher.highlight(entry.name)
                yield Hit(score, shown, entry.do, entry.name, entry.help or None)

    def _limit_entry(self, query: str) -> Entry | None:
        """`limit coder 3`, `limit status:READY=none`."""
        match = _LIMIT.match(query.strip())
        if match is None:
            return None
        name, number = match.groups()
        view = self._deck_app.scene().view
        try:
            full = full_limit_name(view, f"agent:{name}" if name in view.agents else name)
        except BadInput as refusal:
            return Entry("limit: " + refusal.message, "", lambda: None)
        value = None if number == "none" else int(number)
        reason = self._deck_app.why_not_limit(full, value)
        if reason is not None:
            return Entry(reason, "", lambda: None)
        begin = partial(self._deck_app.begin_limit, full, value)
        return Entry(f"limit {full} = {number}", "What that starts is shown first.", begin)


def _help(action: Action, at: Standpoint) -> str:
    """What it does; of one that cannot be done now, why not."""
    reason = why_off(action, at)
    return action.help if reason is None else f"not now: {reason.removeprefix(f'{action.label}: ')}"


_NAMES = {"limit.raise": "raise the limit", "limit.lower": "lower the limit"}
