"""A copy of the package with one deliberate fault in it; the checkout stays as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from compileall import compile_dir
from dataclasses import dataclass
from pathlib import Path

from tests.crash.harness import Program

ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).parent / "mutants"
_CAUGHT_BY = re.compile(r"^Caught-by: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: its patch, and what must catch it."""

    patch: Path

    @property
    def name(self) -> str:
        return self.patch.stem

    @property
    def caught_by(self) -> str:
        """The name of a harness, or a file of tests."""
        found = _CAUGHT_BY.search(self.patch.read_text("utf-8"))
        assert found is not None, f"{self.patch} does not say what catches it"
        return found[1]

    def apply_in(self, folder: Path, *flags: str) -> None:
        """Changes the code in a folder; with `--check`, only sees whether it could.

        Raises:
            AssertionError: the code has changed where the fault is to be put in.
        """
        applied = subprocess.run(
            ["git", "apply", "--recount", "--unidiff-zero", "-C1", *flags, str(self.patch)],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        )
        assert applied.returncode == 0, f"{self.name} no longer fits the code: {applied.stderr}"

    def build(self, folder: Path) -> Program:
        """Makes the changed copy; the program that is run from it."""
        for name in ("core", "tui", "themes"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        self.apply_in(folder)
        package = folder / "lib" / "batchdeck"
        package.mkdir(parents=True)
        for name in ("core", "tui", "themes"):
            (package / name).symlink_to(folder / name)
        for name in ("__init__.py", "__main__.py", "py.typed", "root.py"):
            (package / name).symlink_to(folder / "core" / "_package" / name)
        compile_dir(folder, quiet=2)  # or every start would be slower than those of the original
        environment = {"PYTHONPATH": str(folder / "lib")}
        return Program((sys.executable, "-m", "batchdeck"), environment)


MUTANTS = tuple(Mutant(patch) for patch in sorted(PATCHES.glob("*.patch")))
