"""One agent's definition from somewhere else than a file, under the same rules as in one."""

from __future__ import annotations

from collections.abc import Mapping
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
