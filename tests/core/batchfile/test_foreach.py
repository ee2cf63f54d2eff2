"""A foreach block is checked before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.errors import BadInput
from batchdeck.core.model.batch import Interrupt
from batchdeck.core.model.spec import BatchSpec

STEP = "id: one, agent: a, prompt: p"
TWO = "[{path: x}, {path: y}]"


def read(folder: Path, foreach: str) -> BatchSpec:
    file = folder / "b.yaml"
    file.write_text(f"agents: {{a: {{kind: demo}}, c: {{kind: demo}}}}\nforeach: {foreach}\n")
    return read_batch(file)


def test_a_foreach_alone_is_a_batch_and_quiesces(tmp_path: Path) -> None:
    spec = read(tmp_path, f"{{items: {TWO}, steps: [{{{STEP}}}]}}")

    assert [(task.key, task.index) for task in spec.tasks] == [("item-0", 0), ("item-1", 1)]
    assert spec.interrupt is Interrupt.QUIESCE
    assert spec.foreach == {
        "items": [{"path": "x"}, {"path": "y"}],
        "steps": [{"id": "one", "agent": "a", "prompt": "p"}],
        "max_active": 4,
        "max_outstanding": 20,
    }


JSONL = '{"path": "x"}\n\n{"path": "y"}\n'
CSV = 'path,note\nx,"a, b"\ny,\n'


@pytest.mark.parametrize(
    ("name", "content", "second"),
    [("items.jsonl", JSONL, {"path": "y"}), ("items.csv", CSV, {"path": "y", "note": ""})],
)
def test_items_may_come_from_a_file(
    tmp_path: Path, name: str, content: str, second: dict[str, str]
) -> None:
    (tmp_path / name).write_text(content)
    spec = read(tmp_path, f"{{items: {{file: {name}}}, steps: [{{{STEP}}}]}}")

    assert [task.title for task in spec.tasks] == ["x", "y"]
    assert json.loads(spec.tasks[1].item or "") == second


def test_items_may_be_the_files_that_a_pattern_finds_in_the_order_of_their_names(
    tmp_path: Path,
) -> None:
    for name in ("docs/b.md", "docs/deep/a.md", "docs/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    steps = "[{id: one, agent: a, prompt: 'Move {{ item.path }}'}]"
    spec = read(tmp_path, f"{{items: {{glob: 'docs/**/*.md'}}, steps: {steps}}}")

    wanted = [f"Move {tmp_path}/docs/b.md", f"Move {tmp_path}/docs/deep/a.md"]
    assert [task.prompt for task in spec.tasks] == wanted


@pytest.mark.parametrize("items", ["{file: items.jsonl}", "{glob: 'docs/*'}"])
def test_more_items_than_a_deck_can_hold_are_refused(
    tmp_path: Path, items: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchdeck.core.batchfile.items.MOST_ITEMS", 2)
    (tmp_path / "docs").mkdir()
    for name in "abc":
        (tmp_path / "docs" / name).touch()
    (tmp_path / "items.jsonl").write_text("1\n2\n3\n")

    with pytest.raises(BadInput, match=r"too many items: at most 2\."):
        read(tmp_path, f"{{items: {items}, steps: [{{{STEP}}}]}}")


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("items.jsonl", '{"a": 1}\n{"a": }\n', ":2:7: this is no JSON"),
        ("items.jsonl", "[NaN]\n", ":1:1: NaN is no number"),
        ("items.jsonl", "1e999\n", ":1:1: a number in it is too large"),
        ("items.jsonl", "[" * 60 + "]" * 60, ":1:1: this is nested more than 50 levels deep"),
        ("items.jsonl", "[" * 90_000, ":1:1: this is nested too deeply"),
        ("items.csv", "a,a\n1,2\n", ":1:1: expected a first line of names"),
        ("items.csv", "a,b\n1,2\n1,2,3\n", ":3:1: expected 2 values"),
        ("items.csv", "", ":1:1: expected a first line of names"),
        ("items.csv", 'a\n"x"y\n', ":2:1: this is no CSV"),
    ],
)
def test_a_fault_of_a_file_of_items_is_placed(
    tmp_path: Path, name: str, content: str, fault: str
) -> None:
    (tmp_path / name).write_text(content)

    with pytest.raises(BatchFileFaults) as refused:
        read(tmp_path, f"{{items: {{file: {name}}}, steps: [{{{STEP}}}]}}")

    assert str(refused.value.faults[0]).startswith(f"{tmp_path}/{name}{fault}")


def test_what_is_not_known_yet_may_be_of_any_kind(tmp_path: Path) -> None:
    later = (
        "{{ plan | tojson }} {{ plan.parts | sort | join(', ') }} {{ plan.number + 1 }} "
        "{% for part in plan %}{{ part.name | upper }}{% endfor %} {{ '%d' % plan }}"
    )
    steps = json.dumps(
        [
            {"id": "one", "agent": "a", "prompt": "p", "keep": "plan", "as": "json"},
            {"id": "two", "agent": "a", "prompt": later},
        ]
    )
    assert len(read(tmp_path, f"{{items: {TWO}, steps: {steps}}}").tasks) == 2


@pytest.mark.parametrize("kind", ["file: gone.csv", "file: folder.jsonl"])
def test_a_file_of_items_that_cannot_be_read_is_placed_beside_other_faults(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(BatchFileFaults) as refused:
        read(tmp_path, f"{{items: {{{kind}}}, steps: [{{id: one, agent: x, prompt: p}}]}}")

    place, step = refused.value.faults
    assert (place.line, place.column) == (2, 25)
    assert place.message.startswith(f"foreach.items.file: {tmp_path}/")
    assert step.message.startswith("foreach.steps[0].agent: there is no agent 'x'")


def test_a_faulty_line_of_items_is_told_beside_the_files_own_faults(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n{\n")
    with pytest.raises(BatchFileFaults) as refused:
        read(tmp_path, "{items: {file: x.jsonl}, steps: [{id: one, agent: x, prompt: p}]}")

    assert [(Path(fault.path).name, fault.line) for fault in refused.value.faults] == [
        ("b.yaml", 2),
        ("x.jsonl", 2),
    ]


def test_failures_are_not_collected_where_items_write(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    step = f"{{{STEP}, writes: out.all, reducer: append}}"
    file.write_text(
        "agents: {a: {kind: demo}}\non_error: collect\ncollect_to: out\n"
        f"foreach: {{items: {TWO}, steps: [{step}]}}\n"
    )
    with pytest.raises(BatchFileFaults, match=r"'out\.all' is where collect_to writes too"):
        read_batch(file)


def test_an_id_of_an_item_is_no_id_of_a_task(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(
        "agents: {a: {kind: demo}}\ntasks: [{id: item-7, agent: a, prompt: p}]\n"
        f"foreach: {{items: {TWO}, steps: [{{{STEP}}}]}}\n"
    )
    with pytest.raises(BatchFileFaults, match="'item-7' stands for an item"):
        read_batch(file)


def test_one_item_may_write_without_a_reducer(tmp_path: Path) -> None:
    assert read(tmp_path, f"{{items: [1], steps: [{{{STEP}, writes: out}}]}}").foreach is not None


FAULTS = [  # ¦ stands before what is wrong
    (f"¦{{items: {TWO}}}", "foreach.steps: missing: expected a list"),
    (f"{{items: {TWO}, steps: ¦[]}}", "foreach.steps: expected at least one item"),
    (
        f"¦{{steps: [{{{STEP}}}]}}",
        "foreach.items: missing: expected a list, {file: …} or {glob: …}",
    ),
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
        " {id: two, agent: a, prompt: p, writes: ¦a, reducer: append}]}",
        "foreach.steps[1].writes: 'a' is written with two reducers",
    ),
    (
        f"{{items: [], max_active: ¦0, steps: [{{{STEP}}}]}}",
        "foreach.max_active: 0 would begin no item",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: ¦index.a, reducer: last}}]}}",
        "foreach.steps[0].writes: 'index' already stands for something else",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: a, reducer: ¦sum}}]}}",
        "foreach.steps[0].reducer: sum needs as: number",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, writes: a, as: text, reducer: ¦merge}}]}}",
        "foreach.steps[0].reducer: merge needs as: json",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, keep: plan}},"
        " {id: two, agent: a, prompt: p, folder: ¦'{{ plan }}'}]}",
        "foreach.steps[1].folder: 'plan' is not defined here",
    ),
    (
        "{items: [{path: x}, {paht: y}], steps: [{id: one, agent: a, prompt: ¦'{{ item.path }}'}]}",
        "foreach.steps[0].prompt: item 1: there is no 'path' here (did you mean 'paht'?)",
    ),
    (
        f"{{items: [{{path: x}}, {{paht: y}}], steps: [{{{STEP}, keep: plan}},"
        " {id: two, agent: a, prompt: ¦'{{ plan.a | upper }}{{ item.path }}'}]}",
        "foreach.steps[1].prompt: item 1: there is no 'path' here (did you mean 'paht'?)",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, conversation: ¦'{{{{ itm }}}}'}}]}}",
        "foreach.steps[0].conversation: 'itm' is not defined here (did you mean 'item'?)",
    ),
    (
        f"{{items: [], steps: [{{{STEP}, conversation: ¦''}}]}}",
        "foreach.steps[0].conversation: ",
    ),
    (
        f"{{items: [{{z: x}}, {{y: x}}], steps: [{{{STEP}, conversation: ¦'{{{{ item.z }}}}'}}]}}",
        "foreach.steps[0].conversation: item 1: there is no 'z' here (there are: y)",
    ),
    (
        f"{{items: [1], steps: [{{{STEP}, conversation: log}},"
        " {id: two, agent: c, prompt: p, conversation: ¦log}]}",
        "foreach.steps[1].conversation: item 0: 'log' is a's by step one, and one agent alone",
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


def test_a_step_may_go_on_in_a_conversation_by_its_name(tmp_path: Path) -> None:
    name = "'{{ \"\" if index else item }} log '"
    steps = f"[{{{STEP}, conversation: {name}}}]"
    spec = read(tmp_path, f"{{items: [x, y], steps: {steps}}}")

    assert [task.conversation for task in spec.tasks] == ["x log", "log"]
    steps = f"[{{{STEP}, conversation: '{{{{ item if index else \"\" }}}}'}}]"
    spec = read(tmp_path, f"{{items: [x, y], steps: {steps}}}")
    assert [task.conversation for task in spec.tasks] == [None, "y"], "nothing: its own"


def test_agents_of_a_name_that_is_known_later_are_told_apart_later(tmp_path: Path) -> None:
    one = f"{{{STEP}, keep: k}}"
    two = "{id: two, agent: a, prompt: p, conversation: '{{ k }}'}"
    three = "{id: three, agent: c, prompt: p, conversation: '{{ k }}'}"

    assert read(tmp_path, f"{{items: [x], steps: [{one}, {two}, {three}]}}").tasks


def test_what_a_step_keeps_may_be_named_by_later_ones(tmp_path: Path) -> None:
    steps = (
        "[{id: one, agent: a, prompt: 'Plan {{ item.path }}', keep: plan},"
        " {id: two, agent: a, prompt: 'Do {{ plan }} ({{ index }} of {{ batch }})'}]"
    )

    assert read(tmp_path, f"{{items: {TWO}, steps: {steps}}}").foreach is not None
