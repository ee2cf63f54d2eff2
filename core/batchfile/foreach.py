"""The foreach block: the same steps for every item."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from batchdeck.core.batchfile.checks import check_agent_name, check_template
from batchdeck.core.batchfile.document import Document, Loc, Unquoted
from batchdeck.core.batchfile.faults import BatchFileFaults, shown
from batchdeck.core.batchfile.items import read_items
from batchdeck.core.errors import BadInput
from batchdeck.core.paths import absolute

ITEM_NAMES = ("item", "index", "batch")
"""What a step's templates may name, beside what earlier steps of the item keep."""

_KINDS_OF_ITEMS = ("file", "glob")
_FILES_OF_ITEMS = (".jsonl", ".csv")
_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_NEEDED_KIND = {"sum": ("number",), "merge": ("json",)}
"""What a reducer can take."""
_TEMPLATES = ("title", "folder", "target", "prompt")


def check_foreach(document: Document, agents: Collection[str]) -> None:
    """Notes what is wrong with the block beyond its shape."""
    block = document.values.get("foreach")
    if not isinstance(block, dict):
        return
    at: Loc = ("foreach",)
    _check_bounds(document, block, at)
    _check_items(document, block.get("items"), (*at, "items"))
    for key in _TEMPLATES:
        check_template(document, (*at, key), block.get(key), ITEM_NAMES)
    steps = block.get("steps")
    listed = [step if isinstance(step, dict) else {} for step in steps or ()]
    _check_steps(document, listed, (*at, "steps"), agents)
    _check_writes(document, listed, (*at, "steps"), _is_single(block.get("items")))


def items_of(document: Document, base: Path) -> list[Any]:
    """The items, read from where the block says they are; notes what is wrong there."""
    block = document.values.get("foreach")
    items = block.get("items") if isinstance(block, dict) else None
    if isinstance(items, list):
        return items
    if not isinstance(items, dict) or len(items) != 1:
        return []
    [(kind, path)] = items.items()
    if not _is_place(kind, path):
        return []
    try:
        return read_items(kind, absolute(path, base))
    except BatchFileFaults as found:
        document.faults.extend(found.faults)
    except BadInput as error:
        document.fault(("foreach", "items", kind), error.message)
    return []


def _is_place(kind: Any, path: Any) -> bool:
    if kind not in _KINDS_OF_ITEMS or not isinstance(path, str) or not path:
        return False
    return kind == "glob" or path.endswith(_FILES_OF_ITEMS)


def check_collect(document: Document) -> None:
    """Notes a place for records of failures that is missing, or that steps write to."""
    values = document.values
    wanted = values.get("collect_to")
    if values.get("on_error") == "collect" and wanted is None:
        document.fault(("collect_to",), "missing: on_error: collect needs it")
    block = values.get("foreach")
    steps = block.get("steps") if isinstance(block, dict) else None
    if not isinstance(wanted, str) or not isinstance(steps, list):
        return
    if not _PATH.fullmatch(wanted):
        document.fault(("collect_to",), f"{shown(wanted)!r} is no dotted path")
    for index, step in enumerate(steps):
        path = step.get("writes") if isinstance(step, dict) else None
        if isinstance(path, str) and (path == wanted or _is_above(path, wanted)):
            loc = ("foreach", "steps", index, "writes")
            document.fault(loc, f"{shown(path)!r} is where collect_to writes too")


def plain_foreach(values: Mapping[str, Any], base: Path) -> Mapping[str, Any]:
    """The checked block as plain data, with absolute paths and defaults filled in."""
    block = {"max_active": 4, "max_outstanding": 20, **values}
    items = block["items"]
    if isinstance(items, dict):
        block["items"] = {kind: absolute(path, base) for kind, path in items.items()}
    return block


def _check_bounds(document: Document, block: Mapping[str, Any], at: Loc) -> None:
    active, outstanding = block.get("max_active", 4), block.get("max_outstanding", 20)
    if _whole(active) and active == 0:
        document.fault((*at, "max_active"), "0 would begin no item: expected 1 or more")
        return
    if _whole(active) and _whole(outstanding) and outstanding < active:
        key = "max_outstanding" if "max_outstanding" in block else "max_active"
        words = f"max_outstanding ({outstanding}) must be at least max_active ({active})"
        document.fault((*at, key), words)


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _check_items(document: Document, items: Any, at: Loc) -> None:
    if isinstance(items, list):
        for index, item in enumerate(items):
            _check_item(document, item, (*at, index))
    if not isinstance(items, dict):
        return
    if len(items) != 1:
        document.fault(at, "expected a list, {file: …} or {glob: …}")
    for kind, path in items.items():
        if kind not in _KINDS_OF_ITEMS:
            document.fault(
                (*at, kind), f"unknown key{document.hint(kind, _KINDS_OF_ITEMS)}", at_key=True
            )
        elif not isinstance(path, str) or not path:
            document.fault((*at, kind), "expected a path")
        elif not _is_place(kind, path):
            document.fault((*at, kind), f"{shown(path)!r}: expected a .jsonl or .csv file")


