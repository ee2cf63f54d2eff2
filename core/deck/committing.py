"""Commits barriers: read and judged beside the writer, carried out by it, once."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import anyio

from batchdeck.core.deck.barrier import Senseless, Verdict, is_ripe
from batchdeck.core.deck.letters import Judged, Letter
from batchdeck.core.deck.reading import Reader
from batchdeck.core.deck.state import DeckState
from batchdeck.core.deck.tasks import complete_task, fail_task, finish_batch
from batchdeck.core.deck.work import Work
from batchdeck.core.errors import StoreError
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.evolving import evolve
from batchdeck.core.model.task import Status
from batchdeck.core.points import reached
from batchdeck.core.store import changes as sql
from batchdeck.core.store.batch_rows import commit_document

_log = logging.getLogger(__name__)


class Barriers:
    """Sees which foreaches have come to their barrier, and has each judged once as it stands."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._waiting: deque[tuple[Batch, int]] = deque()
        self._news = anyio.Event()

    def look(self, state: DeckState) -> None:
        """Takes note of what is ripe; what `state` says is on disk."""
        for name, items in state.foreaches.items():
            if self._seen.get(name) == items.changes or not is_ripe(state, name):
                continue
            self._seen[name] = items.changes
            self._waiting.append((state.batches[name], items.changes))
            self._news.set()

    async def run(self, reader: Reader, post: Callable[[Letter], None]) -> None:
        """Judges one after the other, until it is cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            while self._waiting:
                batch, changes = self._waiting.popleft()
                reached("barrier.before")
                verdict = await self._judge(reader, batch)
                reached("barrier.judged")
                if verdict is not None:
                    post(Judged(batch.name, changes, verdict))

    async def _judge(self, reader: Reader, batch: Batch) -> Verdict | None:
        try:
            return await reader.judge_barrier(batch)
        except Senseless as error:
            return Verdict(fault=f"nothing was committed: {error}")
        except StoreError as error:
            _log.error("the barrier of %s could not be read: %s", batch.name, error)
            self._seen.pop(batch.name, None)
            return None


def carry_out_verdict(work: Work, letter: Judged) -> None:
    """Commits what was judged, or says why nothing is; void where an item changed meanwhile."""
    name = letter.batch
    items = work.state.foreaches.get(name)
    if items is None or items.changes != letter.changes or not is_ripe(work.state, name):
        return
    assert items.barrier is not None
    barrier = work.state.tasks[items.barrier]
    if letter.verdict.fault is not None:
        if barrier.error != letter.verdict.fault:
            work.emit("barrier.refused", task=barrier, reason=letter.verdict.fault)
            fail_task(work, barrier, letter.verdict.fault)
        finish_batch(work, name)
        return
    commit = letter.verdict.commit
    assert commit is not None
    batch = work.state.batches[name]
    work.put_batch(evolve(batch, committed=commit))
    work.changes.add(sql.COMMIT_BARRIER, (commit_document(commit), batch.id))
    work.emit("barrier.committed", task=barrier, items=commit.items, patches=commit.patches)
    done = work.set_status(barrier.id, Status.DONE)
    work.after.append(_has_committed)
    complete_task(work, done)
    finish_batch(work, name)


def _has_committed() -> None:
    reached("barrier.after")
