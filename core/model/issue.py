"""An issue on a tracker: how a task names it, what was seen of it, and how its tracker answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from batchdeck.core.errors import BadInput

_SHORT = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)#(?P<number>[1-9]\d{0,8})", re.ASCII)
_PATH = re.compile(
    r"/(?P<repo>[\w.-]+/[\w.-]+)/(?:issues|pull|pulls)/(?P<number>[1-9]\d{0,8})/?", re.ASCII
)


@dataclass(frozen=True, slots=True, order=True)
class IssueRef:
    """An issue or pull request by its repository and number.

    `host`: of a full address, in lower case and with its port; empty: the deck's tracker.
    """

    host: str
    repo: str
    """`owner/name`, in lower case: trackers do not tell them apart."""
    number: int

    @property
    def words(self) -> str:
        """As people write it."""
        return f"{self.repo}#{self.number}"


def read_issue(text: str) -> IssueRef:
    """What a task's `issue` names: `owner/repo#12`, or a full address.

    Raises:
        BadInput: neither.
    """
    short = _SHORT.fullmatch(text.strip())
    if short is not None:
        return IssueRef("", short["repo"].lower(), int(short["number"]))
    try:
        parts = urlsplit(text.strip())
        host = parts.netloc.rpartition("@")[2].lower()
    except ValueError:
        parts, host = urlsplit(""), ""
    path = _PATH.fullmatch(parts.path)
    if parts.scheme in ("http", "https") and host and path is not None:
        return IssueRef(host, path["repo"].lower(), int(path["number"]))
    raise BadInput(
        f"{text!r} names no issue. Give owner/repo#12, or its address "
        "(https://github.com/owner/repo/issues/12)."
    )


class IssueState(StrEnum):
    """What a tracker said of an issue; only `closed`, `merged` and `deleted` end a task."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"
    DELETED = "deleted"
    UNKNOWN = "unknown"
    """The tracker does not show it: nothing follows from that."""


@dataclass(frozen=True, slots=True)
class IssueFact:
    """What was last seen of one issue, with a good answer about just this one."""

    state: IssueState
    reason: str | None = None
    """Of a closed one: completed, not_planned, duplicate; None where the tracker gives none."""
    event: str = ""
    """Names what happened to it last, so that the same thing is acted upon once."""
    is_pull: bool = False
    words: str = ""
    """What a person should know of it: it was moved, it cannot be seen."""


@dataclass(frozen=True, slots=True)
class TrackerStanding:
    """How a tracker answers, for people."""

    name: str
    """Its kind and host."""
    good: bool = True
    words: str = ""
    """What is wrong, and what is done about it; empty where nothing is."""
    asked_ms: int | None = None
    """When it last gave a good answer."""
    again_ms: int | None = None
    """When it is asked again, where it is being spared."""
    issues: int = 0
    """How many issues are followed there."""
    doubtful: tuple[str, ...] = ()
    """Issues of which nothing certain is known, with why; at most 20."""
