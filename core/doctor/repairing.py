"""Mends a deck's rows, under its lock, with the same hands as a working deck."""

from __future__ import annotations

from dataclasses import replace

import anyio

from batchdeck.core.deck.lock import held
from batchdeck.core.deck.opening import open_deck
from batchdeck.core.deck.options import DeckOptions
from batchdeck.core.doctor.finding import Finding, Grade
from batchdeck.core.errors import BatchdeckError
from batchdeck.core.paths import DeckPaths
from batchdeck.core.store.connection import open_writer


def mend_rows(paths: DeckPaths, found: list[Finding], *, supervised: bool) -> list[Finding]:
    """The findings, each with what was done about it."""
    if supervised:
        return [replace(one, words=f"{one.words} (its supervisor mends it)") for one in found]
    try:
        mended = anyio.run(_mended, paths)
    except BatchdeckError as error:
        return [replace(one, words=f"{one.words}; not mended: {error.message}") for one in found]
    return [
        replace(one, mended=mended.get(one.words)) if one.grade is Grade.PROBLEM else one
        for one in found
    ]


def give_back(paths: DeckPaths, found: Finding) -> Finding:
    """The finding about free room in the deck's file, with what was done: the file is made anew."""
    try:
        anyio.run(_compact, paths)
    except BatchdeckError as error:
        return replace(found, words=f"{found.words}; not given back: {error.message}")
    return replace(found, mended="given back to the disk")


async def _compact(paths: DeckPaths) -> None:
    async with held(paths.lock, supervisor=False):
        writer = await open_writer(paths.database)
        try:
            await writer.run(lambda raw: raw.execute("VACUUM"))
        finally:
            await writer.close()


async def _mended(paths: DeckPaths) -> dict[str, str]:
    """What was broken, and what was done."""
    async with open_deck(paths, DeckOptions(dispatch=False), {}) as deck:
        before = await deck.events(after=-1, limit=1)
        await deck.audit()
        told = await deck.events(after=before[-1].seq if before else 0, limit=10_000)
    return {
        str(event.fields["reason"]): str(event.fields["mended"])
        for event in told
        if event.kind == "audit.violation" and event.fields.get("mended")
    }
