"""An agent: a named worker definition, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class AgentKind(StrEnum):
    COMMAND = "command"
    OPENAI = "openai"
    ACP = "acp"
    DEMO = "demo"


class PromptVia(StrEnum):
    STDIN = "stdin"
    FILE = "file"
    ARG = "arg"


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Agent:
    """One definition; a batch file or the deck's configuration names it."""

    name: str
    kind: AgentKind
    command: tuple[str, ...] = ()
    prompt_via: PromptVia = PromptVia.STDIN
    output: str = "text"
    success_pattern: str | None = None
    failure_pattern: str | None = None
    parallelism_limit: int | None = 1
    """The stored number; `None` means up to the cap."""
    serial: bool = False
    folder: str | None = None
    """An absolute path or a defined name; makes the agent serial."""
    timeout_seconds: float | None = None
    quiet_seconds: float = 300.0
    linger_seconds: float = 10.0
    account: str | None = None
    price_input: float | None = None
    """Money per million tokens."""
    price_output: float | None = None
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    pass_env: tuple[str, ...] = ()
    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    script: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """What a demo agent plays: `seconds`, `fail`, `ask`, `lines`, `seed`."""
    version: int = 1

    @property
    def one_at_a_time(self) -> bool:
        """Whether its effective limit is 1 whatever is stored."""
        return self.serial or self.kind is AgentKind.ACP or self.folder is not None
