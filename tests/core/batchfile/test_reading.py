"""A batch file becomes what the deck takes, with every default filled in."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import pytest

from batchdeck.core.batchfile.example import PRESETS, example
from batchdeck.core.batchfile.reading import read_batch
from batchdeck.core.batchfile.settings import Settings
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import AgentKind, PromptVia
from batchdeck.core.model.batch import Interrupt, OnError
from batchdeck.core.model.limit import Limit
from batchdeck.core.model.spec import BatchSpec
from batchdeck.core.model.task import Status

INTERFACE = """\
name: docs-migration
max_parallel: 4
max_parallel_by_status: {READY: 3, IN_PROGRESS: 2}
on_error: collect
collect_to: errors
interrupt: quiesce
reconciliation_interval_seconds: 15
max_attempts: 2
budget: {tokens: 2000000, money: 25, hard: true}

agents:
  coder:
    kind: command
    command: [./bin/agent, -p, --output-format, stream-json, --verbose]
    prompt_via: stdin
    output: claude-stream-json
    success_pattern: null
    failure_pattern: null
    parallelism_limit: 2
    serial: false
    folder: null
    timeout_seconds: null
    quiet_seconds: 300
    linger_seconds: 10
    account: team
    price: {input: 3.0, output: 15.0}
    env: {SOME_SETTING: value}
    pass_env: [ANTHROPIC_API_KEY]
  writer:
    kind: openai
    base_url: http://127.0.0.1:8000/v1
    model: some-model
    api_key_env: OPENAI_API_KEY
  reviewer:
    kind: acp
    command: [gemini, --acp]
  actor:
    kind: demo
    script: {seconds: [0.2, 3], fail: 0.05, ask: 0.02}

prepare:
  - [./setup, setup]

