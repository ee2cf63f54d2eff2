"""The items of a foreach as tasks, each with its first step's words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from batchdeck.core.batchfile import templates
from batchdeck.core.batchfile.agents import absolute_folder
from batchdeck.core.batchfile.document import Document
from batchdeck.core.model.foreach import Foreach, Step, foreach_from, item_key, names_after
from batchdeck.core.model.spec import TaskSpec
from batchdeck.core.text import clean_line, clean_text

MOST_FAULTS = 20


class Expanding:
    """Fills the templates of every item in, as far as they can be before anything runs."""

    def __init__(
        self,
        document: Document,
        block: Mapping[str, Any],
        items: Iterable[Any],
        batch: str,
        base: Path,
        folders: Collection[str],
    ) -> None:
        self._document = document
        self._block = block
        self._items = items
        self._plan: Foreach = foreach_from(block)
        self._batch = batch
        self._base = base
        self._folders = folders
        self._faults = 0
        plain = {key: value for key, value in block.items() if key in ("steps", "folder", "target")}
        self._steps = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
        self.folders: dict[str, None] = {}
        """Where later steps work."""
        self._named = [self._names_now(number) for number in range(len(self._plan.steps))]
        self._owners: dict[str, tuple[str, str]] = {}
        """By the name of a conversation: the agent that has it, and the step that says so."""

    def tasks(self) -> Iterator[TaskSpec]:
        """One task per item, in order."""
        for index, item in enumerate(self._items):
            if self._faults >= MOST_FAULTS:
                return
            yield self._task(index, item)

    def _task(self, index: int, item: Any) -> TaskSpec:
        names = {"item": item, "index": index, "batch": self._batch}
        first, *later = self._plan.steps
        conversation = self._conversation(0, first, names)
        for number, step in enumerate(later, 1):
            self._try_later(number, step, names)
        return TaskSpec(
            key=item_key(index),
            agent=first.agent,
            title=step_title(self._plan, 0, self._fill(0, "title", first.title, names), item),
            prompt=self._fill(0, "prompt", first.prompt, names),
            target=self._fill(0, "target", first.target, names) or None,
            folder=self._folder(0, first, names),
            priority=first.priority,
            conversation=conversation,
            index=index,
            item=json.dumps(item, ensure_ascii=False),
            steps=self._steps,
        )

    def _folder(self, number: int, step: Step, names: Mapping[str, Any]) -> str | None:
        """Where an item's step works; a template that comes to nothing is the file's own folder."""
        if step.folder is None:
            return None
        path = self._fill(number, "folder", step.folder, names)
        return absolute_folder(path or ".", self._base, self._folders)

    def _names_now(self, number: int) -> bool:
        """Whether the conversation of a step has a name that is known before anything runs."""
        source = self._plan.steps[number].conversation
        if source is None:
            return False
        return templates.names_in(source).isdisjoint(names_after(self._plan.steps, number))

    def _conversation(self, number: int, step: Step, names: Mapping[str, Any]) -> str | None:
        """The conversation that an item's step goes on in; None: its own, or not known yet."""
        called = self._fill(number, "conversation", step.conversation, names)
        if not called or not self._named[number]:
            return None
        owner, since = self._owners.setdefault(called, (step.agent, step.id))
        if owner != step.agent and self._faults < MOST_FAULTS:
            self._faults += 1
            place = ("foreach", "steps", number, "conversation")
            words = f"{called!r} is {owner}'s by step {since}, and one agent alone can have it"
            self._document.fault(place, f"item {names['index']}: {words}")
        return called

    def _try_later(self, number: int, step: Step, names: Mapping[str, Any]) -> None:
        """Finds out now what an item lacks for a later step; what steps leave is not known yet."""
        anything = dict.fromkeys(names_after(self._plan.steps, number), _ANYTHING)
        for key in ("prompt", "title", "target"):
            self._fill(number, key, getattr(step, key), {**anything, **names})
        self._conversation(number, step, {**anything, **names})
        folder = self._folder(number, step, names)
        if folder is not None:
            self.folders[folder] = None

    def _fill(self, number: int, key: str, text: str | None, names: Mapping[str, Any]) -> str:
        if not text:
            return ""
        try:
            filled = templates.fill(text, names)
        except templates.TemplateFault as fault:
            if isinstance(fault, templates.ValueFault) and not _known(names):
                return ""  # what is not known yet may be of another kind
            if self._faults < MOST_FAULTS:
                loc = ("foreach", "steps", number, key)
                own = self._block["steps"][number].get(key) is not None
                place = loc if own else ("foreach", key)
                self._document.fault(place, f"item {names['index']}: {fault}")
                self._faults += 1
            return ""
        return clean_text(filled) if key == "prompt" else clean_line(filled.strip())


def step_title(plan: Foreach, number: int, title: str, item: Any) -> str:
    """How a step of an item is called: its title, else the item in a word, with the step's id."""
    name = title or clean_line(_short(item), 80)
    return name if len(plan.steps) == 1 else f"{name} · {plan.steps[number].id}"


def _short(item: Any) -> str:
    if isinstance(item, dict) and item:
        return str(next(iter(item.values())))
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def _known(names: Mapping[str, Any]) -> bool:
    return not any(value is _ANYTHING for value in names.values())


class _Anything:
    """Stands for a value that is not known yet; whatever a template does with it goes well."""

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> _Anything:
        return self

    def __call__(self, *args: object, **kwargs: object) -> _Anything:
        return self

    def __iter__(self) -> Iterator[_Anything]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return ""

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def _same(self, other: object = None) -> _Anything:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __neg__ = _same

    def _compares(self, other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _compares


_ANYTHING = _Anything()
