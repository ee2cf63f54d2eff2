"""The folders that turns work in or wait for, as a tree of real paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from batchdeck.core.model.turn import LIVE, Turn, TurnState
from batchdeck.core.view import DeckView
from batchdeck.tui.present.cells import Cell, Row, Tone
from batchdeck.tui.present.durations import stopwatch
from batchdeck.tui.present.fitting import short_path
from batchdeck.tui.present.scene import Scene


@dataclass
class Place:
    """One folder: who is in it, and who wants to."""

    path: str
    key: str
    depth: int = 0
    label: str = ""
    occupied: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """In the order of ids; several spellings of one place come together here."""
    over: Place | None = None
    """The nearest folder that contains it and is occupied: nobody else may work here."""
    inner: Place | None = None
    """One within it that is occupied, likewise."""

    @property
    def first(self) -> int | None:
        """The turn that opening the row shows."""
        return next(iter((*self.occupied, *self.waiting)), None)


def folder_tree(view: DeckView) -> dict[str, Place]:
    """Places by their key, each below the nearest one that contains it."""
    places: dict[str, Place] = {}
    above: dict[str, tuple[str, ...]] = {}
    for turn in view.turns.values():
        folder = turn.folder
        if folder is None or not _concerned(turn):
            continue
        place = places.get(folder.key)
        if place is None:
            place = places[folder.key] = Place(folder.path, folder.key)
            above[folder.key] = folder.above
        (place.waiting if turn.state is TurnState.QUEUED else place.occupied).append(turn.id)
    _close_off(places, above)
    return {place.key: place for place in _in_order(places, above, view.deck)}


def _close_off(places: dict[str, Place], above: dict[str, tuple[str, ...]]) -> None:
    """Marks what is not free because of what lies above or below it."""
    occupied = [place for place in places.values() if place.occupied]
    for place in occupied:
        for key in above[place.key]:
            if key in places and places[key].inner is None:
                places[key].inner = place
    taken = {place.key for place in occupied}
    for place in places.values():
        nearest = next((key for key in above[place.key] if key in taken), None)
        place.over = None if nearest is None else places[nearest]


def _concerned(turn: Turn) -> bool:
    return turn.state is TurnState.QUEUED or turn.state in LIVE or turn.state is TurnState.WAITING


def _in_order(
    places: dict[str, Place], above: dict[str, tuple[str, ...]], deck: str
) -> Iterator[Place]:
    parents = {key: next((k for k in above[key] if k in places), None) for key in places}
    for place in sorted(places.values(), key=lambda place: place.path.split("/")):
        parent = parents[place.key]
        if parent is None:
            place.label = short_path(place.path, deck)
        else:
            over = places[parent]
            place.depth = over.depth + 1
            inner = place.path.removeprefix(over.path.rstrip("/") + "/")
            place.label = inner if inner != place.path else short_path(place.path, deck)
        yield place


def place_row(place: Place, scene: Scene) -> Row:
    """The cells of the folders' table: folder, occupied by, waiting for it, first in line."""
    held = f"folder:{place.key}" in scene.view.holds
    sign = "‖ held" if held else ("▶" if place.occupied else "")
    busy = place.occupied or place.over or place.inner
    tone = Tone.HELD if held else (Tone.RUNNING if busy else Tone.MUTED)
    return (
        Cell("  " * place.depth + ("└ " if place.depth else "") + place.label),
        Cell(f"{sign} {_occupants(place, scene) or _closed_by(place)}".strip() or "free", tone),
        Cell(str(len(place.waiting)) if place.waiting else "", Tone.PLAIN),
        Cell(_names(place.waiting, scene), Tone.QUEUED),
    )


def _occupants(place: Place, scene: Scene) -> str:
    words = []
    for turn_id in place.occupied[:3]:
        turn = scene.view.turns.get(turn_id)
        if turn is not None:
            since = stopwatch(scene.now_ms - (turn.started_ms or turn.queued_ms))
            words.append(f"#{turn.id} {scene.name_of(turn)} {turn.agent} {since}")
    if len(place.occupied) > 3:
        words.append(f"{len(place.occupied) - 3} more")
    return ", ".join(words)


def _closed_by(place: Place) -> str:
    """`under docs, #11`, or `docs/api in it, #11`."""
    if place.over is not None:
        return f"under {place.over.label}, #{place.over.occupied[0]}"
    if place.inner is not None:
        return f"{place.inner.label} in it, #{place.inner.occupied[0]}"
    return ""


def _names(turns: list[int], scene: Scene) -> str:
    known = [scene.view.turns[turn] for turn in turns[:4] if turn in scene.view.turns]
    more = f", {len(turns) - 4} more" if len(turns) > 4 else ""
    return ", ".join(f"#{turn.id} {turn.agent}" for turn in known) + more
