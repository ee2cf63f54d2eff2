"""One agent's definition from somewhere else than a file, under the same rules as in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from batchdeck.core.batchfile.agents import agent_from, check_agents
from batchdeck.core.batchfile.document import parse
from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.schema import ConfigBlock
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.batchfile.wording import validate
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import Agent


def read_agent(name: str, values: Mapping[str, Any], base: Path, settings: Settings) -> Agent:
    """The definition that the values, named as in a batch file, describe.

    Raises:
        BadInput: they describe none; the message names every fault by its key.
    """
    text = yaml.safe_dump({"agents": {name: dict(values)}}, allow_unicode=True)
    document = parse(f"agent {name}", text)
    block = validate(document, document.values, ConfigBlock)
    check_agents(document, document.values.get("agents"), settings.parallelism_limit_cap)
    try:
        document.raise_faults()
    except BatchFileFaults as found:
        raise BadInput(
            "\n".join(f"agent {name}: {fault.message}" for fault in found.faults), code=found.code
        ) from None
    assert block is not None
    assert block.agents is not None
    return agent_from(name, block.agents[name], base, settings.folders)


def agent_values(known: Agent) -> dict[str, Any]:
    """A definition as a batch file would say it."""
    values: dict[str, Any] = {
        "kind": str(known.kind),
        "command": list(known.command) or None,
        "prompt_via": str(known.prompt_via),
        "output": known.output,
        "success_pattern": known.success_pattern,
        "failure_pattern": known.failure_pattern,
        "serial": known.serial,
        "folder": known.folder,
        "timeout_seconds": known.timeout_seconds,
        "quiet_seconds": known.quiet_seconds,
        "linger_seconds": known.linger_seconds,
        "account": known.account,
        "env": dict(known.env) or None,
        "pass_env": list(known.pass_env) or None,
        "base_url": known.base_url,
        "model": known.model,
        "api_key_env": known.api_key_env,
        "script": dict(known.script) or None,
    }
    if known.price_input is not None and known.price_output is not None:
        values["price"] = {"input": known.price_input, "output": known.price_output}
    wanted = {key: value for key, value in values.items() if value is not None}
    return {**wanted, "parallelism_limit": known.parallelism_limit}


def read_changed(
    name: str,
    known: Agent | None,
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    base: Path,
    settings: Settings,
) -> Agent:
    """An agent with some of its values changed; None: one that begins with none.

    Raises:
        BadInput: they describe none.
    """
    values = {} if known is None else agent_values(known)
    return read_agent(name, change(values), base, settings)
