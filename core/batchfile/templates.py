"""Prompts as templates: Jinja, sandboxed, where a name that is not defined is refused."""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from batchdeck.core.batchfile.faults import nearest

PLAIN_NAMES = ("task", "title", "batch")
"""What a plain task's prompt may name."""

_SIMPLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_ACTIVE = re.compile(r"\{[{%#]")


class TemplateFault(Exception):
    """A template that cannot be filled in; the message says why."""


class ValueFault(TemplateFault):
    """It cannot be filled in with these values; with others it might."""


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Jinja, loaded by the first text that needs it: that takes as long as a small batch file."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    environment.filters["dirname"] = os.path.dirname
    environment.filters["basename"] = os.path.basename
    return environment


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
    for name in sorted(meta.find_undeclared_variables(tree) - set(names)):
        raise TemplateFault(f"{name!r} is not defined here{nearest(name, names)}")


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
        return str(_compiled(source).render(values))
    except TemplateError as error:
        raise TemplateFault(_words(error)) from None
    except Exception as error:  # noqa: BLE001 - a template may do anything that an expression can
        raise ValueFault(f"it cannot be filled in: {error}") from None


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
    return f"{error.message}" + (f" (line {line} of the template)" if line else "")
