"""The kinds of output that an agent may have, by the names that a batch file gives them."""

from __future__ import annotations

from enum import StrEnum


class OutputKind(StrEnum):
    TEXT = "text"
    JSON_LINES = "jsonl"
    CLAUDE = "claude-stream-json"
    CODEX = "codex-json"
    GEMINI = "gemini-stream-json"
    OPENCODE = "opencode-json"


WITHOUT_FINAL_EVENT = frozenset({OutputKind.TEXT, OutputKind.JSON_LINES})
"""Kinds whose programs have said their last word only when they have ended."""
