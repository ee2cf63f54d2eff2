"""Every gate between a turn and its start, each with who holds it and what frees it."""

from __future__ import annotations
