"""What the runner costs: `true` under a runner against `true` alone.

Run as `python -m tests.bench.runner_cost [ROUNDS]`; prints medians in milliseconds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from batchdeck.core.executors.executor import Launch
from batchdeck.core.executors.local import LocalExecutor

TRUE = "/bin/true"


def bare() -> float:
    begun = time.perf_counter()
    os.waitpid(os.posix_spawn(TRUE, [TRUE], {}), 0)
    return time.perf_counter() - begun


async def under_a_runner(executor: LocalExecutor, run: Path) -> float:
    begun = time.perf_counter()
    await executor.start(Launch(run, (TRUE,), {"PATH": "/usr/bin:/bin"}, Path("/")))
    await executor.wait(run)
    return time.perf_counter() - begun


async def measure(rounds: int) -> tuple[float, float]:
    """Both medians in milliseconds, measured in turn."""
    executor = LocalExecutor()
    alone, owned = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            alone.append(bare())
            owned.append(await under_a_runner(executor, Path(folder) / str(number)))
    return statistics.median(alone) * 1000, statistics.median(owned) * 1000


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    alone, owned = anyio.run(measure, rounds)
    print(f"true alone          {alone:7.2f} ms")
    print(f"true under a runner {owned:7.2f} ms  (+{owned - alone:.2f} ms)")
    print(f"ratio               {owned / alone:7.1f}")


if __name__ == "__main__":
    main()
