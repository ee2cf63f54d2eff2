"""A foreach block is checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.model.batch import Interrupt
from batchdeck.core.model.spec import BatchSpec

STEP = "id: one, agent: a, prompt: p"
TWO = "[{path: x}, {path: y}]"


def read(folder: Path, foreach: str) -> BatchSpec:
    file = folder / "b.yaml"
    file.write_text(f"agents: {{a: {{kind: demo}}}}\nforeach: {foreach}\n")
    return read_batch(file)


def test_a_foreach_alone_is_a_batch_and_quiesces(tmp_path: Path) -> None:
    spec = read(tmp_path, f"{{items: {TWO}, steps: [{{{STEP}}}]}}")

    assert spec.tasks == ()
    assert spec.interrupt is Interrupt.QUIESCE
    assert spec.foreach == {
        "items": [{"path": "x"}, {"path": "y"}],
        "steps": [{"id": "one", "agent": "a", "prompt": "p"}],
        "max_active": 4,
        "max_outstanding": 20,
    }


@pytest.mark.parametrize("kind", ["file: items.jsonl", "file: items.csv", "glob: 'docs/**/*.md'"])
def test_items_may_come_from_elsewhere(tmp_path: Path, kind: str) -> None:
    foreach = read(tmp_path, f"{{items: {{{kind}}}, steps: [{{{STEP}}}]}}").foreach

    assert foreach is not None
    [path] = foreach["items"].values()
    assert path.startswith(f"{tmp_path}/")


def test_one_item_may_write_without_a_reducer(tmp_path: Path) -> None:
    assert read(tmp_path, f"{{items: [1], steps: [{{{STEP}, writes: out}}]}}").foreach is not None


FAULTS = [  # ¦ stands before what is wrong
    (f"¦{{items: {TWO}}}", "foreach.steps: missing"),
    (f"{{items: {TWO}, steps: ¦[]}}", "foreach.steps: expected at least one item"),
    (f"¦{{steps: [{{{STEP}}}]}}", "foreach.items: missing"),
    (
        f"{{items: ¦x, steps: [{{{STEP}}}]}}",
        "foreach.items: expected a list, {file: …} or {glob: …}",
    ),
    (f"{{items: [1, ¦NO], steps: [{{{STEP}}}]}}", "foreach.items[1]: NO unquoted may be read"),
    (
        f"{{items: {{¦fil: x}}, steps: [{{{STEP}}}]}}",
        "foreach.items.fil: unknown key (did you",
    ),
    (
        f"{{items: {{file: ¦x.txt}}, steps: [{{{STEP}}}]}}",
        "foreach.items.file: 'x.txt': expect",
    ),
    (
        f"{{items: ¦{{file: x.csv, glob: y}}, steps: [{{{STEP}}}]}}",
        "foreach.items: expected a list, {file: …} or {glob: …}",
    ),
    (
        f"{{items: [], max_active: 5, max_outstanding: ¦2, steps: [{{{STEP}}}]}}",
        "foreach.max_outstanding: max_outstanding (2) must be at least max_active (5)",
    ),
    (
        f"{{items: [], max_active: ¦30, steps: [{{{STEP}}}]}}",
        "foreach.max_active: max_outstanding (20) must be at least max_active (30)",
    ),
    (
        f"{{items: [], max_active: ¦-1, steps: [{{{STEP}}}]}}",
        "foreach.max_active: -1 is no limit",
    ),
    (
        "{items: [], steps: [{id: one, agent: ¦b, prompt: p}]}",
        "foreach.steps[0].agent: there is no agent 'b'",
    ),
    (
        "{items: [], steps: [{id: one, agent: a, prompt: ¦'{{ itm }}'}]}",
        "foreach.steps[0].prompt: 'itm' is not defined here (did you mean 'item'?)",
    ),
    (
        "{items: [], steps: [{id: one, agent: a, prompt: ¦'{{ plan }}', keep: plan}]}",
        "foreach.steps[0].prompt: 'plan' is not defined here",
    ),
    (
        "{items: [], folder: ¦'{{ it }}', steps: [{id: one, agent: a, prompt: p}]}",
        "foreach.folder: 'it' is not defined here",
    ),
    (
        f"{{items: [], steps: [{{{STEP}}}, {{id: ¦one, agent: a, prompt: p}}]}}",
        "foreach.steps[1].id: 'one' is the id of another step too",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, keep: ¦item}}]}}",
        "foreach.steps[0].keep: 'item' already stands for something else",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, keep: ¦'a b'}}]}}",
        "foreach.steps[0].keep: 'a b' is no name",
    ),
    (
        f"{{items: {TWO}, steps: [{{{STEP}, writes: ¦out}}]}}",
        "foreach.steps[0].writes: 'out' is written more than once, and needs a reducer",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: ¦'{{{{ x }}}}'}}]}}",
        "foreach.steps[0].writes: '{{ x }}' is no dotted path",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, ¦reducer: sum}}]}}",
        "foreach.steps[0].reducer: a reducer without writes",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: out, reducer: ¦ad}}]}}",
        "foreach.steps[0].reducer: 'ad' is not one of append, merge, sum, last",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, as: ¦xml}}]}}",
        "foreach.steps[0].as: 'xml' is not one of text, json, number",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: a, reducer: last}},"
        " {id: two, agent: a, prompt: p, writes: ¦a.b, reducer: last}]}",
        "foreach.steps[1].writes: 'a.b' and 'a' cannot both be written",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: a, reducer: last}},"
        " {id: two, agent: a, prompt: p, writes: ¦a, reducer: sum}]}",
        "foreach.steps[1].writes: 'a' is written with two reducers",
    ),
]


@pytest.mark.parametrize(("marked", "expected"), FAULTS, ids=[text for text, _ in FAULTS])
def test_a_fault_of_a_foreach_is_placed(tmp_path: Path, marked: str, expected: str) -> None:
    column = len("foreach: ") + marked.index("¦") + 1

    with pytest.raises(BatchFileFaults) as refused:
        read(tmp_path, marked.replace("¦", ""))

    [fault] = refused.value.faults
    assert fault.message.startswith(expected)
    assert (fault.line, fault.column) == (2, column)


def test_what_a_step_keeps_may_be_named_by_later_ones(tmp_path: Path) -> None:
    steps = (
        "[{id: one, agent: a, prompt: 'Plan {{ item.path }}', keep: plan},"
        " {id: two, agent: a, prompt: 'Do {{ plan }} ({{ index }} of {{ batch }})'}]"
    )

    assert read(tmp_path, f"{{items: {TWO}, steps: {steps}}}").foreach is not None
