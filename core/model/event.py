"""Events: what happened on a deck, in order, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class Event(NamedTuple):
    """One thing that happened; `kind` is a stable name such as `turn.claimed`.

    A tuple, for there are seven of them to a turn.
    """

    seq: int
    at_ms: int
    kind: str
    turn: int | None = None
    task: str | None = None
    """`BATCH/TASK`."""
    batch: str | None = None
    agent: str | None = None
    by: str | None = None
    fields: Mapping[str, Any] = _NO_FIELDS

    def as_json(self) -> dict[str, Any]:
        """The event as `events --json` prints it; ids are strings."""
        document: dict[str, Any] = {"seq": self.seq, "at_ms": self.at_ms, "kind": self.kind}
        if self.turn is not None:
            document["turn"] = str(self.turn)
        if self.task is not None:
            document["task"] = self.task.partition("/")[2]
        for name in ("batch", "agent", "by"):
            value = getattr(self, name)
            if value is not None:
                document[name] = value
        document.update(self.fields)
        return document
