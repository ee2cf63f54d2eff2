"""Random small decks with every gate of the engine in them, as immutable views."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from batchdeck.core.model.account import Cooldown
from batchdeck.core.model.hold import Hold
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import TurnState
from batchdeck.core.view import DeckView, Spending
from tests.support.builders import NOW, StateBuilder, folder

AGENTS = "abc"
BATCHES = ("x", "y")
LANES = (Status.READY, Status.IN_PROGRESS)
FOLDERS = (None, None, "/repo", "/repo/docs", "/repo/docs/api", "/repo2")
HOLDS = ("deck", "agent:a", "account:team", "batch:x", "folder:/repo/docs", "turn:3")


def decks() -> st.SearchStrategy[DeckView]:
    """Views of decks in any state that the rules must cope with."""
    return st.integers(0, 10**9).map(random_deck)


def random_deck(seed: int) -> DeckView:
    dice = random.Random(seed)
    build = StateBuilder(limit=dice.choice([0, 1, 2, 4, 8]))
    for agent in AGENTS:
        build.agent(agent, dice.choice([0, 1, 2, 3, None]), serial=dice.random() < 0.2)
    team = [name for name in AGENTS if dice.random() < 0.5]
    for name in team:
        build.state.agents[name] = replace(build.state.agents[name], account="team")
    for batch in BATCHES:
        build.batch(batch, dice.choice([None, 0, 1, 2, 5]))
        for lane in LANES:
            build.limit(f"status:{batch}/{lane}", dice.choice([None, 0, 1, 2, 5]))
    if dice.random() < 0.3:
        build.limit("attention", dice.choice([0, 1, 2]))
    for _ in range(dice.randrange(1, 20)):
        add_turn(build, dice)
    for batch in BATCHES:
        if dice.random() < 0.1:
            used, hard = dice.choice([1.0, 5.0]), dice.random() < 0.7
            build.state.budgets[f"batch:{batch}"] = Spending(used, 5.0, hard)
    for account in ("team", *AGENTS):
        if dice.random() < 0.1:
            until, probe = dice.choice([NOW - 1, NOW, NOW + 9]), dice.choice([None, 1, 2])
            build.state.cooldowns[account] = Cooldown(account, until, NOW - 9, probe=probe)
    for what in HOLDS:
        if dice.random() < 0.1:
            build.state.holds[what] = Hold(what, "op")
    build.state.draining = dice.random() < 0.05
    return build.state.publish(NOW)


def add_turn(build: StateBuilder, dice: random.Random) -> None:
    """A turn of any kind; one that runs or waits got its folder when it was free."""
    batch = dice.choice([None, *BATCHES])
    path = dice.choice(FOLDERS)
    states = [TurnState.QUEUED] * 6 + [TurnState.RUNNING, TurnState.STOPPING, TurnState.WAITING]
    state = dice.choice(states)
    needed = build.task("x", "a") if dice.random() < 0.1 else None
    build.turn(
        dice.choice(AGENTS),
        state=state,
        started_ms=None if state is TurnState.QUEUED else NOW - dice.randrange(1000),
        batch=batch,
        lane=None if batch is None else dice.choice(LANES),
        folder=None if path is None else folder(path),
        target=dice.choice([None, None, None, "issue-1", "issue-2"]),
        conversation=dice.choice([1, 2, *range(100, 120)]),
        priority=dice.choice([0, 0, 0, 5, 100]),
        held_by=dice.choice([None] * 6 + ["op"]),
        authorised=dice.random() < 0.95,
        not_before_ms=dice.choice([0, 0, 0, NOW - 5, NOW + 5000]),
        depends_on=() if needed is None else (needed.id,),
        blocked=dice.random() < 0.05,
    )
