"""Every fault of a batch file is shown at once, each at its place and in words."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from batchdeck.core.batchfile.faults import BatchFileFaults
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.errors import BadInput

HEAD = """\
name: demo
agents:
  coder: {kind: command, command: [cat]}
"""
"""Three lines, so that what is tested begins in line 4."""

TASK = "tasks:\n  - {id: T1, agent: coder, prompt: p}\n"


def faults_of(folder: Path, text: str | bytes, config: Settings | None = None) -> list[str]:
    file = folder / "b.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BatchFileFaults) as refused:
        read_batch(file, config=config)
    assert refused.value.exit_code == 2
    assert refused.value.message == "\n".join(map(str, refused.value.faults))
    return [str(fault).removeprefix(f"{folder}/") for fault in refused.value.faults]


WITH_TASK = [
    # limits
    ("max_parallel: -1", "4:15: max_parallel: -1 is no limit"),
    ("max_parallel: 1.5", "4:15: max_parallel: 1.5 is no limit"),
    ("max_parallel: true", "4:15: max_parallel: True is no limit"),
    ("max_parallel: '3'", "4:15: max_parallel: 3 is no limit"),
    ("max_parallel: none", "4:15: max_parallel: none is no limit: expected a whole number, 0"),
    ("max_parallel: 1e1", "4:15: max_parallel: 1e1 is no limit"),
    ("max_parallel: 33", "4:15: max_parallel: 33 is too large: expected at most 32"),
    (
        "max_parallel_by_status: {READY: -1}",
        "4:33: max_parallel_by_status.READY: -1 is no limit",
    ),
    (
        "max_parallel_by_status: {REDY: 1}",
        "4:26: max_parallel_by_status.REDY: 'REDY' is not one of BACKLOG, READY, IN_PROGRESS,"
        " BLOCKED, FAILED, DONE, MERGED (did you mean 'READY'?)",
    ),
    ("max_parallel_by_status: 3", "4:25: max_parallel_by_status: expected keys with values, not 3"),
    # keys
    ("max_paralel: 3", "4:1: max_paralel: unknown key (did you mean 'max_parallel'?)"),
    ("max_parallel: 1\nmax_parallel: 2", "5:1: max_parallel is there twice"),
    ("1: x", "4:1: 1 as a key: expected text (quote it)"),
    ("NO: x", "4:1: NO as a key: expected text (quote it)"),
    ("? [a, b]\n: c", "4:3: a list or mapping as a key: expected text (quote it)"),
    # policies
    (
        "on_error: stop",
        "4:11: on_error: 'stop' is not one of fail, skip, collect",
    ),
    ("on_error: collect", "1:1: collect_to: missing: on_error: collect needs it"),
    (
        "interrupt: quiese",
        "4:12: interrupt: 'quiese' is not one of quiesce, continue (did you mean",
    ),
    ("max_attempts: 0", "4:15: max_attempts: 0 is too small: expected at least 1"),
    (
        "reconciliation_interval_seconds: -1",
        "4:34: reconciliation_interval_seconds: -1 is too small: expected at least 0",
    ),
    ("budget: {tokens: x}", "4:18: budget.tokens: expected a whole number, not 'x'"),
    ("budget: {token: 1}", "4:10: budget.token: unknown key (did you mean 'tokens'?)"),
    ("prepare: [make]", "4:11: prepare[0]: expected a list, not 'make'"),
    ("prepare: [[]]", "4:11: prepare[0]: expected at least one item"),
    # YAML's traps
    ("collect_to: &x y", "4:13: &x: no anchors here"),
    ("collect_to: !!str y", "4:13: tag:yaml.org,2002:str: no tags here"),
    ("collect_to: *x", "4:13: *x: no aliases here"),
    ("collect_to: NO", "4:13: collect_to: expected text, and NO unquoted may be read as something"),
    ("collect_to: 017", "4:13: collect_to: expected text, and 017 unquoted"),
    ("collect_to: 1e3", "4:13: collect_to: expected text, and 1e3 unquoted"),
    ("collect_to: 1:20", "4:13: collect_to: expected text, and 1:20 unquoted"),
    ("collect_to: 2026-13-45", "4:13: collect_to: expected text, and 2026-13-45 unquoted"),
    ("collect_to: [a]", "4:13: collect_to: expected text, not a list"),
    ("\tx: y", "4:1: this is not YAML: "),
]


@pytest.mark.parametrize(("line", "expected"), WITH_TASK, ids=[line for line, _ in WITH_TASK])
def test_a_fault_beside_the_tasks_is_placed(tmp_path: Path, line: str, expected: str) -> None:
    found = faults_of(tmp_path, f"{HEAD}{line}\n{TASK}")

    assert any(fault.startswith(f"b.yaml:{expected}") for fault in found), found


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("---\nx: y\n", "4:1: a second document: one per file"),
        ("collect_to: 'x", "4:15: this is not YAML: found unexpected end of stream"),
        ("collect_to: " + "[" * 60, "4:62: nested deeper than 50"),
        ("tasks: {a", "5:1: this is not YAML: did not find expected ',' or '}'"),
    ],
)
def test_where_a_file_cannot_be_read_on_that_is_its_one_fault(
    tmp_path: Path, rest: str, expected: str
) -> None:
    assert faults_of(tmp_path, HEAD + rest) == [f"b.yaml:{expected}"]


AGENTS = [
    ("{kind: comand, command: [x]}", "3:13: agents.a.kind: 'comand' is not one of command, openai"),
    ("{command: [x]}", "3:6: agents.a.kind: missing: expected one of command, openai, acp, demo"),
    ("{kind: command}", "3:6: agents.a.command: missing: an agent of kind command needs it"),
    ("{kind: command, command: cat}", "3:31: agents.a.command: expected a list, not 'cat'"),
    ("{kind: command, command: []}", "3:31: agents.a.command: expected at least one item"),
    ("{kind: command, command: ['']}", "3:31: agents.a.command: expected a program"),
    ("{kind: command, command: [x, 8080]}", "3:35: agents.a.command[1]: expected text, and 8080"),
    (
        "{kind: command, command: [x], output: claude}",
        "3:44: agents.a.output: 'claude' is no kind of output",
    ),
    (
        "{kind: command, command: [x], output: codex-jsn}",
        "3:44: agents.a.output: 'codex-jsn' is no kind of output (did you mean 'codex-json'?)",
    ),
    (
        "{kind: command, command: [x], success_pattern: '('}",
        "3:53: agents.a.success_pattern: '(' is no regular expression",
    ),
    (
        "{kind: command, command: [x, '{prompt}']}",
        "3:31: agents.a.command: {prompt} stands for the prompt with prompt_via: arg alone",
    ),
    (
        "{kind: command, command: [x], parallelism_limit: 11}",
        "3:55: agents.a.parallelism_limit: 11 is too large: expected at most 10",
    ),
    (
        "{kind: command, command: [x], parallelism_limit: -2}",
        "3:55: agents.a.parallelism_limit: -2 is no limit",
    ),
    (
        "{kind: acp, command: [x], parallelism_limit: 2}",
        "3:51: agents.a.parallelism_limit: agent_parallelism_limit_unsupported: 2 is refused",
    ),
    (
        "{kind: demo, serial: true, parallelism_limit: 2}",
        "3:52: agents.a.parallelism_limit: agent_parallelism_limit_unsupported: 2 is refused",
    ),
    (
        "{kind: demo, folder: x, parallelism_limit: 2}",
        "3:49: agents.a.parallelism_limit: agent_parallelism_limit_unsupported: 2 is refused",
    ),
    ("{kind: openai, model: m}", "3:6: agents.a.base_url: missing: an agent of kind openai"),
    (
        "{kind: openai, model: m, base_url: 'ftp://x'}",
        "3:41: agents.a.base_url: 'ftp://x' is no address",
    ),
    (
        "{kind: openai, model: m, base_url: 'http://[::1'}",
        "3:41: agents.a.base_url: 'http://[::1' is no address",
    ),
    (
        "{kind: openai, model: m, base_url: 'http://x:99999/v1'}",
        "3:41: agents.a.base_url: 'http://x:99999/v1' is no address",
    ),
    (
        "{kind: openai, model: m, base_url: 'http://bob:hunter2@x/v1'}",
        "3:41: agents.a.base_url: an address with a name or password in it is shown",
    ),
    (
        "{kind: openai, model: m, api_key_env: K, base_url: 'http://models.example/v1'}",
        "3:57: agents.a.base_url: a key is sent over https:// alone",
    ),
    ("{kind: demo, env: {PORT: 8080}}", "3:31: agents.a.env.PORT: expected text, and 8080"),
    ('{kind: demo, env: {A: "b\\0c"}}', "3:28: agents.a.env.A: expected text without NUL"),
    ("{kind: demo, env: {BATCHDECK_X: x}}", "3:25: agents.a.env.BATCHDECK_X: BATCHDECK_X is"),
    ("{kind: demo, pass_env: ['A=b']}", "3:30: agents.a.pass_env[0]: 'A=b' is no name"),
    ("{kind: demo, timeout_seconds: 0}", "3:36: agents.a.timeout_seconds: 0 is too small"),
    ("{kind: demo, script: {fail: 2}}", "3:34: agents.a.script.fail: 2 is too large"),
    ("{kind: demo, script: {seconds: [3, 1]}}", "3:37: agents.a.script.seconds: expected a number"),
    ("{kind: demo, script: {second: 1}}", "3:28: agents.a.script.second: unknown key (did you"),
    ("{kind: demo, price: {input: 1}}", "3:26: agents.a.price.output: missing: expected a number"),
    ("{kind: demo, serial: yes}", "3:27: agents.a.serial: expected true or false, not yes"),
]


@pytest.mark.parametrize(("block", "expected"), AGENTS, ids=[block for block, _ in AGENTS])
def test_a_fault_of_an_agent_is_placed(tmp_path: Path, block: str, expected: str) -> None:
    text = f"name: demo\nagents:\n  a: {block}\ntasks:\n  - {{id: T1, agent: a, prompt: p}}\n"

    found = faults_of(tmp_path, text)

    assert len(found) == 1, found
    assert found[0].startswith(f"b.yaml:{expected}"), found


TASKS = [
    ("{id: NO, agent: coder, prompt: p}", "5:10: tasks[0].id: expected text, and NO unquoted"),
    ("{id: 017, agent: coder, prompt: p}", "5:10: tasks[0].id: expected text, and 017 unquoted"),
    ("{id: 7, agent: coder, prompt: p}", "5:10: tasks[0].id: expected text, and 7 unquoted"),
    ("{id: a/b, agent: coder, prompt: p}", "5:10: tasks[0].id: 'a/b' is no id"),
    ("{id: 'a b', agent: coder, prompt: p}", "5:10: tasks[0].id: 'a b' is no id"),
    ("{id: '#1', agent: coder, prompt: p}", "5:10: tasks[0].id: '#1' is no id"),
    ("{id: '', agent: coder, prompt: p}", "5:10: tasks[0].id: '' is no id"),
    ("{agent: coder, prompt: p}", "5:5: tasks[0].id: missing: expected text"),
    ("{id: T1, prompt: p}", "5:5: tasks[0].agent: missing: expected the name of an agent"),
    ("{id: T1, agent: coder}", "5:5: tasks[0].prompt: missing: a task needs a prompt, or a title"),
    (
        "{id: T1, agent: codr, prompt: p}",
        "5:21: tasks[0].agent: there is no agent 'codr' (did you mean 'coder'?)",
    ),
    (
        "{id: T1, agent: coder, prompt: p, status: ready}",
        "5:47: tasks[0].status: 'ready' is not one of",
    ),
    (
        "{id: T1, agent: coder, prompt: p, status: NO}",
        "5:47: tasks[0].status: expected text, and NO",
    ),
    ("{id: T1, agent: coder, prompt: p, titel: x}", "5:39: tasks[0].titel: unknown key (did you"),
    (
        "{id: T1, agent: coder, prompt: p, priority: high}",
        "5:49: tasks[0].priority: expected a whole",
    ),
    (
        "{id: T1, agent: coder, prompt: p, depends_on: [T2]}",
        "5:52: tasks[0].depends_on[0]: there is no task 'T2' (there are: T1)",
    ),
    (
        "{id: T1, agent: coder, prompt: p, depends_on: T2}",
        "5:51: tasks[0].depends_on: expected a list, not 'T2'",
    ),
    (
        "{id: T1, agent: coder, prompt: p, depends_on: [T1]}",
        "5:51: tasks[0].depends_on: a cycle: T1 → T1",
    ),
    (
        "{id: T1, agent: coder, prompt: '{{ tsk }}'}",
        "5:36: tasks[0].prompt: 'tsk' is not defined here (did you mean 'task'?)",
    ),
    (
        "{id: T1, agent: coder, prompt: '{{ task '}",
        "5:36: tasks[0].prompt: ",
    ),
    (
        "{id: T1, agent: coder, prompt: '{% if %}'}",
        "5:36: tasks[0].prompt: ",
    ),
    (
        "{id: T1, agent: coder, prompt: '{{ task.__class__ }}'}",
        "5:36: tasks[0].prompt: ",
    ),
    (
        "{id: T1, agent: coder, prompt: '{{ task.nothing }}'}",
        "5:36: tasks[0].prompt: ",
    ),
    (
        "{id: T1, agent: coder, title: '{{ title }}'}",
        "5:35: tasks[0].title: 'title' is not defined here",
    ),
    ("plain", "5:5: tasks[0]: expected keys with values, not 'plain'"),
]


@pytest.mark.parametrize(("task", "expected"), TASKS, ids=[task for task, _ in TASKS])
def test_a_fault_of_a_task_is_placed(tmp_path: Path, task: str, expected: str) -> None:
    found = faults_of(tmp_path, f"{HEAD}tasks:\n  - {task}\n")

    assert any(fault.startswith(f"b.yaml:{expected}") for fault in found), found
    assert len(found) == 1, found


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    task = "  - {id: T1, agent: coder, prompt: p}\n"

    assert faults_of(tmp_path, f"{HEAD}tasks:\n{task}{task}") == [
        "b.yaml:6:10: tasks[1].id: 'T1' is the id of another task (tasks[0]) too"
    ]


def test_a_cycle_is_shown_as_a_way_round(tmp_path: Path) -> None:
    needs = {"A": "B", "B": "C", "C": "A", "D": "A"}
    tasks = "".join(
        f"  - {{id: {key}, agent: coder, prompt: p, depends_on: [{need}]}}\n"
        for key, need in needs.items()
    )

    assert faults_of(tmp_path, f"{HEAD}tasks:\n{tasks}") == [
        "b.yaml:5:50: tasks[0].depends_on: a cycle: A → B → C → A"
    ]


def test_all_faults_are_shown_at_once_and_in_order(tmp_path: Path) -> None:
    text = textwrap.dedent(
        """\
        name: demo
        max_paralel: 2
        on_error: never
        agents:
          coder: {kind: command, command: [cat], parallelism_limit: 99}
        tasks:
          - id: T1
            agent: codr
            prompt: "{{ nothing }}"
          - id: T1
            agent: coder
            prompt: p
            depends_on: [T9]
            max_parallel: 1
        """
    )

    places = [fault.split(": ")[0] for fault in faults_of(tmp_path, text)]

    assert places == [
        "b.yaml:2:1",
        "b.yaml:3:11",
        "b.yaml:5:61",
        "b.yaml:8:12",
        "b.yaml:9:13",
        "b.yaml:10:9",
        "b.yaml:13:18",
        "b.yaml:14:5",
    ]


def test_a_limit_that_is_not_supported_has_its_own_code(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(f"agents: {{a: {{kind: acp, command: [x], parallelism_limit: 2}}}}\n{TASK}")

    with pytest.raises(BatchFileFaults) as refused:
        read_batch(file)

    assert refused.value.code == "agent_parallelism_limit_unsupported"


def test_caps_are_the_configurations(tmp_path: Path) -> None:
    text = f"max_parallel: 40\n{HEAD}{TASK}".replace("[cat]", "[cat], parallelism_limit: 12")
    file = tmp_path / "b.yaml"
    file.write_text(text)

    read_batch(file, config=Settings(max_parallel_cap=64, parallelism_limit_cap=16))
    assert len(faults_of(tmp_path, text)) == 2


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]", "plain", "tasks:\n", "null"])
def test_a_file_without_tasks_is_refused(tmp_path: Path, text: str) -> None:
    assert len(faults_of(tmp_path, text)) == 1


# ---------------------------------------------------------------- bytes


def test_a_nul_is_placed(tmp_path: Path) -> None:
    assert faults_of(tmp_path, b"name: x\nb: \0\n") == ["b.yaml:2:4: a control character, '\\x00'"]


def test_what_is_not_utf8_is_placed(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "né: x\nb: ".encode() + b"\xff\n") == [
        "b.yaml:2:4: this is not UTF-8 text"
    ]


def test_columns_count_characters(tmp_path: Path) -> None:
    text = f"{HEAD}tasks: [{{title: 漢字é, id: T1, agent: nobody}}]\n"

    assert faults_of(tmp_path, text) == [
        "b.yaml:4:37: tasks[0].agent: there is no agent 'nobody' (there are: coder)"
    ]


def test_many_unknown_names_are_told_in_time(tmp_path: Path) -> None:
    tasks = "".join(
        f"- {{id: task-{number}, agent: coder, prompt: p, depends_on: [tusk-{number}]}}\n"
        for number in range(5_000)
    )

    assert len(faults_of(tmp_path, f"{HEAD}tasks:\n{tasks}")) == 5_000


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    text = f"{HEAD}tasks:\n  - id: T1\n    agent: coder\n    prompt: |\n      one\n      two\n"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())

    assert read_batch(file).tasks[0].prompt == "one\ntwo\n"


def unreadable(path: Path) -> str:
    with pytest.raises(BadInput) as refused:
        read_batch(path)
    assert refused.value.exit_code == 2
    return refused.value.message


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert "not a regular file" in unreadable(tmp_path / "fifo")
    assert "not a regular file" in unreadable(tmp_path)
    assert "not a regular file" in unreadable(Path("/dev/zero"))
    assert "cannot be read" in unreadable(tmp_path / "nothing")
    assert "cannot be read" in unreadable(tmp_path / "loop")
    assert "cannot be read" in unreadable(tmp_path / "a\0b")


def test_a_file_over_5_mb_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_bytes(b"#" * (5 * 1024 * 1024 + 1))

    assert "over 5 MB" in unreadable(file)


def test_more_than_100000_tasks_are_refused(tmp_path: Path) -> None:
    tasks = "".join(f"- {{id: T{number}, agent: a}}\n" for number in range(100_001))

    found = faults_of(tmp_path, f"agents: {{a: {{kind: demo}}}}\ntasks:\n{tasks}")

    assert any("100,001 are too many: at most 100,000" in fault for fault in found)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 5_000,
        "a:\n" * 10 + "? " * 5_000,
        "a: " + "9" * 5_000,
    ],
    ids=["flow", "block", "mapping", "keys", "digits"],
)
def test_absurd_files_are_refused_in_time(tmp_path: Path, text: str) -> None:
    assert faults_of(tmp_path, text)
