"""What a batch file counts on and will not find: programs, folders, what braces stand for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from batchdeck.core.batchfile.document import Loc, parse
from batchdeck.core.batchfile.faults import BatchFileFaults, Fault, shown
from batchdeck.core.batchfile.source import read_source
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.text import clean_line


def missing_here(path: Path, spec: BatchSpec, search: str | None) -> tuple[Fault, ...]:
    """What would hold agents or folders once it runs; `search` is the PATH for programs.

    None of it is wrong with the file: it may be read on another machine, or before a checkout.
    """
    document = parse(str(path), read_source(path))
    found = (*_programs(spec, document.values, search), *_placeholders(spec, document.values))
    for loc, words in (*found, *_folders(spec)):
        document.fault(loc, f"warning: {words}")
    try:
        document.raise_faults()
    except BatchFileFaults as found:
        return found.faults
    return ()


def _programs(
    spec: BatchSpec, values: Mapping[str, object], search: str | None
) -> Iterator[tuple[Loc, str]]:
    own = values.get("agents")
    for name, agent in spec.agents.items():
        if not agent.command or not isinstance(own, dict) or name not in own:
            continue
        program = agent.command[0]
        if shutil.which(program, path=search) is None:
            yield ("agents", name, "command"), f"{shown(program)} is not a program found here"


_PLACEHOLDERS = ("{prompt}", "{prompt_file}", "{session}")


def _placeholders(spec: BatchSpec, values: Mapping[str, object]) -> Iterator[tuple[Loc, str]]:
    """They are filled in where they are an item of their own."""
    own = values.get("agents")
    for name, agent in spec.agents.items():
        if not isinstance(own, dict) or name not in own:
            continue
        for item in agent.command[1:]:
            held = next((one for one in _PLACEHOLDERS if one in item and one != item), None)
            if held is not None:
                words = f"{held} inside of {shown(item)!r} stays as it is: make it an item alone"
                yield ("agents", name, "command"), words


def _folders(spec: BatchSpec) -> Iterator[tuple[Loc, str]]:
    for name, agent in spec.agents.items():
        yield from _folder(("agents", name, "folder"), agent.folder, spec)
    own = (task for task in spec.tasks if task.index is None)
    for number, task in enumerate(own):
        yield from _folder(("tasks", number, "folder"), task.folder, spec)


def _folder(loc: Loc, folder: str | None, spec: BatchSpec) -> Iterator[tuple[Loc, str]]:
    if folder is None:
        return
    path = spec.folders.get(folder, folder)
    if not os.path.isdir(path):
        yield (
            loc,
            f"there is no folder {clean_line(path, 400)}; it is not made, and its turns would wait",
        )
