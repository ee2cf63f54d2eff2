"""An agent as a form: what its fields say, which of them count, and why its limit is fixed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.limit import agent_limit
from batchdeck.core.view import DeckView

FIELDS = ("name", "kind", "command", "address", "model", "limit", "folder")
"""In their order on the screen."""
_COMMAND = (AgentKind.COMMAND, AgentKind.ACP)


def form_of(agent: Agent | None, view: DeckView) -> dict[str, str]:
    """What the fields say at first; None: of an agent that is to be added.

    The limit is the one in force, which may have been changed since the agent was defined.
    """
    if agent is None:
        return {**dict.fromkeys(FIELDS, ""), "kind": AgentKind.COMMAND.value, "limit": "1"}
    in_force = view.limits.get(agent_limit(agent.name))
    limit = agent.parallelism_limit if in_force is None else in_force.value
    return {
        "name": agent.name,
        "kind": agent.kind.value,
        "command": shlex.join(agent.command),
        "address": agent.base_url or "",
        "model": agent.model or "",
        "limit": "none" if limit is None else str(limit),
        "folder": agent.folder or "",
    }


def fields_shown(kind: str) -> frozenset[str]:
    """The fields that count for a kind of agent."""
    always = {"name", "kind", "limit", "folder"}
    if kind in _COMMAND:
        return frozenset(always | {"command"})
    return frozenset(always | {"address", "model"} if kind == AgentKind.OPENAI else always)


def why_serial(form: Mapping[str, str], known: Agent | None) -> str:
    """Why it runs one turn at a time whatever its limit says; empty: it need not."""
    if form["folder"].strip():
        return "one turn at a time: it has a folder of its own"
    if form["kind"].strip() == AgentKind.ACP:
        return "one turn at a time: kind acp"
    return "one turn at a time: serial" if known is not None and known.serial else ""


def values_from(form: Mapping[str, str], values: Mapping[str, Any], serial: str) -> dict[str, Any]:
    """The definition as a batch file would say it; what the form does not show stays.

    Raises:
        ValueError: the command or the limit is none; its text says what is.
    """
    kind = form["kind"].strip()
    shown = fields_shown(kind)
    found = {**values, "kind": kind}
    given: dict[str, Any] = {"folder": form["folder"].strip()}
    if "command" in shown:
        try:
            given["command"] = shlex.split(form["command"])
        except ValueError as error:
            raise ValueError(f"the command is no line of a shell: {error}") from None
    if "address" in shown:
        given |= {"base_url": form["address"].strip(), "model": form["model"].strip()}
    for key in ("folder", "command", "base_url", "model"):
        found.pop(key, None)
        if given.get(key):
            found[key] = given[key]
    # a serial agent keeps its stored number where that is one it may have
    limit = read_limit(form["limit"])
    found["parallelism_limit"] = 1 if serial and limit is not None and limit > 1 else limit
    return found


def read_limit(text: str) -> int | None:
    """
    Raises:
        ValueError: neither a whole number nor `none`.
    """
    text = text.strip().lower()
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise ValueError(f"{text!r} is not a limit: a whole number, 0 (closed), or none")
    return int(text)