tasks:
  - id: T0
    agent: actor
    title: "Begin {{ task }} of {{ batch }}"
  - id: T1
    title: Move the guide
    agent: coder
    prompt: |
      {{ title }}: {{ task }} {# and a remark #}
      {% if batch %}in {{ batch | upper }}{% endif %}
    status: BACKLOG
    depends_on: [T0, foreach, T0]
    target: issue-12
    folder: docs
    priority: 3
    issue: owner/repo#12

foreach:
  items: [{path: a.md}, {path: b.md}]
  max_active: 4
  max_outstanding: 20
  folder: "{{ item.path | dirname }}"
  steps:
    - id: plan
      agent: writer
      prompt: "Plan the move of {{ item.path }}"
      keep: plan
    - id: apply
      agent: coder
      prompt: "Apply: {{ plan }}"
      writes: results
      as: text
      reducer: append
"""


def read(folder: Path, text: str, config: Settings | None = None) -> BatchSpec:
    file = folder / "docs.yaml"
    file.write_text(textwrap.dedent(text))
    return read_batch(file, config=config)


def test_everything_that_a_batch_file_may_hold_is_read(tmp_path: Path) -> None:
    spec = read(tmp_path, INTERFACE)

    assert (spec.name, spec.on_error, spec.collect_to) == (
        "docs-migration",
        OnError.COLLECT,
        "errors",
    )
    assert (spec.interrupt, spec.max_attempts) == (Interrupt.QUIESCE, 2)
    assert spec.reconciliation_interval_seconds == 15
    assert spec.budget == {"tokens": 2_000_000, "money": 25, "hard": True}
    assert spec.prepare == ((f"{tmp_path}/./setup", "setup"),)
    assert (spec.base, spec.file) == (str(tmp_path), f"{tmp_path}/docs.yaml")


def test_tasks_are_read_in_order_and_their_texts_filled_in(tmp_path: Path) -> None:
    first, second, *items = read(tmp_path, INTERFACE).tasks

    assert (first.title, first.prompt) == ("Begin T0 of docs-migration",) * 2
    assert (first.status, first.priority, first.depends_on) == (Status.READY, 0, ())
    assert second.prompt == "Move the guide: T1 \nin DOCS-MIGRATION\n"
    assert (second.status, second.depends_on) == (Status.BACKLOG, ("T0", "foreach"))
    assert (second.target, second.folder, second.priority, second.issue) == (
        "issue-12",
        f"{tmp_path}/docs",
        3,
        "owner/repo#12",
    )
    assert [(item.key, item.agent, item.prompt) for item in items] == [
        ("item-0", "writer", "Plan the move of a.md"),
        ("item-1", "writer", "Plan the move of b.md"),
    ]
    assert {item.folder for item in items} == {f"{tmp_path}/."}


def test_agents_of_every_kind_are_read(tmp_path: Path) -> None:
    agents = read(tmp_path, INTERFACE).agents

    coder = agents["coder"]
    assert coder.kind is AgentKind.COMMAND
    assert coder.command[:2] == (f"{tmp_path}/./bin/agent", "-p")
    assert (coder.prompt_via, coder.output) == (PromptVia.STDIN, "claude-stream-json")
    assert (coder.parallelism_limit, coder.account) == (2, "team")
    assert (coder.price_input, coder.price_output) == (3.0, 15.0)
    assert (dict(coder.env), coder.pass_env) == ({"SOME_SETTING": "value"}, ("ANTHROPIC_API_KEY",))
    assert agents["writer"].base_url == "http://127.0.0.1:8000/v1"
    assert agents["reviewer"].one_at_a_time
    assert agents["reviewer"].command == ("gemini", "--acp")
    assert dict(agents["actor"].script) == {"seconds": (0.2, 3), "fail": 0.05, "ask": 0.02}


def test_a_foreach_is_kept_as_plain_data(tmp_path: Path) -> None:
    foreach = read(tmp_path, INTERFACE).foreach

    assert foreach is not None
    assert foreach["items"] == [{"path": "a.md"}, {"path": "b.md"}]
    assert (foreach["max_active"], foreach["max_outstanding"]) == (4, 20)
    assert foreach["steps"][1]["as"] == "text"


def test_limits_are_named_and_know_where_they_come_from(tmp_path: Path) -> None:
    limits = {limit.name: limit for limit in read(tmp_path, INTERFACE).limits}

    assert {name: (limit.value, limit.origin) for name, limit in limits.items()} == {
        "batch:docs-migration": (4, "docs.yaml"),
        "status:docs-migration/READY": (3, "docs.yaml"),
        "status:docs-migration/IN_PROGRESS": (2, "docs.yaml"),
        "items:docs-migration": (4, "docs.yaml"),
        "items:docs-migration/outstanding": (20, "docs.yaml"),
    }


SMALL = "agents: {a: {kind: demo}}\ntasks: [{id: T1, agent: a, prompt: p}]\n"


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    spec = read(tmp_path, SMALL)

    assert (spec.name, spec.on_error, spec.interrupt) == ("docs", OnError.SKIP, Interrupt.CONTINUE)
    assert (spec.max_attempts, spec.reconciliation_interval_seconds) == (1, 30.0)
    assert (spec.limits, spec.foreach, spec.budget) == ((), None, None)
    assert spec.agents["a"].parallelism_limit == 1
    assert spec.tasks[0].title == "p"


def test_null_is_no_limit_of_its_own(tmp_path: Path) -> None:
    spec = read(
        tmp_path,
        "max_parallel: null\nmax_parallel_by_status: {READY: null, DONE: 0}\n"
        "agents: {a: {kind: demo, parallelism_limit: null}}\n"
        "tasks: [{id: T1, agent: a, prompt: p}]\n",
    )

    assert [(limit.name, limit.value) for limit in spec.limits] == [("status:docs/DONE", 0)]
    assert spec.agents["a"].parallelism_limit is None


def test_the_file_beats_the_configuration_number_by_number(tmp_path: Path) -> None:
    config = Settings(
        max_parallel=Limit("global", 7, origin="config.yaml"),
        by_status={
            Status.READY: Limit("READY", 5, origin="config.yaml"),
            Status.FAILED: Limit("FAILED", 1, origin="AGENTS.md"),
        },
        reconciliation_interval_seconds=99.0,
    )

    spec = read(tmp_path, f"max_parallel_by_status: {{READY: 2}}\n{SMALL}", config)

    assert {limit.name: (limit.value, limit.origin) for limit in spec.limits} == {
        "batch:docs": (7, "config.yaml"),
        "status:docs/READY": (2, "docs.yaml"),
        "status:docs/FAILED": (1, "AGENTS.md"),
    }
    assert spec.reconciliation_interval_seconds == 99.0


def test_agents_and_folders_of_the_configuration_may_be_named(tmp_path: Path) -> None:
    known = read(tmp_path, SMALL).agents["a"]
    config = Settings(agents={"known": known}, folders={"docs": "/srv/docs"})
    task = "{{id: {}, agent: known, prompt: p, folder: {}}}"
    tasks = f"tasks: [{task.format('T1', 'docs')}, {task.format('T2', 'doc')}]"

    spec = read(tmp_path, tasks, config)

    assert [task.folder for task in spec.tasks] == ["docs", f"{tmp_path}/doc"]
    assert dict(spec.folders) == {"docs": "/srv/docs"}
    assert dict(spec.agents) == {}


def test_agents_that_the_deck_knows_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text("tasks: [{id: T1, agent: mine, prompt: p}]")

    assert read_batch(file, agents=["mine"]).tasks[0].agent == "mine"


def test_a_home_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    spec = read(tmp_path, SMALL.replace("prompt: p", "prompt: p, folder: ~/x"))

    assert spec.tasks[0].folder == "/home/somebody/x"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_example_is_right_for_every_preset(tmp_path: Path, preset: str) -> None:
    spec = read(tmp_path, example(preset))

    assert [task.key for task in spec.tasks] == ["first", "second", "third"]
    assert spec.tasks[0].prompt == "This is first of example. Say what you see.\n"


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'claude'"):
        example("cluade")


def test_a_pattern_that_a_later_python_may_read_differently_is_no_fault(tmp_path: Path) -> None:
    spec = read(tmp_path, SMALL.replace("kind: demo", "kind: demo, success_pattern: '[[a]'"))

    assert spec.agents["a"].success_pattern == "[[a]"


def test_escapes_in_a_title_stay_outside(tmp_path: Path) -> None:
    text = SMALL.replace("prompt: p", 'title: "a\\e[31mb\\nc", prompt: p')

    assert read(tmp_path, text).tasks[0].title == "ab c"


def test_10000_tasks_are_read_in_time(tmp_path: Path) -> None:
    task = """\
      - id: T{number}
        title: Task number {number}
        agent: a
        prompt: |
          Move docs/{number}.md, {{{{ task }}}}!
          - **second** line
        depends_on: [{needs}]
        target: issue-{target}
        priority: 1
    """
    lines = [
        textwrap.dedent(task).format(
            number=number, needs=f"T{number - 1}" if number % 10 else "", target=number % 50
        )
        for number in range(10_000)
    ]
    file = tmp_path / "many.yaml"
    file.write_text("agents: {a: {kind: demo}}\ntasks:\n" + "".join(lines))

    begun = time.process_time()
    spec = read_batch(file)

    assert time.process_time() - begun < 3.0  # half of it on a quiet machine
    assert len(spec.tasks) == 10_000
