"""How the app looks and which keys it has: themes, keymap, and a filter for all it paints."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding
from textual.dom import DOMNode
from textual.filter import LineFilter

from batchdeck.tui.action import Action
from batchdeck.tui.failing import FailingApp
from batchdeck.tui.keys import read_keymap, shown_keys
from batchdeck.tui.line_filter import ControlFilter
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.theming import DEFAULT_VARIABLES, packaged_themes, read_themes

_FALLBACK = "deck-dark"


class DressedApp(FailingApp):
    """Takes over what the operator's settings say, and keeps what of it cannot be used."""

    settings: ScreenSettings
    own_themes: tuple[str, ...] = ()
    """Names of the operator's own themes."""
    _control_filter = ControlFilter()

    def dress(self, settings: ScreenSettings) -> list[str]:
        """Registers the themes and the keys; returns each fault in one line."""
        self.settings = settings
        self.animation_level = "full" if settings.animations else "none"
        keymap, faults = read_keymap(settings.keymap)
        self.set_keymap(keymap)
        return [*self._register_themes(), *faults]

    def _register_themes(self) -> list[str]:
        packaged, folder = packaged_themes(), self.settings.user_themes
        own = read_themes(folder.iterdir() if folder is not None and folder.is_dir() else ())
        for theme in (*packaged.good, *own.good):
            self.register_theme(theme)
        self.own_themes = tuple(theme.name for theme in own.good)
        faults = [*packaged.faults, *own.faults]
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
            return faults
        self.theme = _FALLBACK
        return [*faults, f"there is no theme {self.settings.theme!r}"]

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [self._control_filter, *super().get_line_filters()]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULT_VARIABLES

    def keys_of(self, action: Action) -> str:
        """An action's keys as people read them, remapped or not."""
        keys = self._keymap.get(action.id)
        return action.shown if keys is None else shown_keys(keys)

    def use_theme(self, name: str) -> None:
        self.theme = name

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        """Clashes were reported when the keymap was read."""
