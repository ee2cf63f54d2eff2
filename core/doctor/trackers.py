"""Whether the tracker that the configuration names can be asked, with its token."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import anyio

from batchdeck.core.batchfile.settings import read_settings
from batchdeck.core.doctor.finding import Finding, fine, problem, remark
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.paths import DeckPaths
from batchdeck.core.trackers.dialects import Dialect, dialect_for
from batchdeck.core.trackers.tokens import token_in

SECONDS = 5.0
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def look_at_tracker(
    paths: DeckPaths, environment: Mapping[str, str], repositories: Collection[str]
) -> Iterator[Finding]:
    """Asks once, and only where a tracker is configured. `repositories`: those of the tasks."""
    try:
        config = read_settings(paths.root).tracker
    except BatchdeckError:
        return  # told among the findings about the configuration
    if config is None:
        if repositories:
            words = "none is configured: issues are followed on github.com, without a token"
            yield remark("tracker", words)
        return
    dialect = dialect_for(config["kind"], config.get("base_url"))
    variable = config.get("token_env")
    token = token_in(environment, variable)
    if variable and not token:
        has = "holds no token" if environment.get(variable, "").strip() else "is not set here"
        yield problem("tracker", f"{dialect.name}: the variable {variable} {has}")
        return
    yield from _proxies(environment)
    if not token:
        yield remark("tracker", f"{dialect.name} is asked without a token, every 5 minutes")
    wrong = anyio.run(functools.partial(_ask, dialect, token, variable, sorted(repositories)))
    if wrong:
        yield problem("tracker", f"{dialect.name} {wrong}")
    else:
        yield fine("tracker", f"{dialect.name} answers")


def _proxies(environment: Mapping[str, str]) -> Iterator[Finding]:
    names = [name for name in _PROXIES if environment.get(name) or environment.get(name.lower())]
    if names:
        yield remark("tracker", f"it is asked through the proxy in {', '.join(names)}")


async def _ask(
    dialect: Dialect, token: str | None, variable: str | None, repositories: list[str]
) -> str | None:
    """Why it does not answer; None: it does. Asks about the first repository, else for itself."""
    from batchdeck.core.trackers.answers import NoAnswer, refusal
    from batchdeck.core.trackers.asking import Asker

    asker = Asker(dialect.base, dialect.headers(token), SECONDS)
    own: dict[str, Any] = {"github": "rate_limit", "gitea": "version"}
    where = f"repos/{repositories[0]}/issues" if repositories else own[dialect.kind]
    try:
        answer = await asker.get(where, {"per_page": "1", "limit": "1"})
    except NoAnswer as error:
        return error.words
    finally:
        await asker.close()
    if answer.status == 200:
        return None
    if answer.status == 404 and repositories:
        return f"shows no repository {repositories[0]}, or not to this token (404)"
    return refusal(answer, variable).words
