"""Decks with a batch that meets every kind of limit, drawn from a seed."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parent / "agent.py"
LIMITS = {"wide": 4, "narrow": 2, "worker": 3}
GLOBAL = 5
FOLDERS = ("one", "one/deep", "two", "two/a", "two/b")


@dataclass(frozen=True, slots=True)
class Workload:
    """A folder with a batch file, and what its tasks may do."""

    root: Path
    tasks: tuple[str, ...]
    targets: dict[str, tuple[str, ...]]
    """Per target: its tasks in the order in which they must start."""

    @property
    def file(self) -> Path:
        return self.root / "batch.yaml"

    @property
    def deck(self) -> Path:
        return self.root / ".batchdeck"


def draw_workload(
    root: Path,
    dice: random.Random,
    count: int,
    *,
    seconds: float = 0.12,
    children: bool = False,
    depend: bool = True,
    longest: float = 0.0,
) -> Workload:
    """Makes the folder, with `count` tasks of up to `seconds` each, and one of `longest`."""
    for folder in ("locks", "home", *(f"work/{name}" for name in FOLDERS)):
        (root / folder).mkdir(parents=True)
    (root / "ledger").touch()
    tasks = [_task(dice, number, seconds, children, depend) for number in range(count)]
    if longest:
        tasks.append({"id": "LONG", "agent": "worker", "prompt": f"sleep={longest}", "priority": 9})
    document = {
        "name": "crash",
        "max_parallel": GLOBAL,
        "agents": {name: _agent(root, name) for name in LIMITS},
        "tasks": tasks,
    }
    (root / "batch.yaml").write_text(json.dumps(document, indent=1))
    (root / "batch.yaml").chmod(0o600)
    targets: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        if "target" in task:
            targets[task["target"]] = (*targets.get(task["target"], ()), task["id"])
    return Workload(root, tuple(task["id"] for task in tasks), targets)


def _task(
    dice: random.Random, number: int, seconds: float, children: bool, depend: bool
) -> dict[str, Any]:
    prompt = f"sleep={dice.uniform(0.01, seconds):.3f}"
    if children and dice.random() < 0.3:
        prompt = f"child {prompt}"
    task: dict[str, Any] = {"id": f"T{number}", "prompt": prompt}
    task["agent"] = dice.choice(list(LIMITS))
    if dice.random() < 0.3:
        task["folder"] = f"work/{dice.choice(FOLDERS)}"
    if dice.random() < 0.2:
        task["target"] = dice.choice(("issue-1", "issue-2"))
    elif depend and number and dice.random() < 0.15:
        task["depends_on"] = [f"T{dice.randrange(number)}"]
    return task


def _agent(root: Path, name: str) -> dict[str, Any]:
    return {
        "kind": "command",
        "command": [sys.executable, "-I", "-S", str(AGENT)],
        "prompt_via": "stdin",
        "output": "text",
        "parallelism_limit": LIMITS[name],
        "env": {
            "CRASH_ROOT": str(root),
            "CRASH_LIMITS": f"all={GLOBAL} {name}={LIMITS[name]}",
            "AGENT_NAME": name,
        },
    }
