"""Answers of a tracker as values, and what becomes of those that are none."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batchdeck.core.text import clean_line

LONGEST_WAIT = 86_400.0
"""What asks for more is no reason to give an issue up for good."""
SHORT_WAIT = 60.0
"""What a tracker is spared for that refuses without saying for how long (docs.github.com)."""
REJECTED_WAIT = 300.0
"""A token that was rejected is tried again after this; it may have been renewed."""


class NoAnswer(Exception):
    """Nothing that can be used: it changes nothing. `words` follow the tracker's name."""

    def __init__(
        self,
        words: str,
        *,
        wait: float | None = None,
        everywhere: bool = False,
        is_down: bool = False,
    ) -> None:
        super().__init__(words)
        self.words = words
        self.wait = wait
        """Seconds for which it is not asked again; None: as its failures add up."""
        self.everywhere = everywhere or is_down
        """It concerns the tracker as a whole, not one repository."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `content` is the parsed JSON; of an error whatever it was."""

    status: int
    headers: Mapping[str, str]
    content: Any
    following: str | None = None
    """The address of the next page."""
    moved: bool = False
    """It was found at another address of the same origin."""

    @property
    def message(self) -> str:
        """The server's own words about an error; clean."""
        said = self.content.get("message") if isinstance(self.content, dict) else None
        return clean_line(said, 120) if isinstance(said, str) else ""

    @property
    def poll_seconds(self) -> float:
        """How long the server wants not to be asked this again, where it says so."""
        told = self.headers.get("x-poll-interval", "")
        return _bounded(float(told)) if re.fullmatch(r"\d{1,9}", told) else 0.0


def refusal(answer: Answer, token: str | None) -> NoAnswer:
    """Why an answer that is neither 200, 304, 404 nor 410 says nothing, and how long to wait.

    `token`: the name of the variable that holds it. As docs.github.com has it, "Best practices for
    using the REST API": `retry-after` first, then `x-ratelimit-reset` where nothing remains.
    """
    status, said = answer.status, f": {answer.message}" if answer.message else ""
    if status == 401:
        whose = f"the token in {token}" if token else "being asked without a token"
        return NoAnswer(f"rejects {whose} (401){said}", wait=REJECTED_WAIT, everywhere=True)
    if status in (403, 429):
        wait = _told_wait(answer)
        if wait is not None:
            return NoAnswer(
                f"limits how often it may be asked ({status}){said}", wait=wait, everywhere=True
            )
        if status == 429 or "rate limit" in answer.message.lower():
            words = f"limits how often it may be asked ({status}){said}"
            return NoAnswer(words, wait=SHORT_WAIT, everywhere=True)
        return NoAnswer(f"refuses this ({status}){said}", wait=SHORT_WAIT)
    if status >= 500:
        return NoAnswer(f"has a fault ({status}){said}", is_down=True)
    return NoAnswer(f"answers {status}{said}", wait=SHORT_WAIT)


def _told_wait(answer: Answer) -> float | None:
    """Seconds that the headers ask for, by the server's own clock; None: they ask for none."""
    now = _moment(answer.headers.get("date"))
    after = answer.headers.get("retry-after")
    if after is not None:
        until = _moment(after)
        if re.fullmatch(r"\d{1,9}", after.strip()):
            return _bounded(float(after))
        if until is not None and now is not None:
            return _bounded(until - now)
        return SHORT_WAIT
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.headers.get("x-ratelimit-remaining") != "0" or not re.fullmatch(r"\d{1,12}", reset):
        return None
    return SHORT_WAIT if now is None else _bounded(float(reset) - now)


def _bounded(seconds: float) -> float:
    return max(1.0, min(seconds, LONGEST_WAIT))


def _moment(text: str | None) -> float | None:
    try:
        return None if text is None else email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
