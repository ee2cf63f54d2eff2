"""What is in JSON that others wrote: what is missing, or something else, is simply not there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MOST = 2**53
"""Of anything that is counted: what JSON and SQLite both keep exactly."""


def read_event(line: bytes) -> Mapping[str, Any] | None:
    """The JSON object in a line; None where there is none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def part(event: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """An object inside an object; empty where it is missing or something else."""
    for name in path:
        found = event.get(name)
        if not isinstance(found, dict):
            return {}
        event = found
    return event


def objects(event: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects in a list in an object; none where it is missing or something else."""
    found = event.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def word(event: Mapping[str, Any], name: str) -> str:
    """A text in an object; empty where it is missing or something else."""
    found = event.get(name)
    return found if isinstance(found, str) else ""


def count(event: Mapping[str, Any], name: str) -> int | None:
    """A whole number in an object, as SQLite can keep it; None where nobody knows it."""
    found = event.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 <= found <= MOST else None


def money(event: Mapping[str, Any], name: str) -> float | None:
    """A sum in an object; None where nobody knows it."""
    found = event.get(name)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if 0 <= found <= MOST else None
