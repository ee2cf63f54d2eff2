"""Which version an agent's program is of, where asking is known to be harmless."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from batchdeck.core.agents.environment import BASE
from batchdeck.core.text import decode, one_line

KNOWN = frozenset({"claude", "codex", "gemini", "opencode", "aider", "llm"})
"""Programs that answer `--version` and do nothing else then; others are not asked."""
PATIENCE_SECONDS = 15.0


def version_of(program: str, environment: Mapping[str, str]) -> str:
    """The first line that a known program says of its version; empty: it is not known."""
    if os.path.basename(program) not in KNOWN:
        return ""
    try:
        told = subprocess.run(
            [program, "--version"],
            env={name: environment[name] for name in BASE if name in environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = decode(told.stdout).strip().splitlines()
    return one_line(lines[0], 80) if told.returncode == 0 and lines else ""
