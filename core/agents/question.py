"""What an agent leaves at `BATCHDECK_ASK` for the operator."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

from batchdeck.core.agents.adapter import Outcome, Question
from batchdeck.core.model.turn import TurnState
from batchdeck.core.text import clean_line, clean_text, decode, one_line

_LIMIT = 64 * 1024


class NoQuestion(Exception):
    """Something else was there; the message shows it."""


def read_question(path: Path) -> Question | None:
    """The question in a file; None where there is no file.

    Raises:
        NoQuestion: what is there is not a JSON object with a `question`.
    """
    content = _content(path)
    if content is None:
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("question"), str):
        raise NoQuestion(f"it left no question but {one_line(decode(content)) or 'nothing'!r}")
    choices = document.get("choices")
    return Question(
        question=clean_text(document["question"]),
        choices=tuple(map(_words, choices)) if isinstance(choices, list) else (),
        schema=_schema(document.get("schema")),
        default=None if document.get("default") is None else _words(document["default"]),
    )


def with_question(outcome: Outcome, path: Path) -> Outcome:
    """The outcome of an agent that ended by itself, with what it left for the operator."""
    try:
        question = read_question(path)
    except NoQuestion as words:
        return replace(outcome, state=TurnState.FAILED, error=str(words))
    if question is None:
        return outcome
    return replace(outcome, state=TurnState.WAITING, error=None, question=question, limited=None)


def _content(path: Path) -> bytes | None:
    """What is in a regular file, as far as it is read at all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoQuestion(f"it left no question that can be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoQuestion("it left no question but something that is not a file")
        return os.read(descriptor, _LIMIT)
    finally:
        os.close(descriptor)


def _words(value: Any) -> str:
    return clean_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _schema(value: Any) -> str | None:
    if value is None:
        return None
    return clean_text(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
