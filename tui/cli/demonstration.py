"""The demo: a scripted batch that shows what the deck can do, in a fresh deck of its own."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import platformdirs

from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.limit import Limit, batch_limit, status_limit
from batchdeck.core.model.spec import BatchSpec, TaskSpec
from batchdeck.core.model.task import Status
from batchdeck.core.paths import DECK_FOLDER, DeckPaths, of_the_user

NAME = "demo"
_AGENTS = ("coder", "reviewer", "writer", "tester", "planner", "scout")
_VERBS = ("Move", "Rewrite", "Check", "Split", "Document", "Simplify", "Translate", "Time")
_THINGS = ("the guide", "the parser", "the index", "the tests", "the settings", "the examples")


def demo_deck() -> DeckPaths:
    """A fresh deck in the user's data folder."""
    home = of_the_user(platformdirs.user_data_path) / "demo"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DeckPaths(Path(tempfile.mkdtemp(prefix="deck-", dir=home)) / DECK_FOLDER)


def demo_batch(agents: int, tasks: int, seed: int, *, asks: bool) -> BatchSpec:
    """The batch; `asks`: somebody is there to answer an agent's question."""
    play = random.Random(seed)
    names = [_name(number) for number in range(agents)]
    definitions = {name: _agent(name, number, seed, asks) for number, name in enumerate(names)}
    return BatchSpec(
        name=NAME,
        tasks=tuple(_task(number, names, play) for number in range(tasks)),
        agents=definitions,
        limits=(
            Limit(batch_limit(NAME), 6, origin="demo"),
            Limit(status_limit(NAME, Status.READY), 5, origin="demo"),
            Limit(status_limit(NAME, Status.IN_PROGRESS), 2, origin="demo"),
        ),
    )


def _name(number: int) -> str:
    turn, which = divmod(number, len(_AGENTS))
    return _AGENTS[which] + (f"-{turn + 1}" if turn else "")


def _agent(name: str, number: int, seed: int, asks: bool) -> Agent:
    script = {"seconds": [0.2, 3.0], "fail": 0.05, "ask": 0.03 if asks else 0.0, "seed": seed}
    return Agent(
        name,
        AgentKind.DEMO,
        parallelism_limit=1 + number % 3,
        serial=number % 4 == 1,
        script=script,
    )


def _task(number: int, names: list[str], play: random.Random) -> TaskSpec:
    title = f"{play.choice(_VERBS)} {play.choice(_THINGS)}"
    before = f"T{number - 3}" if number > 8 and play.random() < 0.15 else None
    return TaskSpec(
        key=f"T{number}",
        agent=play.choice(names),
        title=title,
        prompt=f"{title}, then say what you changed.",
        status=Status.IN_PROGRESS if play.random() < 0.15 else Status.READY,
        depends_on=() if before is None else (before,),
        target=f"issue-{play.randrange(5)}" if play.random() < 0.15 else None,
        priority=play.choice((0, 0, 0, 5)),
    )
