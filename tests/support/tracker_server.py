"""A real HTTP server that speaks like GitHub or Gitea: ETags, pages, limits, faults."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

START = 1_700_000_000
"""When the first thing happens on this tracker."""

_EMPTY = (204, 304)
"""Statuses that come without a body."""

Fault = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    status: int = 0

    @property
    def is_list(self) -> bool:
        return self.path.endswith("/issues")


@dataclass(slots=True)
class TrackerServer:
    """Issues by repository, and what happens when they are asked for."""

    kind: str = "github"
    token: str | None = "a-token"
    port: int = 0
    per_page: int = 100
    issues: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    gone: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    """Single issues that are answered with this status and message."""
    moved: dict[tuple[str, int], str] = field(default_factory=dict)
    """Single issues that are answered with 301 and this address."""
    faults: list[Fault | None] = field(default_factory=list)
    """Each is the answer to one request; None: an answer as usual."""
    always: Fault | None = None
    asked: list[Asked] = field(default_factory=list)
    remaining: int = 5_000
    poll_interval: int | None = None
    """Seconds for which a list is not to be asked for again."""
    tick: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def prefix(self) -> str:
        return "/api/v3" if self.kind == "github" else "/api/v1"

    def put(
        self,
        number: int,
        state: str = "open",
        reason: str | None = None,
        *,
        repo: str = "o/r",
        pull: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Makes or changes an issue; time goes on by a second."""
        self.tick += 1
        at = datetime.fromtimestamp(START + self.tick, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        issue = {
            "id": number + 1000,
            "number": number,
            "title": f"issue {number}",
            "state": state,
            "state_reason": reason,
            "updated_at": at,
            "closed_at": at if state == "closed" else None,
            "repository_url": f"{self.address}{self.prefix}/repos/{repo}",
            "node_id": f"I_{repo}_{number}",
            **more,
        }
        if pull is not None:
            issue["pull_request"] = pull
        if self.kind == "gitea":
            del issue["state_reason"], issue["node_id"], issue["repository_url"]
            issue["repository"] = {"full_name": repo}
        self.issues.setdefault(repo, {})[number] = issue

    def close(self, number: int, reason: str | None = "completed", repo: str = "o/r") -> None:
        self.put(number, "closed", reason, repo=repo)

    @property
    def lists(self) -> list[Asked]:
        """Lists that were asked for from their beginning."""
        return [one for one in self.asked if one.is_list and "page" not in one.query]

    @property
    def singles(self) -> list[Asked]:
        return [one for one in self.asked if not one.is_list]

    def forget(self) -> None:
        self.asked.clear()


def reply(
    handler: BaseHTTPRequestHandler, status: int, content: Any = None, **headers: object
) -> None:
    """An answer with JSON, or with bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response_only(status)
    given = {name.replace("_", "-").lower(): str(value) for name, value in headers.items()}
    usual = {
        "date": formatdate(usegmt=True),
        "content-type": "application/json; charset=utf-8",
        "content-length": "0" if status in _EMPTY else str(len(body)),
    }
    for name, value in (usual | given).items():
        handler.send_header(name, value)
    handler.end_headers()
    if status not in _EMPTY:
        handler.wfile.write(body)


def fault(status: int, message: str = "", **headers: object) -> Fault:
    """An answer with an error."""
    return lambda handler: reply(handler, status, {"message": message}, **headers)


@contextmanager
def tracker_server(kind: str = "github", **fields: Any) -> Iterator[TrackerServer]:
    """A tracker on a free port of the loopback interface while the block runs."""
    served = TrackerServer(kind, **fields)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = served.faults.pop(0) if served.faults else served.always
            served.asked.append(Asked(parts.path, query, headers))
            try:
                if given is not None:
                    given(self)
                else:
                    _usual(served, self, parts.path, query)
            except OSError:
                self.close_connection = True

        def send_response_only(self, code: int, message: str | None = None) -> None:
            last = served.asked[-1]
            served.asked[-1] = Asked(last.path, last.query, last.headers, code)
            super().send_response_only(code, message)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _usual(
    served: TrackerServer, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str]
) -> None:
    wanted = {"github": "Bearer", "gitea": "token"}[served.kind]
    given = handler.headers.get("Authorization")
    if given != (f"{wanted} {served.token}" if served.token else None):
        return reply(handler, 401, {"message": "Bad credentials"})
    parts = path.removeprefix(f"{served.prefix}/repos/").split("/")
    repo = "/".join(parts[:2])
    if repo not in served.issues or len(parts) not in (3, 4):
        return reply(handler, 404, {"message": "Not Found"})
    if len(parts) == 4:
        return _single(served, handler, repo, int(parts[3]))
    return _list(served, handler, repo, query)


def _single(served: TrackerServer, handler: BaseHTTPRequestHandler, repo: str, number: int) -> None:
    if (repo, number) in served.moved:
        return reply(handler, 301, {}, location=served.moved[repo, number])
    if (repo, number) in served.gone:
        status, message = served.gone[repo, number]
        return reply(handler, status, {"message": message})
    issue = served.issues[repo].get(number)
    return reply(handler, 200, issue) if issue else reply(handler, 404, {"message": "Not Found"})


def _list(
    served: TrackerServer, handler: BaseHTTPRequestHandler, repo: str, query: dict[str, str]
) -> None:
    rows = list(served.issues[repo].values())
    if served.kind == "github":
        rows.sort(key=lambda issue: (issue["updated_at"], issue["number"]), reverse=True)
    else:
        rows = [issue for issue in rows if issue["updated_at"] >= query.get("since", "")]
    page = int(query.get("page", 1))
    size = min(served.per_page, int(query.get("per_page") or query.get("limit") or 30))
    shown = rows[(page - 1) * size : page * size]
    headers: dict[str, object] = {}
    if page * size < len(rows):
        kept = {name: value for name, value in query.items() if name != "page"} | {
            "page": str(page + 1)
        }
        following = "&".join(f"{name}={value}" for name, value in kept.items())
        path = handler.path.partition("?")[0]
        headers["link"] = f'<{served.address}{path}?{following}>; rel="next"'
    if served.kind == "github":
        etag = '"' + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16] + '"'
        headers |= {"etag": etag, "x_ratelimit_remaining": served.remaining}
        if served.poll_interval is not None:
            headers["x_poll_interval"] = served.poll_interval
        if handler.headers.get("If-None-Match") == etag:
            return reply(handler, 304, None, **headers)
    return reply(handler, 200, shown, **headers)
