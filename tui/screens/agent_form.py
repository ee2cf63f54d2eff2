"""An agent's form: added, or changed for the turns that have not begun."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from batchdeck.core.commands import DefineAgent, Receipt
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.budget import Spent
from batchdeck.tui.present.agent_form import FIELDS, fields_shown, form_of, values_from, why_serial
from batchdeck.tui.present.budgets import spent_words
from batchdeck.tui.present.fitting import inert
from batchdeck.tui.screens.live import LiveModal

_KEYS = "enter save · tab next field · esc leave it"
_EXAMPLES = {
    "name": "coder",
    "kind": " | ".join(AgentKind),
    "command": "claude -p --output-format stream-json --verbose",
    "address": "http://127.0.0.1:8000/v1",
    "model": "the name of its model",
    "limit": "turns at once; 0 closes it, none: up to the cap",
    "folder": "none: each task's own, or a scratch folder",
}


class AgentFormScreen(LiveModal[None]):
    """Args:
    agent: The one that is changed; None: one is added.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, agent: Agent | None) -> None:
        super().__init__()
        self._agent = agent

    def compose(self) -> ComposeResult:
        at_first = form_of(self._agent, self.scene.view)
        with Vertical(classes="dialog") as dialog:
            name = "a new agent" if self._agent is None else f"agent {inert(self._agent.name, 40)}"
            dialog.border_title = Content(name)
            for field in FIELDS:
                with Horizontal(classes="field", id=f"row-{field}"):
                    yield Static(field, classes="label", markup=False)
                    given = Input(
                        at_first[field], placeholder=_EXAMPLES[field], compact=True, id=field
                    )
                    given.cursor_blink = False
                    yield given
            yield Static(id="serial", markup=False)
            yield Static(id="used", markup=False)
            yield Static(_KEYS, id="words", markup=False)

    def on_mount(self) -> None:
        self._show_used()
        if self._agent is not None:
            self.query_one("#name", Input).disabled = True
        self._adapt()
        self.query_one("#command" if self._agent else "#name", Input).focus()

    def watch_scene(self) -> None:
        if self.ready:
            self._show_used()

    def _show_used(self) -> None:
        name = "" if self._agent is None else self._agent.name
        used = spent_words(self.scene.view.spent.get(f"agent:{name}", Spent()))
        place, content = self.query_one("#used", Static), Content(f"used: {used}" if used else "")
        place.display = bool(used)
        if place.content != content:
            place.update(content)

    @property
    def _form(self) -> dict[str, str]:
        return {field: self.query_one(f"#{field}", Input).value for field in FIELDS}

    @on(Input.Changed)
    def _adapt(self) -> None:
        """Shows the fields that count, and why the limit is none of them."""
        form = self._form
        shown = fields_shown(form["kind"].strip())
        for field in FIELDS:
            self.query_one(f"#row-{field}").display = field in shown
        reason = why_serial(form, self._agent)
        self.query_one("#limit", Input).disabled = bool(reason)
        self.query_one("#serial", Static).update(Content(f"limit: {reason}" if reason else ""))
        self.query_one("#serial").display = bool(reason)

    @on(Input.Submitted)
    def _save(self, event: Input.Submitted) -> None:
        event.stop()
        if self.under_way:
            return
        try:
            agent = self._read()
        except (ValueError, BadInput) as fault:
            self.say(str(fault))
            return
        self.say("saving …")
        command = DefineAgent(agent=agent, create=self._agent is None, unless_in_use=True)
        self.send(command, self._answered)

    def _read(self) -> Agent:
        """
        Raises:
            ValueError, BadInput: what is written makes no agent.
        """
        form, known, read = self._form, self._agent, self.deck_app.settings.read_agent
        name = form["name"].strip()
        if not name:
            raise ValueError("it needs a name")
        if read is None:
            raise ValueError("agents cannot be defined from here; use batchdeck agent add, edit")
        serial = why_serial(form, known)
        agent = read(name, known, lambda stored: values_from(form, stored, serial))
        if known is not None and form["folder"].strip() == (known.folder or ""):
            return replace(agent, folder=known.folder)  # a defined name stays one
        return agent

    def _answered(self, receipt: Receipt) -> None:
        self.finish(None)
        self.deck_app.say(receipt.message)