def _check_item(document: Document, value: Any, at: Loc) -> None:
    """Items are free, but what one reader takes for text and another for a number is refused."""
    if isinstance(value, Unquoted):
        document.fault(at, f"{shown(value)} unquoted may be read as something else: quote it")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_item(document, inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_item(document, inner, (*at, index))


def _check_steps(
    document: Document, steps: list[dict[str, Any]], at: Loc, agents: Collection[str]
) -> None:
    names, ids = list(ITEM_NAMES), set()
    for index, step in enumerate(steps):
        here = (*at, index)
        if isinstance(step.get("id"), str) and step["id"] in ids:
            document.fault((*here, "id"), f"{shown(step['id'])!r} is the id of another step too")
        ids.add(str(step.get("id")))
        check_agent_name(document, (*here, "agent"), step.get("agent"), agents)
        for key in _TEMPLATES:
            # where a step works must be known before anything runs
            known = ITEM_NAMES if key == "folder" else names
            check_template(document, (*here, key), step.get(key), known)
        check_template(document, (*here, "conversation"), step.get("conversation"), names)
        _check_keep(document, step.get("keep"), (*here, "keep"), names)
        _check_root(document, step.get("writes"), (*here, "writes"), names)


def _check_keep(document: Document, keep: Any, at: Loc, names: list[str]) -> None:
    """Notes a kept value's name that is none; adds it to what later steps may name."""
    if not isinstance(keep, str):
        return
    if not _VARIABLE.fullmatch(keep):
        document.fault(at, f"{shown(keep)!r} is no name: expected letters, digits and _")
    elif keep in ITEM_NAMES:
        document.fault(at, f"{keep!r} already stands for something else")
    else:
        names.append(keep)


def _check_root(document: Document, writes: Any, at: Loc, names: list[str]) -> None:
    """What an item wrote may be named by its later steps, so it must not hide something else."""
    if not isinstance(writes, str) or not _PATH.fullmatch(writes):
        return
    root = writes.partition(".")[0]
    if root in ITEM_NAMES:
        document.fault(at, f"{root!r} already stands for something else")
    elif root not in names:
        names.append(root)


def _is_single(items: Any) -> bool:
    return isinstance(items, list) and len(items) <= 1


def _check_writes(
    document: Document, steps: list[dict[str, Any]], at: Loc, is_single: bool
) -> None:
    """Every item runs every step, so what one step writes is written once per item."""
    written: list[tuple[str, str | None]] = []
    for index, step in enumerate(steps):
        path, reducer = step.get("writes"), step.get("reducer")
        loc = (*at, index, "writes")
        if path is None and reducer is not None:
            document.fault((*at, index, "reducer"), "a reducer without writes", at_key=True)
        if not isinstance(path, str):
            continue
        if not _PATH.fullmatch(path):
            document.fault(loc, f"{shown(path)!r} is no dotted path, as in results.plans")
            continue
        clash = next((other for other, _ in written if _is_above(other, path)), None)
        if clash is not None:
            document.fault(
                loc, f"{path!r} and {clash!r} cannot both be written: one holds the other"
            )
        twice = not is_single or any(other == path for other, _ in written)
        if twice and reducer is None:
            words = f"{path!r} is written more than once, and needs a reducer"
            document.fault(loc, f"{words} (append, merge, sum or last)")
        if any(other == path and how != reducer for other, how in written):
            document.fault(loc, f"{path!r} is written with two reducers")
        needed = _NEEDED_KIND.get(str(reducer))
        if needed is not None and step.get("as") not in needed:
            wanted = " or ".join(f"as: {kind}" for kind in needed)
            document.fault((*at, index, "reducer"), f"{reducer} needs {wanted}")
        written.append((path, reducer))


def _is_above(one: str, other: str) -> bool:
    return one != other and (other.startswith(one + ".") or one.startswith(other + "."))
