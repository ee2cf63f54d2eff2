"""Decks that the screens' tests look at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from batchdeck.core.commands import Command, OnBusy, Receipt, Send
from batchdeck.core.model.agent import AgentKind
from batchdeck.core.model.ask import Ask
from batchdeck.core.model.folder import Folder
from batchdeck.core.model.hold import OURSELVES, Hold
from batchdeck.core.model.issue import TrackerStanding
from batchdeck.core.model.task import Status
from batchdeck.core.model.turn import Trigger, TurnState
from batchdeck.core.view import AgentTally, DeckView, Pulse
from batchdeck.tui.app import DeckApp
from batchdeck.tui.present.addressee import of_agent, of_turn
from batchdeck.tui.present.scene import Scene
from batchdeck.tui.settings import ScreenSettings
from tests.support.screen import until
from tests.support.stub_deck import (
    NOW_MS,
    FixedClock,
    StubDeck,
    agent,
    batch,
    task,
    turn,
    view_of,
)


def folder(path: str) -> Folder:
    parts = path.split("/")
    above = tuple("1:2" + "/".join(parts[:n]) for n in range(len(parts) - 1, 1, -1))
    return Folder(path, f"1:2{path}", above)


def busy_view(**more: Any) -> DeckView:
    """Two agents at their limits, four turns that run, five that wait for different reasons."""
    progress = Status.IN_PROGRESS
    turns = [
        turn(408, TurnState.RUNNING, agent="reviewer", started_ms=NOW_MS - 730_000),
        turn(412, TurnState.RUNNING, folder=folder("/data/project/docs")),
        turn(
            419,
            TurnState.RUNNING,
            forced=("agent",),
            forced_by="op",
            started_ms=NOW_MS - 37_000,
        ),
        turn(420, TurnState.RUNNING, agent="tester", started_ms=NOW_MS - 95_000),
        turn(431, folder=folder("/data/project/docs/api"), title="Move the API pages"),
        turn(433, held_by="op"),
        turn(434, target="issue-12"),
        turn(435, target="issue-12"),
        turn(440, agent="reviewer"),
        turn(401, TurnState.SUCCEEDED, ended_ms=NOW_MS - 70_000),
        turn(402, TurnState.FAILED, exit_code=2, error="2 tests failed", agent="tester"),
    ]
    tasks = [
        task(1, Status.DONE),
        task(2, Status.BACKLOG),
        *(task(t.id, progress) for t in turns if t.state is TurnState.RUNNING),
        *(task(t.id, Status.READY) for t in turns if t.state is TurnState.QUEUED),
        task(401, Status.DONE),
        task(402, Status.FAILED),
    ]
    agents = [
        agent("coder", parallelism_limit=2),
        agent("reviewer", AgentKind.ACP),
        agent("tester", parallelism_limit=3),
        agent("writer", AgentKind.OPENAI),
    ]
    given: dict[str, Any] = {
        "limits": {"global": 8, "status:docs/READY": 4, "status:docs/BLOCKED": 0},
        "asks": {
            7: Ask(
                7, 408, 'may I run "make deploy"?', ("allow", "deny"), opened_ms=NOW_MS - 300_000
            )
        },
        "pulses": {412: Pulse(312, NOW_MS - 2_000, "rewriting links in guide.md")},
        "agent_tallies": {"coder": AgentTally(120, 3, (NOW_MS - 20_000, NOW_MS - 2_000))},
        **more,
    }
    return view_of(turns, tasks, agents, [batch("docs")], **given)


def crowded_view() -> DeckView:
    """What is hard to show: long and wide words, many agents, and all that can need a person."""
    long = "übersetzer-für-die-doku"
    busy = busy_view()
    wide = "漢字のとても長いタイトルをもつ仕事 🚀 with much more behind it than there is room for"
    question = (
        "Which branch shall I take for the documentation: main, or the one of last week's team?"
    )
    died = (
        "its runner died without a record: the machine was restarted while docs/guide was written"
    )
    message: dict[str, Any] = {"task": None, "batch": None, "lane": None}
    turns = [
        *busy.turns.values(),
        turn(450, agent=long, title=wide),
        turn(451, TurnState.RUNNING, agent=long, started_ms=NOW_MS - 7_300_000),
        turn(452, TurnState.LOST, error=died),
        turn(453, TurnState.WAITING),
        turn(460, **message, trigger=Trigger.CHAT, conversation=13, priority=100, title="anchors?"),
    ]
    tasks = [
        *busy.tasks.values(),
        task(450, key="翻訳-章-第三", agent=long, title=wide),
        task(451, Status.IN_PROGRESS, key="翻訳-章-第四", agent=long),
        task(452, Status.IN_PROGRESS),
        task(453, Status.BLOCKED),
    ]
    agents = [*busy.agents.values(), agent(long), *(agent(f"helper-{n}") for n in range(9))]
    missing = "/usr/local/bin/helper is missing (exit 127): install it, then release this hold"
    asks = {**busy.asks, 8: Ask(8, 453, question, opened_ms=NOW_MS - 900_000)}
    words = "rejects the token in GITHUB_TOKEN (401): give another one, then press R"
    fault = "agents.coder.parallelism_limit: 12 is more than 10, the most an agent may have"
    return view_of(
        turns,
        tasks,
        agents,
        [batch("docs")],
        {"global": 8, "status:docs/READY": 4, "status:docs/BLOCKED": 0},
        asks=asks,
        pulses={**busy.pulses, 451: Pulse(5, NOW_MS - 7_200_000, wide)},
        agent_tallies=busy.agent_tallies,
        holds=held("agent:helper-3", OURSELVES, missing),
        trackers=(TrackerStanding("github", False, words, NOW_MS - 3_000_000, issues=12),),
        banner=f"/data/project/.batchdeck/config.yaml:12:3: {fault}. What was good stays in force.",
    )


def held(view_holds: str, by: str = "op", reason: str = "") -> dict[str, Hold]:
    return {view_holds: Hold(view_holds, by, reason, NOW_MS - 60_000)}


def refuses_when_busy(deck: StubDeck) -> None:
    """Lets the stub answer messages as the engine does: busy, queued or running."""

    def answer(command: Command) -> Receipt:
        if not isinstance(command, Send):
            return Receipt(accepted=True)
        scene = Scene(deck.view, NOW_MS)
        known = [t for t in deck.view.turns.values() if f"c{t.conversation}" == command.to]
        to = of_turn(known[0], scene) if known else of_agent(command.to)
        answer = to.standing(scene)
        if answer.gates and command.on_busy is None and command.replacing is None:
            return Receipt(
                accepted=False,
                error="busy",
                message=f"{to.agent} is busy",
                exit_code=3,
                gates=answer.gates,
                position=answer.position,
            )
        queued = command.on_busy is OnBusy.QUEUE or command.replacing is not None
        state = TurnState.QUEUED if queued else TurnState.RUNNING
        return Receipt(accepted=True, turn=500, state=state, position=answer.position)

    deck.answering = answer


@asynccontextmanager
async def shown(
    deck: StubDeck,
    size: tuple[int, int] = (120, 36),
    settings: ScreenSettings | None = None,
    **more: Any,
) -> AsyncIterator[tuple[DeckApp, Pilot[Any]]]:
    """The app on a deck, its first view painted."""
    app = DeckApp(deck, settings, clock=more.pop("clock", FixedClock()), **more)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.view.revision == deck.view.revision)
        await pilot.pause()
        yield app, pilot


async def shows(pilot: Pilot[Any], deck: StubDeck) -> None:
    """Waits until the latest view has arrived."""
    await until(pilot, lambda: pilot.app.view.revision == deck.view.revision)  # type: ignore[attr-defined]
    await pilot.pause()
