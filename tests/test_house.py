"""The house: what is packaged, who may know whom, and what the readme says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.crash.mutating import MUTANTS, ROOT, Mutant

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ROOMS = ("core", "tui", "themes")


def test_every_package_in_the_tree_is_packaged() -> None:
    """An editable install would hide a forgotten one."""
    packages = SETTINGS["tool"]["setuptools"]["packages"]
    found = {
        ".".join(["batchdeck", room, *path.parent.relative_to(ROOT / room).parts])
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
        if "_package" not in path.parts
    }
    assert found | {"batchdeck"} == set(packages)


@pytest.mark.parametrize(
    ("package", "pattern"),
    [
        ("batchdeck.core.store.migrations", "core/store/migrations/*.sql"),
        ("batchdeck.themes", "themes/*.toml"),
        ("batchdeck.tui.styles", "tui/styles/*.tcss"),
    ],
)
def test_files_that_are_no_modules_are_packaged(package: str, pattern: str) -> None:
    assert list(ROOT.glob(pattern))
    wanted = f"*{Path(pattern).suffix}"
    assert wanted in SETTINGS["tool"]["setuptools"]["package-data"][package]


def test_the_core_loads_without_a_screen() -> None:
    """But for what speaks HTTP: httpx brings a command line of its own along."""
    code = """
import pathlib, runpy, sys, importlib, batchdeck.core
root = pathlib.Path(batchdeck.core.__file__).parent
speak_http = ("client", "remote", "openai", "chat_stream", "chat_connection", "asking", "forge")
for path in sorted(root.rglob("*.py")):
    parts = path.relative_to(root).with_suffix("").parts
    if "_package" in parts or parts[-1] in speak_http:
        continue
    if parts[-1] != "__init__":
        importlib.import_module(".".join(("batchdeck.core", *parts)))
print([name for name in ("textual", "rich", "click") if name in sys.modules])
"""
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert told.stdout.strip() == "[]"


def test_every_package_says_in_one_sentence_what_it_is() -> None:
    for room in ROOMS:
        for path in (ROOT / room).rglob("__init__.py"):
            lines = path.read_text("utf-8").strip().splitlines()
            assert lines[0].startswith('"""'), path
            if "_package" not in path.parts:
                assert len(lines) == 1, f"{path} holds more than its sentence"


def test_the_readme_has_one_command_to_run_it_and_one_to_test_it() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = [block.split("```")[0].strip() for block in text.split("```sh\n")[1:]]
    run, test = blocks[:2]
    assert "\n" not in run
    assert run.endswith("batchdeck demo")
    assert "\n" not in test
    assert "pytest" in test
    assert "<!-- test command -->\n```sh\n" + test in text


def test_what_the_readme_shows_and_names_exists() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    picture = text.split("](")[1].split(")")[0]
    assert (ROOT / unquote(picture)).exists()
    for page in ("core", "tui", "themes", "tests"):
        assert (ROOT / page / "README.md").exists()


def test_the_version_is_the_same_everywhere() -> None:
    from batchdeck import __version__

    assert SETTINGS["project"]["version"] == __version__


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_every_deliberate_fault_fits_the_code_as_it_stands(mutant: Mutant) -> None:
    mutant.apply_in(ROOT, "--check")


def test_what_tests_need_is_held_to_versions_that_work_together() -> None:
    """pytest 9 and the snapshots' plugin do not; snapshots are of one version of their plugin."""
    wanted = SETTINGS["project"]["optional-dependencies"]["test"]
    assert any(one.startswith("pytest>=8") and one.endswith(",<9") for one in wanted)
    assert any(one.startswith("pytest-textual-snapshot==") for one in wanted)
