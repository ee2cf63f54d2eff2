"""Prompts as templates: Jinja, sandboxed, where a name that is not defined is refused."""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from inspect import isroutine
from typing import Any

from batchdeck.core.batchfile.faults import nearest, value_words

PLAIN_NAMES = ("task", "title", "batch")
"""What a plain task's prompt may name."""

_SIMPLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_OPEN = re.compile(r"The innermost block that needs to be closed is '(\w+)'")
_NO_FILTER = re.compile(r"No (filter|test) named '(\w+)'")
_NO_TAG = re.compile(r"Encountered unknown tag '(\w+)'")
_UNSAFE = re.compile(r"access to attribute '(\w+)' of .* is unsafe")
_ACTIVE = re.compile(r"\{[{%#]")


class TemplateFault(Exception):
    """A template that cannot be filled in; the message says why."""


class ValueFault(TemplateFault):
    """It cannot be filled in with these values; with others it might."""


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Jinja, loaded by the first text that needs it: that takes as long as a small batch file."""
    environment = _sandbox()(
        undefined=_undefined(), keep_trailing_newline=True, autoescape=False, finalize=_shown
    )
    environment.filters["dirname"] = os.path.dirname
    environment.filters["basename"] = os.path.basename
    return environment


def _sandbox() -> Any:
    """Jinja's sandbox, in which values come before Python's methods, and sums have bounds."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        # what is computed through `call_binop` is not computed while a template is compiled either
        intercepted_binops = frozenset(("*", "**"))

        def getattr(self, obj: Any, attribute: str) -> Any:
            if isinstance(obj, Mapping) and attribute in obj:
                return obj[attribute]
            return super().getattr(obj, attribute)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if _size(operator, left, right) > _MOST_COMPUTED:
                raise ValueError(f"what {operator} gives is too large")
            return super().call_binop(context, operator, left, right)

    return Sandbox


_MOST_COMPUTED = 1_000_000
"""Characters, elements or bits that an operator may give."""
_MOST_CHARACTERS = 16_000_000
"""Of a text that has been filled in."""


def _size(operator: str, left: Any, right: Any) -> int:
    """About how much an operator gives; 0: nothing that could be large."""
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        return bits * right if operator == "**" else bits + right.bit_length()
    if operator == "*":
        for some, times in ((left, right), (right, left)):
            if isinstance(some, str | list | tuple) and isinstance(times, int):
                return len(some) * times
    return 0


def _shown(value: Any) -> Any:
    """What stands in the text for a value; a method is none, it only was not called."""
    if isroutine(value):
        raise ValueError(f"there is no {value.__name__!r} here, only a function of that name")
    return value


def _undefined() -> Any:
    """What stands for a name that is not there, and says so in our words when it is used."""
    from jinja2 import StrictUndefined
    from jinja2.utils import missing

    class NotThere(StrictUndefined):
        def __init__(
            self, hint: Any = None, obj: Any = missing, name: Any = None, **more: Any
        ) -> None:
            if hint is None:
                hint = _not_defined(name, ()) if obj is missing else _has_not(obj, name)
            super().__init__(hint, obj, name, **more)

    return NotThere


def _not_defined(name: object, names: Collection[str]) -> str:
    return f"{name!r} is not defined here{nearest(name, names)}"


def _has_not(value: object, name: object) -> str:
    """A value that a template looks into has nothing of this name."""
    if isinstance(value, Mapping):
        return f"there is no {name!r} here{nearest(name, value)}"
    kind = "text" if isinstance(value, str) else value_words(value)
    return f"there is no {name!r} in {kind}"


def check(source: str, names: Collection[str]) -> None:
    """
    Raises:
        TemplateFault: it is no template, or names something that is not in `names`.
    """
    if _is_simple(source, names):
        return
    from jinja2 import TemplateError, meta

    try:
        tree = _environment().parse(source)
        _compiled(source)
    except TemplateError as error:
        raise TemplateFault(_words(error)) from None
    except (RecursionError, SyntaxError, ValueError, OverflowError) as error:
        raise TemplateFault(f"no template: {error}") from None
    if any(True for _ in meta.find_referenced_templates(tree)):
        raise TemplateFault("no other file can be taken in here (include, import, extends)")
    for name in sorted(meta.find_undeclared_variables(tree) - set(names)):
        raise TemplateFault(_not_defined(name, names))


def names_in(source: str) -> frozenset[str]:
    """What a template that has been checked names."""
    if not _ACTIVE.search(source):
        return frozenset()
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_environment().parse(source)))


def fill(source: str, values: Mapping[str, Any]) -> str:
    """The text of a template.

    Raises:
        TemplateFault: it cannot be filled in with these values.
    """
    if _is_simple(source, values):
        return _SIMPLE.sub(lambda found: str(values[found[1]]), source)
    from jinja2 import TemplateError

    try:
        return _bounded(_compiled(source).generate(values))
    except TemplateError as error:
        raise TemplateFault(_words(error)) from None
    except Exception as error:  # noqa: BLE001 - a template may do anything that an expression can
        raise ValueFault(f"it cannot be filled in: {error}") from None


def _bounded(pieces: Iterable[str]) -> str:
    """
    Raises:
        ValueError: they do not come to an end.
    """
    found, room = [], _MOST_CHARACTERS
    for piece in pieces:
        found.append(piece)
        room -= len(piece)
        if room < 0:
            raise ValueError(f"its text has more than {_MOST_CHARACTERS:,} characters")
    return "".join(found)


def _is_simple(source: str, names: Collection[str]) -> bool:
    """Whether nothing but known names is to be filled in; then Jinja's millisecond is saved."""
    if not _ACTIVE.search(source):
        return True
    known = all(name in names for name in _SIMPLE.findall(source))
    return known and not _ACTIVE.search(_SIMPLE.sub("", source))


@lru_cache(maxsize=512)
def _compiled(source: str) -> Any:
    return _environment().from_string(source)


def _words(error: Any) -> str:
    line = getattr(error, "lineno", None)
    return _in_our_words(str(error.message)) + (f" (line {line} of the template)" if line else "")


def _in_our_words(message: str) -> str:
    """What Jinja has to say, where a person need not know Jinja to mend it."""
    if found := _OPEN.search(message):
        return f"{{% {found[1]} %}} is not closed: {{% end{found[1]} %}} is missing"
    if found := _NO_FILTER.match(message):
        kind, name = found[1], found[2]
        known = _environment().filters if kind == "filter" else _environment().tests
        return f"there is no {kind} {name!r}{_close(name, known)}"
    if found := _NO_TAG.match(message):
        return f"there is no tag {found[1]!r}"
    if found := _UNSAFE.match(message):
        return f"{found[1]!r} may not be used in a template"
    return message if message.startswith(("'", "there is no")) else f"no template: {message}"


def _close(name: str, known: Collection[str]) -> str:
    """The nearest of many names; the others are Jinja's, and would say nothing."""
    hint = nearest(name, known)
    return hint if "did you mean" in hint else ""
