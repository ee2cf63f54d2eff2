"""A batch file, read, checked and with every default filled in."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from batchdeck.core.batchfile import templates
from batchdeck.core.batchfile.agents import (
    absolute_command,
    absolute_folder,
    agent_from,
    check_agents,
)
from batchdeck.core.batchfile.checks import check_tasks
from batchdeck.core.batchfile.document import Document, parse
from batchdeck.core.batchfile.expanding import Expanding
from batchdeck.core.batchfile.foreach import (
    check_collect,
    check_foreach,
    items_of,
    plain_foreach,
)
from batchdeck.core.batchfile.layers import check_global
from batchdeck.core.batchfile.schema import BatchBlock, TaskBlock
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.batchfile.source import read_source
from batchdeck.core.batchfile.wording import validate
from batchdeck.core.model.agent import Agent
from batchdeck.core.model.batch import Interrupt
from batchdeck.core.model.limit import (
    Limit,
    batch_limit,
    items_limit,
    outstanding_limit,
    status_limit,
)
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.text import clean_line

TASK_LIMIT = 100_000


def read_batch(
    path: Path, *, config: Settings | None = None, agents: Collection[str] = ()
) -> BatchSpec:
    """What a batch file asks for.

    `config` brings limits, caps, agents and folders that the file does not; `agents` are the names
    of further ones that the deck knows.

    Raises:
        BatchFileFaults: anything in it is wrong; every fault is named with its place.
        BadInput: it cannot be read at all.
    """
    settings = config or Settings()
    document = parse(str(path), read_source(path))
    if document.broken:
        document.raise_faults()
    _check_size(document)
    block = validate(document, document.values, BatchBlock)
    _check(document, settings, agents)
    items = items_of(document, Path(os.path.dirname(os.path.abspath(path))))
    if block is None or document.faulty:
        document.raise_faults()
    assert block is not None
    spec = _Filling(path, document, block, settings, items).spec()
    document.raise_faults()
    return spec


def _check_size(document: Document) -> None:
    """
    Raises:
        BatchFileFaults: there is no use in looking at the values.
    """
    values = document.values
    if not isinstance(values, dict):
        document.fault((), "expected keys with values: name, agents, tasks …")
        document.raise_faults()
    tasks = values.get("tasks")
    if isinstance(tasks, list) and len(tasks) > TASK_LIMIT:
        words = f"{len(tasks):,} are too many: at most {TASK_LIMIT:,} (more by items: {{file: …}})"
        document.fault(("tasks",), words)
        document.raise_faults()


def _check(document: Document, settings: Settings, agents: Collection[str]) -> None:
    values = document.values
    check_global(document, values.get("max_parallel"), settings.max_parallel_cap, ("max_parallel",))
    check_agents(document, values.get("agents"), settings.parallelism_limit_cap)
    own = values.get("agents")
    known = {*(own if isinstance(own, dict) else ()), *settings.agents, *agents}
    check_tasks(document, known)
    check_foreach(document, known)
    check_collect(document)


class _Filling:
    """Turns a checked block into what the deck takes."""

    def __init__(
        self,
        path: Path,
        document: Document,
        block: BatchBlock,
        settings: Settings,
        items: Sequence[Any],
    ) -> None:
        self._file = os.path.abspath(path)
        self._base = Path(os.path.dirname(self._file))
        self._document = document
        self._block = block
        self._settings = settings
        self._items = items
        self._name = block.name or _name_from(path)

    def spec(self) -> BatchSpec:
        block = self._block
        given = self._document.values.get("foreach")
        foreach = plain_foreach(given, self._base) if given else None
        tasks = tuple(self._tasks())
        items, folders = self._item_tasks(foreach)
        calm = Interrupt.QUIESCE if foreach else Interrupt.CONTINUE
        interval = block.reconciliation_interval_seconds
        return BatchSpec(
            name=self._name,
            tasks=(*tasks, *items),
            agents=MappingProxyType(self._agents()),
            limits=tuple(self._limits()),
            on_error=block.on_error,
            collect_to=block.collect_to,
            interrupt=block.interrupt or calm,
            max_attempts=block.max_attempts,
            reconciliation_interval_seconds=(
                self._settings.reconciliation_interval_seconds if interval is None else interval
            ),
            budget=block.budget.model_dump() if block.budget else None,
            prepare=tuple(absolute_command(line, self._base) for line in block.prepare or ()),
            base=str(self._base),
            file=self._file,
            folders=self._settings.folders,
            foreach=foreach,
            folders_of_steps=folders,
        )

    def _item_tasks(
        self, foreach: Mapping[str, Any] | None
    ) -> tuple[tuple[TaskSpec, ...], tuple[str, ...]]:
        """The items as tasks, and the folders of their later steps."""
        if foreach is None:
            return (), ()
        folders = self._settings.folders
        expanding = Expanding(self._document, foreach, self._items, self._name, self._base, folders)
        return tuple(expanding.tasks()), tuple(expanding.folders)

    def _agents(self) -> dict[str, Agent]:
        folders = self._settings.folders
        blocks = self._block.agents or {}
        return {
            name: agent_from(name, block, self._base, folders) for name, block in blocks.items()
        }

    def _tasks(self) -> Iterator[TaskSpec]:
        for index, task in enumerate(self._block.tasks or ()):
            title = clean_line(self._fill(index, "title", task.title, {"task": task.id}))
            names = {"task": task.id, "title": title}
            prompt = self._fill(index, "prompt", task.prompt, names)
            yield self._task(task, title, prompt)

    def _task(self, task: TaskBlock, title: str, prompt: str) -> TaskSpec:
        return TaskSpec(
            key=task.id,
            agent=task.agent,
            title=title or clean_line(prompt.strip().partition("\n")[0], 200),
            prompt=prompt or title,
            status=task.status,
            depends_on=tuple(dict.fromkeys(task.depends_on or ())),
            target=task.target,
            folder=absolute_folder(task.folder, self._base, self._settings.folders),
            priority=task.priority,
            issue=task.issue,
        )

    def _fill(self, index: int, key: str, text: str | None, names: Mapping[str, Any]) -> str:
        try:
            return templates.fill(text or "", {**names, "batch": self._name})
        except templates.TemplateFault as fault:
            self._document.fault(("tasks", index, key), str(fault))
            return ""

    def _limits(self) -> Iterator[Limit]:
        block, settings, origin = self._block, self._settings, os.path.basename(self._file)
        wanted = settings.max_parallel
        if block.max_parallel is not None:
            wanted = Limit("", block.max_parallel, origin=origin)
        if wanted is not None:
            yield replace(wanted, name=batch_limit(self._name))
        by_status = dict(settings.by_status)
        for status, value in (block.max_parallel_by_status or {}).items():
            if value is not None:
                by_status[status] = Limit("", value, origin=origin)
        for status, limit in by_status.items():
            yield replace(limit, name=status_limit(self._name, status))
        if block.foreach is not None:
            active, outstanding = block.foreach.max_active, block.foreach.max_outstanding
            yield Limit(items_limit(self._name), active, origin=origin)
            yield Limit(outstanding_limit(self._name), outstanding, origin=origin)
        if settings.attention is not None:
            yield settings.attention


def _name_from(path: Path) -> str:
    """A batch that names itself nothing is called as its file."""
    letters = (sign if sign.isalnum() or sign in "-_." else "-" for sign in path.stem)
    return clean_line("".join(letters)).strip("-.") or "batch"
