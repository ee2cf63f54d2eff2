"""Bytes that are no text end no attempt and no supervisor."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from tests.crash.harness import Supervisor, leave_nothing, program_under_test
from tests.crash.workload import Workload

pytestmark = pytest.mark.crash


def test_agents_that_write_random_bytes_run_to_their_end() -> None:
    with tempfile.TemporaryDirectory(prefix="batchdeck-crash-") as folder:
        root = Path(folder)
        (root / "home").mkdir()
        (root / "ledger").touch()
        noisy = ["/bin/sh", "-c", "head -c 300000 /dev/urandom; printf '\\377\\376 end\\n'"]
        document = {
            "name": "noise",
            "agents": {"noisy": {"kind": "command", "command": noisy, "output": "text"}},
            "tasks": [{"id": f"T{n}", "agent": "noisy", "prompt": "x"} for n in range(4)],
        }
        (root / "batch.yaml").write_text(json.dumps(document))
        load = Workload(root, (), {})
        try:
            assert Supervisor(load, program_under_test()).end() == 0, (root / "errors").read_text()
        finally:
            leave_nothing(load)
