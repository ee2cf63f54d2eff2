"""What an examination comes to: one line per thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad a finding is; only a problem makes the examination fail."""

    FINE = "fine"
    REMARK = "remark"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    """What was looked at: `database`, `agents`, `file system` …"""
    grade: Grade
    words: str
    mended: str | None = None
    """What was done about it, where something was."""


def fine(check: str, words: str) -> Finding:
    return Finding(check, Grade.FINE, words)


def remark(check: str, words: str) -> Finding:
    return Finding(check, Grade.REMARK, words)


def problem(check: str, words: str, mended: str | None = None) -> Finding:
    return Finding(check, Grade.PROBLEM, words, mended)
