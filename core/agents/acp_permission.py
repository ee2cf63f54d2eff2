"""A permission request of the Agent Client Protocol: in words, in scope, and as its answer."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
)

from batchdeck.core.model.permission import Decision, Permission
from batchdeck.core.text import counted, one_line, with_controls_shown

MOST_WORDS = 64 * 1024
"""Characters of a request that are shown; what is cut is named."""
_MOST_COMPARED = 100_000
_OF_FILES = frozenset({"read", "edit", "search"})
"""Kinds of tools of which one may allow all in the working folder."""
_OPTIONS = {
    Decision.ALLOW_ONCE: ("allow_once",),
    # the deck keeps what is always allowed: so it can be taken back at any time
    Decision.ALLOW_ALWAYS: ("allow_once", "allow_always"),
    Decision.DENY: ("reject_once", "reject_always"),
}


def permission_of(
    call: dict[str, Any], options: Iterable[PermissionOption], folder: Path
) -> Permission:
    """What is asked of a person. `call`: all that was told of the tool's call, by field."""
    title = one_line(str(call.get("title") or call.get("tool_call_id") or "a tool"))
    scope, covers = _scope(call, title, folder)
    offered = {option.kind for option in options}
    choices = tuple(
        decision
        for decision, kinds in _OPTIONS.items()
        if decision is Decision.DENY or offered.intersection(kinds)
    )
    return Permission(_in_full(call, title, covers), title, scope, covers, choices)


def answer_to(decision: Decision, options: Iterable[PermissionOption]) -> RequestPermissionResponse:
    """A decision as the option that says it; by the options' kinds, for their ids say nothing."""
    for kind in _OPTIONS.get(decision, ()):
        for option in options:
            if option.kind == kind:
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen)
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _scope(call: dict[str, Any], title: str, folder: Path) -> tuple[str, str]:
    """What *allow always* would be about, for machines and in words."""
    kind = call.get("kind")
    paths = [str(place.path) for place in call.get("locations") or ()]
    if kind in _OF_FILES and paths and all(_is_inside(path, folder) for path in paths):
        return f"{kind} in folder", f"{kind} anything in its working folder"
    arguments = call.get("raw_input")
    if isinstance(arguments, dict):  # programs word the same call anew each time
        arguments = {name: value for name, value in arguments.items() if name != "description"}
    shown = _plain(call.get("content")) if arguments is None else None
    whole = [kind, call.get("title"), arguments, shown]
    text = json.dumps(whole, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest(), f"exactly this: {title}"


def _is_inside(path: str, folder: Path) -> bool:
    inside = os.path.realpath(folder)
    return os.path.commonpath((inside, os.path.realpath(os.path.join(inside, path)))) == inside


def _plain(content: Any) -> Any:
    return [part.model_dump(mode="json") for part in content or ()]


def _in_full(call: dict[str, Any], title: str, covers: str) -> str:
    """Everything that is known of the request, one thing a paragraph."""
    wish = one_line(with_controls_shown(str(call.get("title") or title)), MOST_WORDS)
    text = with_controls_shown("\n".join([f"wants to: {wish}", *_details(call)]))
    if len(text) > MOST_WORDS:
        text = f"{text[:MOST_WORDS]}\n… {len(text) - MOST_WORDS:,} characters more are not shown"
    return f"{text}\nallow always would cover: {covers}"


def _details(call: dict[str, Any]) -> Iterator[str]:
    if call.get("kind"):
        yield f"tool: {call['kind']}"
    places = [
        f"{place.path}:{place.line}" if place.line else place.path
        for place in call.get("locations") or ()
    ]
    if places:
        yield f"files: {', '.join(places)}"
    if call.get("raw_input") not in (None, {}):
        yield "arguments:"
        yield _arguments(call["raw_input"])
    for part in call.get("content") or ():
        yield from _content(part)


def _arguments(value: Any) -> str:
    """`name: value`, one a line; whatever else it is, as JSON."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return "\n".join(
        f"  {name}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for name, item in value.items()
    )


def _content(part: Any) -> Iterator[str]:
    match part.type:
        case "diff":
            yield f"changes in {part.path}:"
            yield _difference(part.old_text or "", part.new_text)
        case "content":
            yield getattr(part.content, "text", None) or f"({part.content.type})"


def _difference(old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    if len(old) + len(new) > _MOST_COMPARED:
        gone = [f"-… {counted(len(before), 'line')}, too much to compare"] if before else []
        return "\n".join([*gone, *(f"+{line}" for line in after)])
    if before == after and old != new:
        return "(only the ends of lines)"
    heads = 2  # `---` and `+++`, with the names of files
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    return "\n".join(islice(lines, heads, None))
