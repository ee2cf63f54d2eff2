"""A screen on which limits are changed: what a change would do is shown before it is applied."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from textual import on
from textual.reactive import reactive

from batchdeck.tui.present.cells import Tone
from batchdeck.tui.present.limit_change import LimitChange, changed_by
from batchdeck.tui.present.limits import number
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.present.what_if import change_hints
from batchdeck.tui.screens.acting import ActingScreen, Step
from batchdeck.tui.widgets.action_bar import ActionBar
from batchdeck.tui.widgets.limit_panel import LimitPanel
from batchdeck.tui.widgets.virtual_table import VirtualTable


class ChangingScreen(ActingScreen):
    """Enter applies the change that is open, escape and every other action leave it."""

    change: reactive[LimitChange | None] = reactive(None, repaint=False, init=False)
    """The limit that is being changed."""

    def on_mount(self) -> None:
        self.watch(self, "scene", self._follow_the_limit, init=False)

    def _follow_the_limit(self, scene: Scene) -> None:
        """Somebody else has changed the same limit meanwhile: the change starts from there."""
        change = self.change
        if change is None:
            return
        now = self.deck_app.asked_limits.now(scene.view, change.name)
        if now != change.before:
            remark = f"it is {number(now)} now{changed_by(scene.view, change.name)}"
            self.change = replace(change, before=now, remark=remark)

    def watch_change(self, change: LimitChange | None) -> None:
        bar = self.query_one(ActionBar)
        bar.instead = () if change is None else change_hints(change)

    def action_do(self, action_id: str, key: str = "") -> None:
        change = self.change
        if change is None or action_id.startswith("limit."):
            super().action_do(action_id, key)
            return
        self.change = None
        if action_id == "open":
            self._apply(change)
        elif action_id != "back":
            super().action_do(action_id, key)

    def change_limit(self, name: str, step: Step) -> None:
        """One step on the limit: the one that is being changed, or a first one."""
        view, open_change = self.scene.view, self.change
        if open_change is None or open_change.name != name:
            now = self.deck_app.asked_limits.now(self.deck_app.deck.view, name)
            open_change = None
            change = step(LimitChange(name, now, now), view)
        else:
            change = step(open_change, view)
        if isinstance(change, LimitChange):
            self.change = change
        elif open_change is None:
            self.change = None
            self.say(change, Tone.ALERT)
        else:
            self._panel.remark = change

    @property
    def _panel(self) -> LimitPanel:
        return self.query_one(LimitPanel)

    def _apply(self, change: LimitChange) -> None:
        self.deck_app.finished_at = monotonic()  # a second enter is meant for nothing else
        if change.after == change.before and change.remark:
            self.say(change.remark, Tone.ALERT)
        if change.after != change.before:
            self.deck_app.set_limit(change.name, change.after)

    @on(VirtualTable.Moved)
    def _leave_what_is_no_longer_under_the_cursor(self) -> None:
        change = self.change
        if change is not None and self.standpoint().limit != change.name:
            self.change = None
