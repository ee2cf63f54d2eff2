"""Frozen values made, and made again with some fields changed, quickly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Value = TypeVar("_Value")
_Copy = Callable[[Any, Any], None]
"""Gives the second value, which is empty, the fields of the first."""
_known: dict[type, _Copy] = {}
_new = object.__new__
_set = object.__setattr__


def evolve(value: _Value, **changes: Any) -> _Value:
    """As `dataclasses.replace`, for frozen dataclasses with slots and without `__post_init__`.

    A third of the time of `replace`: fields are copied slot by slot, not through `__init__`. Turns
    and tasks go through here several times each, so it is felt in how many can be dispatched.
    """
    cls = type(value)
    copy = _known.get(cls)
    if copy is None:
        copy = _known[cls] = _copy_for(cls)
    new = _new(cls)
    copy(value, new)
    for name, field in changes.items():
        _set(new, name, field)
    return new


def _copy_for(cls: type) -> _Copy:
    """A function with one line per slot, as `dataclasses` makes an `__init__`: no loop to run."""
    names: tuple[str, ...] = cls.__slots__  # type: ignore[attr-defined]
    lines = [f"    set_{name}(new, old.{name})" for name in names]
    setters: dict[str, Any] = {f"set_{name}": getattr(cls, name).__set__ for name in names}
    exec("\n".join(["def copy(old, new):", *lines]), setters)
    copy: _Copy = setters["copy"]
    return copy


def maker(cls: type[_Value]) -> Callable[..., _Value]:
    """What makes a value from all its fields, in their order: for reading very many of them.

    Less than half the time of `__init__`, which looks up how to set a frozen field once per field.
    """
    names: tuple[str, ...] = cls.__slots__  # type: ignore[attr-defined]
    fields = [f"field{number}" for number in range(len(names))]
    lines = [f"    set_{name}(new, {field})" for name, field in zip(names, fields, strict=True)]
    known: dict[str, Any] = {f"set_{name}": getattr(cls, name).__set__ for name in names}
    known |= {"empty": _new, "cls": cls}
    head = f"def make({', '.join(fields)}):"
    exec("\n".join([head, "    new = empty(cls)", *lines, "    return new"]), known)
    make: Callable[..., _Value] = known["make"]
    return make
