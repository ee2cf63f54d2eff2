"""Recognises, in what programs and servers say, that an account is used up, and until when.

The words are those of Claude Code (`You've hit your limit · resets 2pm (Asia/Shanghai)`, before
`Claude AI usage limit reached|1778565600`), Codex (`You've hit your usage limit. … try again in 5
days 22 hours 11 minutes.`), and of the servers behind them (`Rate limit reached for … try again in
1.3s`, `RESOURCE_EXHAUSTED … retry in 34.07s`, `usage_limit_reached`, `insufficient_quota`).
"""

from __future__ import annotations

import re

from batchdeck.core.model.account import UsageLimit
from batchdeck.core.text import one_line

LONGEST_NOTICE = 600
"""Characters; what is longer is an answer that speaks of limits."""
_LONGEST_SECONDS = 10 * 366 * 24 * 3_600.0
_MOST_WORDS = 300

_COUNTED = (
    r"(?:usage|rate|quota|requests?|account|plan|spend(?:ing)?|credit|hourly|daily|weekly|monthly"
    r"|(?:\d+|five)[\s-]?hour|session|opus|sonnet|haiku)"
)
"""What an account's limits are of. Context, output, turns and files have limits of their own."""
_USED_UP = re.compile(
    r"(?<![a-z])(?:usage|rate)[\s_-]?limit(?:s|ed)?(?![a-z])"
    rf"|(?<![a-z]){_COUNTED}[\s_-]limits?[\s_-](?:(?:was|is|has|been)[\s_-])*"
    r"(?:reached|exceeded|exhausted|hit)"
    rf"|(?:hit|reached|exceeded) your (?:{_COUNTED} )?limit"
    r"|too many requests|exceeded retry limit(?!\W+last status: 4(?!29))|resource.?exhausted"
    r"|(?<!disk )quota exceeded|exceeded your current quota|insufficient.?quota"
    r"|out of (?:extra )?usage"
    r"|(?:http(?:/[\d.]+)?|status(?:[\s_-]?code)?|code|error)\W{0,4}429\b|rejected \(429\)",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"\s*(?:claude(?: ai| code)? usage limit reached"
    rf"|you(?:'|\u2019)ve hit your (?:{_COUNTED} )?limit|you(?:'|\u2019)re out of extra usage"
    r"|(?:5-hour|weekly|session|opus|sonnet) limit reached)",
    re.IGNORECASE,
)
_AT_EPOCH = re.compile(r"(?:\||resets?_?at\D{0,4})(\d{10})(\d{3})?\b", re.IGNORECASE)
_AFTER = re.compile(
    r"(?:resets_in_seconds|reset_after|resets?|again|retry)\W{0,4}(?:in|after)?\W{0,3}"
    r"((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|ms)?\b"
    r"(?:,|\s|and)*)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?:resets?|again)(?: at)? (\d{1,2})(?::(\d{2}))?\s*([ap]m)?(?:\s*\(([A-Za-z_+\-/0-9]+)\))?",
    re.IGNORECASE,
)
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def is_notice(text: str) -> bool:
    """Whether a text is nothing but the program's own notice that its account is used up."""
    return len(text) <= LONGEST_NOTICE and _NOTICE.match(text) is not None


def usage_limit(words: str) -> UsageLimit | None:
    """What an error says of a used-up account; None where it speaks of something else."""
    if len(words) > LONGEST_NOTICE or not _USED_UP.search(words):
        return None
    return limit_from(words)


def limit_from(words: str) -> UsageLimit:
    """A limit, with the reset that its words name."""
    shown = one_line(words, _MOST_WORDS)
    epoch = _AT_EPOCH.search(words)
    if epoch is not None:
        return UsageLimit(shown, at_ms=int(epoch[1]) * 1_000)
    clock = _CLOCK.search(words)
    if clock is not None and (clock[2] or clock[3]):
        time = _time_of_day(int(clock[1]), int(clock[2] or 0), (clock[3] or "").lower())
        if time is not None:
            return UsageLimit(shown, time_of_day=time, zone=clock[4])
    after = _AFTER.search(words)
    if after is not None:
        return UsageLimit(shown, after_seconds=_seconds(after[1]))
    return UsageLimit(shown)


def _time_of_day(hour: int, minute: int, half: str) -> tuple[int, int] | None:
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _seconds(span: str) -> float:
    """`5 days 22 hours 11 minutes`, `1.3s`, `20`."""
    total = 0.0
    for number, unit in _PART.findall(span):
        unit = unit.lower()
        if unit in ("", "and"):
            unit = "s"
        scale = 0.001 if unit == "ms" else _SECONDS.get(unit[0], 0.0)
        total += min(float(number) * scale, _LONGEST_SECONDS)
    return min(total, _LONGEST_SECONDS)
