"""The patterns that judge an agent's output."""

from __future__ import annotations

import re
import warnings


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in which `^` and `$` stand for the ends of every line.

    Raises:
        ValueError: it is no regular expression; the message says why.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what a later Python may read differently
        try:
            return re.compile(pattern, re.MULTILINE)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None
