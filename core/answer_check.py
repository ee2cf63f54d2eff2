"""Whether a person's answer is one that the agent's question allows."""

from __future__ import annotations

import json
from typing import Any

from batchdeck.core.errors import BadInput
from batchdeck.core.model.ask import Ask
from batchdeck.core.text import clean_line


def fitting_words(ask: Ask) -> list[str]:
    """What an answer has to be like, beside its choices, and what the agent would take itself."""
    words = []
    if ask.schema is not None:
        words.append(f"The answer is to fit this JSON schema: {ask.schema}")
    if ask.default:
        words.append(f"The agent suggests: {ask.default}")
    return words


def check_answer(ask: Ask, answer: str) -> None:
    """Holds an answer against the question's choices, or its JSON schema.

    With a schema the answer is JSON, or plain text where that is what the schema wants. A schema
    that is none allows everything.

    Raises:
        BadInput: it does not fit; the message says what would.
    """
    check_choice(ask, answer)
    if ask.schema is None:
        return
    errors = [_misfit(ask.schema, value) for value in _readings(answer)]
    if all(error is not None for error in errors):
        raise BadInput(f"The answer does not fit what was asked for: {errors[0]}.")


def check_choice(ask: Ask, answer: str) -> None:
    """Holds an answer against the question's choices alone.

    Raises:
        BadInput: it is none of them.
    """
    if ask.choices and answer not in ask.choices:
        raise BadInput(f"The answer must be one of: {', '.join(ask.choices)}.")


def _readings(answer: str) -> list[Any]:
    try:
        return [json.loads(answer), answer]
    except (ValueError, RecursionError):
        return [answer]


def _misfit(schema: str, value: Any) -> str | None:
    """Why a value does not fit; None: it does."""
    # imported here: it takes a while, and few questions have a schema
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        document = json.loads(schema)
        Draft202012Validator.check_schema(document)
        # a registry of its own: nothing is fetched from anywhere
        found = best_match(Draft202012Validator(document, registry=Registry()).iter_errors(value))
    except (ValueError, SchemaError, Unresolvable, RecursionError):
        return None
    if found is None:
        return None
    where = "/".join(str(part) for part in found.absolute_path)
    return clean_line(f"{where}: {found.message}" if where else found.message, 300)
