"""A tracker's token, as a variable has it."""

from __future__ import annotations

from collections.abc import Mapping


def is_token(text: str) -> bool:
    """Whether a header can carry it."""
    return text.isascii() and text.isprintable()


def token_in(environment: Mapping[str, str], variable: str | None) -> str | None:
    """Without the blanks around it; None: there is none, or none that can be sent."""
    token = environment.get(variable or "", "").strip()
    return token if token and is_token(token) else None
