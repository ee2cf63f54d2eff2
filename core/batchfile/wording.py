"""What a schema has to say about a value, in words for a person."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from batchdeck.core.batchfile.document import Document, Loc, Unquoted
from batchdeck.core.batchfile.faults import nearest, value_words

_Shape = TypeVar("_Shape", bound=BaseModel)


def validate(document: Document, values: Any, shape: type[_Shape], at: Loc = ()) -> _Shape | None:
    """The values in their shape; None where faults were noted in `document`."""
    if values is None:
        values = {}
    try:
        return shape.model_validate(values)
    except ValidationError as refused:
        for error in refused.errors(include_url=False):
            _note(document, shape, error, at)
        return None


def _note(document: Document, shape: type[BaseModel], error: Any, at: Loc) -> None:
    loc: Loc = at + tuple(error["loc"])
    kind = error["type"]
    if loc and loc[-1] == "[key]":
        document.fault(loc[:-1], _as_key(error), at_key=True)
    elif kind == "extra_forbidden":
        known = _keys_at(shape, tuple(error["loc"])[:-1])
        document.fault(loc, f"unknown key{document.hint(loc[-1], known)}", at_key=True)
    elif kind == "missing":
        document.fault(loc, f"missing{_wanted(shape, tuple(error['loc']))}")
    else:
        document.fault(loc, _in_words(kind, error))


def _wanted(shape: Any, steps: Sequence[Any]) -> str:
    """What a key that is not there was to hold."""
    field = _fields_at(shape, steps[:-1]).get(steps[-1])
    if field is None:
        return ""
    words = field.description or _choices(field) or _KINDS.get(_plain_kind(field.annotation))
    return f": expected {words}" if words else ""


def _choices(field: FieldInfo) -> str:
    kind = _plain_kind(field.annotation)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(str(choice.value) for choice in kind)}"
    pattern = next((found for one in field.metadata if (found := _pattern_of(one))), "")
    return f"one of {', '.join(_alternatives(pattern))}" if pattern else ""


def _pattern_of(metadata: Any) -> str:
    pattern = getattr(metadata, "pattern", None)
    return pattern if isinstance(pattern, str) else ""


def _alternatives(pattern: str) -> list[str]:
    return pattern.strip("^$()").split("|")


def _plain_kind(annotation: Any) -> Any:
    """What a value is to be, without its bounds and its members' kinds."""
    part = next((part for part in _parts(annotation) if part is not type(None)), None)
    return BaseModel if _is_block(part) else typing.get_origin(part) or part


_KINDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "keys with values",
    BaseModel: "keys with values",
}


def _as_key(error: Any) -> str:
    if error["type"] == "words":
        return str(error["msg"])
    if error["type"] == "enum":
        return _no_choice(error)
    return f"expected text, not {value_words(error['input'])}"


def _in_words(kind: str, error: Any) -> str:
    if kind == "words":
        return str(error["msg"])
    if kind == "enum":
        return _no_choice(error) if isinstance(error["input"], str) else _no_text(error)
    known = _WORDS.get(kind)
    if known is None:
        return f"{value_words(error['input'])}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return known(error)


def _no_choice(error: Any) -> str:
    expected = str(error["ctx"]["expected"])
    choices = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    return f"{value_words(error['input'])} is not one of {', '.join(choices)}" + _close(
        error, choices
    )


def _no_pattern(error: Any) -> str:
    choices = _alternatives(error["ctx"]["pattern"])
    return f"{value_words(error['input'])} is not one of {', '.join(choices)}" + _close(
        error, choices
    )


def _close(error: Any, choices: list[str]) -> str:
    hint = nearest(error["input"], choices)
    return hint if "did you mean" in hint else ""


def _no_text(error: Any) -> str:
    value = error["input"]
    if isinstance(value, Unquoted | int | float):
        words = value_words(value)
        return f"expected text, and {words} unquoted may be read as something else: quote it"
    return f"expected text, not {value_words(value)}"


def _expected(words: str) -> Callable[[Any], str]:
    return lambda error: f"expected {words}, not {value_words(error['input'])}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "string_type": _no_text,
    "string_too_short": lambda error: "expected some text, not ''",
    "string_pattern_mismatch": _no_pattern,
    "int_type": _expected("a whole number"),
    "int_from_float": _expected("a whole number"),
    "float_type": _expected("a number"),
    "bool_type": _expected("true or false"),
    "list_type": _expected("a list"),
    "dict_type": _expected("keys with values"),
    "model_type": _expected("keys with values"),
    "model_attributes_type": _expected("keys with values"),
    "too_short": lambda error: "expected at least one item",
    "greater_than_equal": lambda error: (
        f"{value_words(error['input'])} is too small: expected at least {error['ctx']['ge']:g}"
    ),
    "greater_than": lambda error: (
        f"{value_words(error['input'])} is too small: expected more than {error['ctx']['gt']:g}"
    ),
    "less_than_equal": lambda error: (
        f"{value_words(error['input'])} is too large: expected at most {error['ctx']['le']:g}"
    ),
}


def _keys_at(shape: Any, steps: Iterable[Any]) -> list[str]:
    """The keys that a shape has at the end of a way into it."""
    return list(_fields_at(shape, steps))


def _fields_at(shape: Any, steps: Iterable[Any]) -> dict[str, FieldInfo]:
    """The fields of the block at the end of a way into a shape, by their keys."""
    for step in steps:
        shape = _inner(shape, step)
    blocks = [part for part in _parts(shape) if _is_block(part)]
    return {
        field.alias or name: field for block in blocks for name, field in block.model_fields.items()
    }


def _inner(shape: Any, step: Any) -> Any:
    for part in _parts(shape):
        if _is_block(part):
            fields = {field.alias or name: field for name, field in part.model_fields.items()}
            return fields[step].annotation if step in fields else None
        if typing.get_origin(part) in (list, dict):
            return typing.get_args(part)[-1]
    return None


def _parts(shape: Any) -> list[Any]:
    """What a shape may be, without annotations and without the choice between them."""
    origin = typing.get_origin(shape)
    if origin is typing.Annotated:
        return _parts(typing.get_args(shape)[0])
    if origin in (typing.Union, types.UnionType):
        return [part for choice in typing.get_args(shape) for part in _parts(choice)]
    return [shape]


def _is_block(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)
