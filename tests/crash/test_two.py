"""Of supervisors that are started on one deck at the same moment one works; the others say who."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from pathlib import Path

import pytest

from tests.crash.harness import Supervisor, leave_nothing, program_under_test
from tests.crash.ledger import judge, read_ledger
from tests.crash.workload import draw_workload

pytestmark = pytest.mark.crash

AT_ONCE = 4


def test_one_of_many_supervisors_works_and_the_others_name_it(seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="batchdeck-crash-") as folder:
        load = draw_workload(Path(folder), random.Random(seed), 40)
        try:
            started = [Supervisor(load, program_under_test()) for _ in range(AT_ONCE)]
            codes = {one.process.pid: one.end() for one in started}
            errors = (load.root / "errors").read_text()
        finally:
            leave_nothing(load)
        winners = [pid for pid, code in codes.items() if code == 0]
        assert sorted(codes.values(), key=str) == [0, *[73] * (AT_ONCE - 1)], errors
        assert errors.count(f"process {winners[0]} on ") == AT_ONCE - 1
        found = judge(load, read_ledger(load.root / "ledger"))
        assert found.sound, found.words
        raw = sqlite3.connect(load.deck / "deck.db")
        attempts = raw.execute("SELECT count(*) FROM attempts").fetchone()[0]
        raw.close()
        assert attempts == len(load.tasks)
