"""What no deck can keep is refused at its door, wherever in a command it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.commands import AddTask, Command, MergeTurns, OnBusy, Send
from batchdeck.core.errors import BadInput
from batchdeck.core.keeping import LARGEST, refuse_what_cannot_be_kept
from batchdeck.core.model.spec import TaskSpec
from tests.support.builders import batch_spec, demo_agent
from tests.support.puppets import bench


@pytest.mark.parametrize(
    "value", ["\ud800", LARGEST + 1, -LARGEST - 1, {"a": ["\udc00"]}, {"\ud800": 1}, (1, 2**70)]
)
def test_half_characters_and_numbers_beyond_sqlites_are_refused(value: object) -> None:
    with pytest.raises(BadInput):
        refuse_what_cannot_be_kept(value)


def test_everything_else_is_let_pass() -> None:
    refuse_what_cannot_be_kept({"a": [LARGEST, -LARGEST, True, None, 1e308, "\U0001f600", ()]})


@pytest.mark.anyio
@pytest.mark.parametrize(
    "command",
    [
        Send(to="a", text="caf\udce9", on_busy=OnBusy.QUEUE),
        AddTask(task=TaskSpec("X", "a", prompt="x", priority=2**70)),
        AddTask(task=TaskSpec("X", "a", prompt="x", depends_on=("caf\udce9",))),
        MergeTurns(turns=(1, 2**70)),
    ],
)
async def test_the_engine_refuses_them_and_goes_on(tmp_path: Path, command: Command) -> None:
    async with bench(tmp_path) as here:
        await here.add(batch_spec("b", [TaskSpec("T1", "a")], [demo_agent("a", 1)]))
        receipt = await here.deck.submit(command)
        assert (receipt.accepted, receipt.error) == (False, "bad_input")
        assert here.view.fault is None
        assert (await here.deck.submit(AddTask(task=TaskSpec("Y", "a", prompt="x")))).accepted
