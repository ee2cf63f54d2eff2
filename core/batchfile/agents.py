"""Agents' definitions as a file gives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from batchdeck.core.batchfile.document import Document, Loc
from batchdeck.core.batchfile.faults import UNSUPPORTED_LIMIT
from batchdeck.core.batchfile.schema import AgentBlock, keeps_secrets
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.paths import absolute


def agent_from(name: str, block: AgentBlock, base: Path, folders: Collection[str]) -> Agent:
    """The definition with its paths made absolute; `folders` are names, and stay so."""
    given = block.model_dump(exclude={"price", "script", "command", "folder", "env", "pass_env"})
    script = block.script.model_dump(exclude_none=True) if block.script else {}
    return Agent(
        name=name,
        command=absolute_command(block.command or (), base),
        folder=absolute_folder(block.folder, base, folders),
        env=MappingProxyType(dict(block.env or {})),
        pass_env=tuple(block.pass_env or ()),
        price_input=block.price.input if block.price else None,
        price_output=block.price.output if block.price else None,
        script=MappingProxyType(script),
        **given,
    )


def absolute_folder(folder: str | None, base: Path, folders: Collection[str]) -> str | None:
    """A path as an absolute one; a defined name stays a name."""
    if folder is None or folder in folders:
        return folder
    return absolute(folder, base)


def absolute_command(command: Collection[str], base: Path) -> tuple[str, ...]:
    """A command whose program, where it is a path, does not depend on where it is started."""
    items = tuple(command)
    if not items or "/" not in items[0]:
        return items
    return (absolute(items[0], base), *items[1:])


def check_agents(document: Document, blocks: Any, cap: int, at: Loc = ("agents",)) -> None:
    """Notes what is wrong with definitions beyond their shape."""
    for name, block in blocks.items() if isinstance(blocks, dict) else ():
        if isinstance(block, dict):
            _check_agent(document, block, (*at, name), cap)


def _check_agent(document: Document, block: Mapping[str, Any], at: Loc, cap: int) -> None:
    kind = block.get("kind")
    for key in _NEEDED.get(kind, ()) if isinstance(kind, str) else ():
        if block.get(key) is None:
            document.fault((*at, key), f"missing: an agent of kind {kind} needs it")
    _check_limit(document, block, at, cap)
    address = block.get("base_url")
    if block.get("api_key_env") and isinstance(address, str) and "://" in address:
        _check_key_is_safe(document, address, at)
    command = block.get("command")
    if isinstance(command, list) and "{prompt}" in command and block.get("prompt_via") != "arg":
        document.fault(
            (*at, "command"), "{prompt} stands for the prompt with prompt_via: arg alone"
        )


def _check_key_is_safe(document: Document, address: str, at: Loc) -> None:
    try:
        safe = keeps_secrets(address)
    except ValueError:
        return  # no address: told where its shape is checked
    if not safe:
        words = "a key is sent over https:// alone (http:// only to this machine)"
        document.fault((*at, "base_url"), words)


def _check_limit(document: Document, block: Mapping[str, Any], at: Loc, cap: int) -> None:
    limit = block.get("parallelism_limit")
    if not isinstance(limit, int) or isinstance(limit, bool):
        return
    if limit > cap:
        document.fault(
            (*at, "parallelism_limit"),
            f"{limit} is too large: expected at most {cap} (parallelism_limit_cap)",
        )
    reason = _why_serial(block)
    if reason and limit > 1:
        document.fault(
            (*at, "parallelism_limit"),
            f"{UNSUPPORTED_LIMIT}: {limit} is refused, since this agent runs one turn at a time"
            f" ({reason})",
            code=UNSUPPORTED_LIMIT,
        )


def _why_serial(block: Mapping[str, Any]) -> str | None:
    if block.get("kind") == AgentKind.ACP:
        return "kind: acp"
    if block.get("folder") is not None:
        return "it has a folder"
    return "serial: true" if block.get("serial") is True else None


_NEEDED: dict[str, tuple[str, ...]] = {
    AgentKind.COMMAND: ("command",),
    AgentKind.ACP: ("command",),
    AgentKind.OPENAI: ("base_url", "model"),
}
