"""What GitHub and Gitea differ in: addresses, headers, the list, and how an issue is written.

Sources: docs.github.com/rest/issues, and the OpenAPI description that a Gitea serves itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from batchdeck.core.model.issue import IssueFact, IssueState
from batchdeck.core.text import clean_line
from batchdeck.core.trackers.answers import NoAnswer

PER_PAGE = {"github": "100", "gitea": "50"}
"""The most that either gives."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of tracker at one place."""

    kind: str
    base: str
    """Where its interface for programs begins."""
    host: str
    """What stands in the addresses that people see."""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.host}"

    @property
    def newest_first(self) -> bool:
        """Its list is in the order of the latest change; else it only leaves out what is older."""
        return self.kind == "github"

    def headers(self, token: str | None) -> dict[str, str]:
        if self.kind == "gitea":
            return {"Accept": "application/json"} | (
                {"Authorization": f"token {token}"} if token else {}
            )
        found = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        return found | ({"Authorization": f"Bearer {token}"} if token else {})

    def list_params(self, since: str | None) -> dict[str, str]:
        """GitHub's stay the same from time to time, so that its ETag does."""
        if self.newest_first:
            order = {"sort": "updated", "direction": "desc"}
            return {"state": "all", **order, "per_page": PER_PAGE[self.kind]}
        params = {"state": "all", "limit": PER_PAGE[self.kind]}
        return params | ({"since": since} if since else {})


def dialect_for(kind: str, address: str | None) -> Dialect:
    """The tracker at an address as people write it, which may be that of its interface."""
    if kind == "gitea":
        parts = urlsplit((address or "https://gitea.com").rstrip("/"))
        root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/api/v1')}"
        return Dialect("gitea", f"{root}/api/v1", parts.netloc.lower())
    parts = urlsplit((address or "https://github.com").rstrip("/"))
    host = parts.netloc.lower()
    if host in ("github.com", "api.github.com"):
        return Dialect("github", "https://api.github.com", "github.com")
    if host.endswith(".ghe.com"):
        host = host.removeprefix("api.")
        return Dialect("github", f"https://api.{host}", host)
    root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/api/v3')}"
    return Dialect("github", f"{root}/api/v3", host)


@dataclass(frozen=True, slots=True)
class Item:
    """One issue or pull request as an answer has it."""

    number: int
    node: str
    """What it is called for good: a number can be given anew, this cannot."""
    repo: str | None
    """Whose it is, in lower case, where the answer says so."""
    changed: str
    """When it last changed, as written; of one tracker these compare as text."""
    changed_at: float
    fact: IssueFact


def read_item(content: Any) -> Item:
    """An issue from its JSON, whichever of the two wrote it.

    Raises:
        NoAnswer: it is none.
    """
    try:
        state = IssueState(content["state"])
        number, changed = content["number"], content["updated_at"]
        if state not in (IssueState.OPEN, IssueState.CLOSED) or type(number) is not int:
            raise ValueError
        changed_at = datetime.fromisoformat(changed).timestamp()
        node = content.get("node_id") or content["id"]
        repo = _repo_of(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAnswer("answers with something that is no issue") from error
    return Item(number, str(node), repo, changed, changed_at, _fact(content, state, changed))


def _fact(content: Mapping[str, Any], state: IssueState, changed: str) -> IssueFact:
    pull = content.get("pull_request")
    is_pull = isinstance(pull, dict)
    if isinstance(pull, dict) and (pull.get("merged_at") or pull.get("merged") is True):
        event = f"merged {pull.get('merged_at') or changed}"
        return IssueFact(IssueState.MERGED, event=clean_line(event, 60), is_pull=True)
    if state is IssueState.OPEN:
        return IssueFact(state, is_pull=is_pull)
    reason = content.get("state_reason")
    event = content.get("closed_at") or changed
    words = "was closed without being merged" if is_pull else ""
    return IssueFact(
        state,
        reason=clean_line(reason, 40) if isinstance(reason, str) else None,
        event=clean_line(str(event), 60),
        is_pull=is_pull,
        words=words,
    )


def _repo_of(content: Mapping[str, Any]) -> str | None:
    repository = content.get("repository")
    if isinstance(repository, dict) and isinstance(repository.get("full_name"), str):
        return str(repository["full_name"]).lower()
    address = content.get("repository_url")
    if not isinstance(address, str):
        return None
    return "/".join(address.rstrip("/").split("/")[-2:]).lower()
