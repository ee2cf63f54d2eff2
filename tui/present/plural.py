"""Numbers with their noun: `1 agent`, `2 agents`."""

from __future__ import annotations


def counted(number: int, noun: str, several: str = "") -> str:
    """`1 batch`, `3 batches`; without `several`, an s makes the plural."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"
