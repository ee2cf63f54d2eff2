"""How a deck is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from batchdeck.core.model.agent import Agent
from batchdeck.core.model.limit import DEFAULT_AGENT_CAP, DEFAULT_GLOBAL_CAP, Limit


class Configuration(Protocol):
    """The files of a deck's configuration."""

    def have_changed(self) -> bool:
        """Whether a file is another one than at the last look, or than when the deck was opened."""
        ...

    def agents(self) -> Iterable[Agent]:
        """The agents that they define now.

        Raises:
            BatchdeckError: something in them is wrong, or they cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class DeckOptions:
    """What the configuration and the command line say about a deck that is being opened."""

    synchronous: str = "full"
    """`full`: a commit survives a power cut. `normal`: it survives only the process."""
    max_parallel_cap: int = DEFAULT_GLOBAL_CAP
    parallelism_limit_cap: int = DEFAULT_AGENT_CAP
    attention_limit: Limit | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """The process's environment, copied before any screen was built."""
    agents: tuple[Agent, ...] = ()
    """Those that the configuration defines."""
    configuration: Configuration | None = None
    """Its files, to be looked at while the deck is open."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Names of folders that it defines, with their absolute paths."""
    dispatch: bool = True
    """False: changes rows and starts nothing (a command on a deck that nobody supervises)."""
    admit: bool = True
    """False: nothing starts before `admit()`, so that a first command precedes what is queued."""
    hold_after_unclean_stop: bool = False
    """Comes up held, with a banner, where the last supervisor did not stop in order."""
    refuse_after_unclean_stop: bool = False
    """Is not opened at all in that case, where work is left."""
    on_lost: str = "ask"
    """What becomes of a task whose process was lost: `ask`, `retry` or `fail`."""
    no_input: bool = False
    """Nobody will answer: an ask counts as failed, also one that is open from before."""
    retention: Mapping[str, Any] = field(default_factory=dict)
    """`days`, `runs` and `megabytes` of what is over that are kept."""
    sweep_seconds: float = 5.0
