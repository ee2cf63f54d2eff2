"""What is read of a deck beside its state: output, events, messages, what an attempt needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from batchdeck.core.agents.adapter import Assignment
from batchdeck.core.commands import Receipt
from batchdeck.core.deck.answering import receipt_from
from batchdeck.core.deck.barrier import Senseless, Verdict, check_stored, judge
from batchdeck.core.deck.results import with_results
from batchdeck.core.deck.state import DeckState
from batchdeck.core.errors import NotFound, StoreError
from batchdeck.core.executors import attempt_files
from batchdeck.core.executors.holes import read_piece
from batchdeck.core.model.batch import Batch
from batchdeck.core.model.budget import TurnSpent
from batchdeck.core.model.conversation import Message, Role
from batchdeck.core.model.event import Event
from batchdeck.core.model.turn import Turn, TurnState
from batchdeck.core.paths import DeckPaths
from batchdeck.core.port import OutputPage
from batchdeck.core.secrets import NONE, Secrets, masked_page
from batchdeck.core.store import rows
from batchdeck.core.store.connection import Connection
from batchdeck.core.store.events import read_events
from batchdeck.core.store.load import latest_of
from batchdeck.core.store.rows import STATE_CODES
from batchdeck.core.store.spending import spent_by_turn

_TURNS = (
    "SELECT id, (position, id) < (?, ?) "
    f"AND NOT (state = {STATE_CODES[TurnState.CANCELLED]} AND started_ms IS NULL) AS before "
    "FROM turns WHERE conversation = ?"
)
"""The turns of a conversation, and whether they told their agent something before a turn."""


def _place(turn: Turn) -> tuple[int, int, int]:
    return (turn.position, turn.id, turn.conversation)


class Reader:
    """Reads through a connection that cannot write, and from the attempts' files."""

    def __init__(self, connection: Connection, paths: DeckPaths) -> None:
        self._connection = connection
        self.paths = paths
        self._runs = paths.runs

    async def events(self, after: int, limit: int) -> Sequence[Event]:
        """Events after a `seq`, oldest first; a negative `after`: the latest ones."""
        return await self._connection.run(
            lambda raw: with_results(raw, read_events(raw, after, limit))
        )

    async def messages(self, conversation: int) -> Sequence[Message]:
        """A conversation's messages, oldest first; a task's begins with its prompt."""
        found = await self._connection.rows(
            "SELECT 0 AS id, conversation, coalesce(CASE WHEN item_index IS NULL THEN turn ELSE "
            "(SELECT min(id) FROM turns WHERE turns.conversation = tasks.conversation) END, 0) "
            "AS turn, 'operator' AS role, "
            "prompt AS text, updated_ms AS at_ms FROM tasks WHERE conversation = ? "
            # one whose first step goes on elsewhere has its words there, as a message
            "AND (item_index IS NULL OR prompt <> '') "
            "UNION ALL SELECT id, conversation, turn, role, text, at_ms FROM messages "
            "WHERE conversation = ? ORDER BY id",
            (conversation, conversation),
        )
        return [rows.message_from(row) for row in found]

    async def spent(self, turn: int) -> TurnSpent:
        """What a turn has used, and all turns of its task."""
        return await self._connection.run(lambda raw: spent_by_turn(raw, turn))

    async def message_text(self, turn: int) -> str:
        """What the operator's message of a turn says; empty where there is none."""
        found = await self._connection.rows(
            "SELECT text FROM messages WHERE turn = ? AND role = 'operator'", (turn,)
        )
        return found[0]["text"] if found else ""

    async def fingerprints(self, batch: str) -> dict[str, str]:
        """What each task of a batch was when it was added, by its key."""
        found = await self._connection.rows(
            "SELECT key, fingerprint FROM tasks WHERE batch = ?", (batch,)
        )
        return {row["key"]: row["fingerprint"] for row in found}

    async def judge_barrier(self, batch: Batch) -> Verdict:
        """What the barrier of a batch comes to, from what is on disk.

        Raises:
            Senseless: what is stored does not fit together.
        """
        return await self._connection.run(lambda raw: judge(raw, batch))

    async def check_foreach(self, batch: Batch) -> None:
        """Holds what is stored of a batch's foreach against itself.

        Raises:
            StoreError: it does not fit together; the message says what.
        """
        try:
            await self._connection.run(lambda raw: check_stored(raw, batch))
        except Senseless as error:
            raise StoreError(
                f"{batch.name}: what is stored of its foreach makes no sense: {error}. Nothing was "
                "changed; restore the deck from a copy, or give the batch another name."
            ) from None

    async def answered(self, command_id: str) -> Receipt | None:
        """How a command with this id was answered; None: none was carried out."""
        found = await self._connection.rows(
            "SELECT receipt FROM commands WHERE id = ?", (command_id,)
        )
        return receipt_from(found[0]["receipt"]) if found else None

    async def delivered(self, delivery_id: str) -> Turn | None:
        """The turn that a delivery already made; it may have ended long ago."""
        found = await self._connection.rows(
            f"{rows.SELECT_TURNS} WHERE id = (SELECT turn FROM receipts WHERE delivery_id = ?)",
            (delivery_id,),
        )
        return rows.turn_from(found[0], {}) if found else None

    async def latest_turn(self, conversation: int) -> Turn | None:
        """The latest turn of a conversation, and where it worked; it may have ended long ago."""
        return await self._connection.run(lambda raw: latest_of(raw, conversation))

    async def output(
        self, turn: Turn | None, turn_id: int, start: int, limit: int, secrets: Secrets = NONE
    ) -> OutputPage:
        """A piece of the latest attempt's output; of one that left no file, its final text.

        `secrets`: what is hidden in it.

        Raises:
            NotFound: no such turn.
        """
        if turn is None:
            found = await self._connection.rows(f"{rows.SELECT_TURNS} WHERE id = ?", (turn_id,))
            if not found:
                raise NotFound(f"There is no turn #{turn_id}.")
            turn = rows.turn_from(found[0], {})
        ended = turn.ended_ms is not None
        if turn.attempt is not None:
            path = self.paths.run(turn.attempt) / attempt_files.OUTPUT
            page = await anyio.to_thread.run_sync(read_hidden, path, start, limit, ended, secrets)
            if page is not None:
                return replace(page, attempt=turn.attempt)
        found = await self._connection.rows(
            "SELECT text FROM messages WHERE turn = ? AND role = 'agent' ORDER BY id", (turn.id,)
        )
        text = "\n".join(row["text"] for row in found).encode("utf-8", "replace")
        begin = max(0, len(text) + start) if start < 0 else start
        return OutputPage(begin, text[begin : begin + limit], len(text), ended)

    async def said(self, turn: Turn) -> tuple[tuple[str, str], ...]:
        """Role and text of what its agent was told, and said, in the conversation before it.

        The steps of an item may be different agents'; none is taken for another.
        """
        found = await self._connection.rows(
            f"{_TURNS} AND agent = ? ORDER BY position, id", (*_place(turn), turn.agent)
        )
        order = {row["id"]: place for place, row in enumerate(found) if row["before"]}
        own = {row["id"] for row in found}
        messages = await self.messages(turn.conversation)
        has_words = any(m.turn == turn.id and m.role is Role.OPERATOR and m.id for m in messages)
        before = [
            m for m in messages if (m.turn in order if m.id else has_words and m.turn in own | {0})
        ]
        before.sort(key=lambda message: order[message.turn] if message.id else -1)
        return tuple((str(m.role), m.text) for m in before)

    async def begun_attempts(self) -> frozenset[str]:
        """Attempts that have not ended and whose agents are known to have begun."""
        found = await self._connection.rows(
            "SELECT id FROM attempts WHERE ended_ms IS NULL AND started_ms IS NOT NULL"
        )
        return frozenset(row["id"] for row in found)

    async def attempts_that_are_over(self) -> list[tuple[str, int]]:
        """Attempts whose turn has ended, and when they did, the latest first."""
        found = await self._connection.rows(
            "SELECT attempts.id, attempts.ended_ms FROM attempts "
            "JOIN turns ON turns.id = attempts.turn "
            "WHERE attempts.ended_ms IS NOT NULL AND turns.ended_ms IS NOT NULL "
            "ORDER BY attempts.ended_ms DESC"
        )
        return [(row["id"], row["ended_ms"]) for row in found]

    async def oldest_event_ms(self) -> int | None:
        """When the oldest events that are kept were written."""
        found = await self._connection.rows("SELECT at_ms FROM events ORDER BY last_seq LIMIT 1")
        return found[0]["at_ms"] if found else None

    async def interruptions(self, turn: Turn) -> int:
        """How often crashes ended attempts at what a turn is about, its forerunners included."""
        found = await self._connection.rows(
            "SELECT count(*) AS crashes FROM attempts JOIN turns ON turns.id = attempts.turn "
            "WHERE turns.conversation = ? AND turns.task IS ? AND (attempts.\"end\" = 'lost' "
            "OR (attempts.\"end\" = 'interrupted' AND attempts.error IS NOT NULL))",
            (turn.conversation, turn.task),
        )
        return int(found[0]["crashes"])

    async def exchange(self, turn: Turn, answer: str) -> str:
        """An answer with the exchange so far in front of it: its agent keeps none itself."""
        found = await self._connection.rows(_TURNS, _place(turn))
        before = {row["id"] for row in found if row["before"]}
        said = [
            f"{'You said' if message.role is Role.AGENT else 'You were told'}:\n{message.text}"
            for message in await self.messages(turn.conversation)
            if message.turn in before or message.id == 0
        ]
        return "\n\n".join([*said, f"The answer to your question:\n{answer}"])

    def assignment(
        self, state: DeckState, turn: Turn, prompt: str, environment: Mapping[str, str]
    ) -> Assignment:
        """Everything an agent needs to begin the turn's latest attempt."""
        assert turn.attempt is not None
        task = None if turn.task is None else state.tasks[turn.task]
        batch = None if turn.batch is None else state.batches[turn.batch]
        return Assignment(
            turn=turn.id,
            attempt=turn.attempt,
            number=turn.attempts,
            agent=state.agents[turn.agent],
            prompt=prompt,
            runs=self._runs,
            folder=None if turn.folder is None else Path(turn.folder.path),
            folder_key=None if turn.folder is None else turn.folder.key,
            task=None if task is None else task.key,
            batch=turn.batch,
            session=state.conversations[turn.conversation].session,
            prepare=() if batch is None else batch.prepare,
            base=self._runs if batch is None or not batch.prepare else Path(batch.base),
            environment=environment,
        )


def read_hidden(
    path: Path, start: int, limit: int, ended: bool, secrets: Secrets
) -> OutputPage | None:
    """The same without secrets."""
    try:
        return masked_page(
            lambda begin, most: _page(path, begin, most, ended), start, limit, secrets
        )
    except FileNotFoundError:
        return None


def _page(path: Path, start: int, limit: int, ended: bool) -> OutputPage:
    page = read_page(path, start, limit, ended)
    if page is None:
        raise FileNotFoundError(path)
    return page


def read_page(path: Path, start: int, limit: int, ended: bool) -> OutputPage | None:
    """A piece of a file; None where there is no file."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            begin = max(0, size + start) if start < 0 else start
            begin, data = read_piece(file.fileno(), begin, limit)
            return OutputPage(begin, data, size, ended)
    except FileNotFoundError:
        return None
