"""A frozen value with some fields changed, quickly."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

_Value = TypeVar("_Value")
_Copying = tuple[Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any, Any], None], ...]]
_known: dict[type, _Copying] = {}


def evolve(value: _Value, **changes: Any) -> _Value:
    """As `dataclasses.replace`, for frozen dataclasses with slots and without `__post_init__`.

    Half the time of `replace`: fields are copied by their slots, not through `__init__`. Turns and
    tasks go through here several times each, so it is felt in how many can be dispatched.
    """
    cls = type(value)
    copying = _known.get(cls)
    if copying is None:
        copying = _known[cls] = _copying_for(cls)
    read, setters = copying
    new = object.__new__(cls)
    for store, field in zip(setters, read(value), strict=True):
        store(new, field)
    for name, field in changes.items():
        object.__setattr__(new, name, field)
    return new


def _copying_for(cls: type) -> _Copying:
    names: tuple[str, ...] = cls.__slots__  # type: ignore[attr-defined]
    return attrgetter(*names), tuple(getattr(cls, name).__set__ for name in names)
