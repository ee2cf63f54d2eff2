"""Themes from TOML: the packaged ones, and the operator's own; a bad file is reported."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

_COLOURS = frozenset(
    {
        "primary",
        "secondary",
        "warning",
        "error",
        "success",
        "accent",
        "foreground",
        "background",
        "surface",
        "panel",
        "boost",
    }
)
_OTHERS: dict[str, type] = {"dark": bool, "luminosity_spread": float, "text_alpha": float}

DEFAULT_VARIABLES = {
    "status-running": "#6cb6ff",
    "status-queued": "#c9d1d9",
    "status-needs": "#ffd33d",
    "status-held": "#d2a8ff",
    "status-done": "#7ee787",
    "status-failed": "#ff9492",
    "status-alert": "#ffa657",
    "status-muted": "#9aa5b1",
    "key-colour": "#6cb6ff",
}
"""What a theme without a variable gets; without them the style sheet could not be read."""


class Themes(NamedTuple):
    good: tuple[Theme, ...]
    faults: tuple[str, ...]
    """For each bad file, one line."""


def packaged_themes() -> Themes:
    """The themes that come with the program."""
    return read_themes(files("batchdeck.themes").iterdir())


def theme_names(own: Path) -> list[str]:
    """The themes that a configuration may name: ours, those in the folder `own`, and Textual's."""
    in_folder = read_themes(own.iterdir() if own.is_dir() else ())
    return [t.name for t in (*packaged_themes().good, *in_folder.good)] + list(BUILTIN_THEMES)


def read_themes(entries: Iterable[Traversable]) -> Themes:
    """The themes in some files; others than `*.toml` are passed over."""
    good: list[Theme] = []
    faults: list[str] = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        if not entry.name.endswith(".toml"):
            continue
        try:
            good.append(read_theme(entry.name.removesuffix(".toml"), entry.read_text("utf-8")))
        except (OSError, ValueError, ColorParseError) as fault:
            faults.append(f"theme {entry.name}: {str(fault).splitlines()[0]}")
    return Themes(tuple(good), tuple(faults))


def read_theme(name: str, text: str) -> Theme:
    """A theme from the text of its file.

    Raises:
        ValueError: not TOML, an unknown key, no primary colour, or a value of the wrong kind.
        ColorParseError: a value that is no colour.
    """
    table = tomllib.loads(text)
    unknown = table.keys() - _COLOURS - _OTHERS.keys() - {"name", "variables"}
    if unknown:
        raise ValueError(f"unknown keys: {', '.join(sorted(unknown))}")
    if "primary" not in table:
        raise ValueError("primary is missing")
    for key in _COLOURS & table.keys():
        Color.parse(_text(key, table[key]))
    for key in _OTHERS.keys() & table.keys():
        if not isinstance(table[key], _OTHERS[key]):
            raise ValueError(f"{key} must be a {_OTHERS[key].__name__}")
    return Theme(
        name=_text("name", table.get("name", name)),
        variables=_variables(table.get("variables", {})),
        **{key: table[key] for key in (_COLOURS | _OTHERS.keys()) & table.keys()},
    )


def _variables(table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ValueError("variables must be a table")
    variables = {str(key): _text(str(key), value) for key, value in table.items()}
    for key in DEFAULT_VARIABLES.keys() & variables.keys():
        Color.parse(variables[key])
    return variables


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text")
    return value
