"""Themes are data: readable where they come with the program, reported where they are faulty."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from batchdeck.tui.present.cells import Tone
from batchdeck.tui.settings import ScreenSettings
from batchdeck.tui.theming import (
    DEFAULT_VARIABLES,
    packaged_themes,
    read_theme,
    read_themes,
)
from tests.support.screen import until_shown
from tests.support.stub_deck import StubDeck
from tests.tui.examples import busy_view, shown

PACKAGED = packaged_themes()


def test_the_packaged_themes_are_without_a_fault() -> None:
    assert PACKAGED.faults == ()
    assert {theme.name for theme in PACKAGED.good} == {"deck-dark", "deck-light", "deck-contrast"}


def luminance(colour: Color) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [part / 255 for part in (colour.r, colour.g, colour.b)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str | None, other: str | None) -> float:
    """Contrast ratio (WCAG 2.2)."""
    assert one is not None
    assert other is not None
    light, dark = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", PACKAGED.good, ids=lambda theme: theme.name)
@pytest.mark.parametrize("variable", DEFAULT_VARIABLES)
def test_every_state_can_be_read_on_every_ground(theme: Theme, variable: str) -> None:
    for ground in (theme.surface, theme.panel, theme.background):
        assert contrast(theme.variables[variable], ground) >= 4.5
        assert contrast(theme.foreground, ground) >= 4.5


@pytest.mark.parametrize("theme", PACKAGED.good, ids=lambda theme: theme.name)
def test_the_row_under_the_cursor_can_be_read(theme: Theme) -> None:
    assert theme.surface is not None
    ground = Color.parse(theme.surface).blend(Color.parse(theme.primary), 0.35)
    assert contrast(theme.foreground, ground.hex) >= 4.5


def test_a_theme_without_variables_gets_every_one_that_the_style_sheet_uses() -> None:
    assert {f"status-{tone}" for tone in Tone if tone} <= set(DEFAULT_VARIABLES)
    assert read_theme("mine", 'primary = "#123456"').variables == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("primary = ", "Invalid value"),
        ('secondary = "#fff"', "primary is missing"),
        ('primary = "#fff"\nprimray = "#000"', "unknown keys: primray"),
        ('primary = "no colour"', "no colour"),
        ("primary = 3", "primary must be a text"),
        ('primary = "#fff"\ndark = 1', "dark must be a bool"),
        ('primary = "#fff"\nvariables = 1', "variables must be a table"),
        ('primary = "#fff"\n[variables]\nstatus-done = "x"', "x"),
    ],
)
def test_a_bad_theme_is_reported_in_one_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    themes = read_themes(tmp_path.iterdir())
    assert themes.good == ()
    (line,) = themes.faults
    assert line.startswith("theme mine.toml: ")
    assert fault in line
    assert "\n" not in line


@pytest.mark.anyio
async def test_a_theme_of_the_operators_own_is_used_and_a_bad_one_never_fatal(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\nprimary = "#334455"')
    (tmp_path / "bad.toml").write_text("primary = 3")
    settings = ScreenSettings(theme="mine", user_themes=tmp_path)
    async with shown(StubDeck(busy_view()), settings=settings) as (app, pilot):
        assert app.theme == "mine"
        await until_shown(pilot, "theme bad.toml: primary must be a text")


@pytest.mark.anyio
async def test_an_unknown_theme_falls_back_and_says_so() -> None:
    async with shown(StubDeck(busy_view()), settings=ScreenSettings(theme="none")) as (app, pilot):
        assert app.theme == "deck-dark"
        await until_shown(pilot, "there is no theme 'none'")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["deck-dark", "deck-light", "deck-contrast"])
async def test_every_theme_paints_every_screen(name: str) -> None:
    async with shown(StubDeck(busy_view()), settings=ScreenSettings(theme=name)) as (app, pilot):
        for key in ("question_mark", "q", "w"):
            await pilot.press(key)
            await app.pop_screen()
        assert app.is_running
