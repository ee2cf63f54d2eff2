"""When an account that is used up may be tried again, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from batchdeck.core.model.account import Cooldown, UsageLimit
from batchdeck.core.model.turn import LIVE, Turn

SHORTEST_MS = 1_000
UNSAID_MS = 60_000
"""Where nobody said when; twice as long each time that it is found used up again."""
LONGEST_UNSAID_MS = 30 * 60_000
LONGEST_MS = 8 * 24 * 3_600_000
"""A week's limit and a day; what claims to last longer is looked at again then."""


def resets_ms(limit: UsageLimit, now_ms: int, windows: int) -> int:
    """When the account may be tried again, UTC ms.

    What was said is believed once. An account that is found used up right after is left alone for
    a minute, then for two, and so on, whatever it says.

    Args:
        windows: How often in a row it has been found used up, this time included.
    """
    patience = min(UNSAID_MS << min(windows - 1, 10), LONGEST_UNSAID_MS)
    said = _said_ms(limit, now_ms)
    if said is None:
        return now_ms + patience
    least = SHORTEST_MS if windows == 1 else min(UNSAID_MS << min(windows - 2, 10), patience)
    return min(max(said, now_ms + least), now_ms + LONGEST_MS)


def _said_ms(limit: UsageLimit, now_ms: int) -> int | None:
    if limit.at_ms is not None:
        return limit.at_ms
    if limit.after_seconds is not None:
        return now_ms + round(min(limit.after_seconds * 1_000, LONGEST_MS))
    if limit.time_of_day is not None:
        return _next_time_of_day(limit.time_of_day, limit.zone, now_ms)
    return None


def _next_time_of_day(time: tuple[int, int], zone: str | None, now_ms: int) -> int | None:
    now = datetime.fromtimestamp(now_ms / 1_000, UTC)
    try:
        local = now.astimezone(ZoneInfo(zone)) if zone else now.astimezone()
    except (KeyError, ValueError, OSError):  # no such zone, or none that this machine knows
        return None
    then = local.replace(hour=time[0], minute=time[1], second=0, microsecond=0)
    if then <= local:
        then += timedelta(days=1)
    return int(then.timestamp() * 1_000)


def tried_by(cooldown: Cooldown, turns: Mapping[int, Turn]) -> Turn | None:
    """The turn that tries the account now, if one does."""
    turn = None if cooldown.probe is None else turns.get(cooldown.probe)
    return turn if turn is not None and turn.state in LIVE else None


def admits_probe(cooldown: Cooldown, turns: Mapping[int, Turn], now_ms: int) -> bool:
    """Whether one turn of the account may start, to find out."""
    return cooldown.until_ms <= now_ms and tried_by(cooldown, turns) is None
