"""What each gate of the guard costs a claim.

    python -m tests.bench.gates [--rounds 5]

The same turns are inserted, claimed and ended with the whole guard, and with each of its conditions
left out in turn; the difference in processor time is that gate's. The last row is no guard at all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.bench.raw import raw3

TURNS = 6_400
GATES = {
    "hold, authorised": ("held_by", "authorised"),
    "global": ("'global'",),
    "agent": ("'agent:'",),
    "batch": ("'batch:'",),
    "status": ("'status:'",),
    "target": ("NEW.target",),
    "conversation": ("conversation =",),
    "folder": ("NEW.folder",),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    everything = tuple(mark for marks in GATES.values() for mark in marks)
    found: dict[str, list[float]] = {name: [] for name in GATES}
    whole: list[float] = []
    without: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            whole.append(_cpu(Path(folder) / f"whole{number}"))
            without.append(_cpu(Path(folder) / f"none{number}", everything))
            for name, marks in GATES.items():
                cpu = _cpu(Path(folder) / f"{name[:6]}{number}", marks)
                found[name].append(whole[-1] - cpu)
    print(f"a turn with the whole guard  {statistics.median(whole):6.1f} us CPU")
    for name, costs in found.items():
        print(f"  {name:<26} {statistics.median(costs):6.1f} us")
    print(f"a turn without a guard       {statistics.median(without):6.1f} us CPU")


def _cpu(path: Path, without: tuple[str, ...] = ()) -> float:
    return raw3(path, TURNS, "NORMAL", without_gates=without).cpu_us


if __name__ == "__main__":
    main()
