"""Help of every command, and how little is loaded to show it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from batchdeck import __version__
from batchdeck.tui.cli.main import _COMMANDS
from tests.support.invoking import Invoke
from tests.support.workspace import Workspace

SUBCOMMANDS = [("task", name) for name in ("show", "retry", "status", "cancel")] + [
    ("ask", name) for name in ("list", "show", "answer", "allowed", "revoke")
]

LOADED = """
import json, sys
sys.argv = ["batchdeck", *sys.argv[1:]]
from batchdeck.__main__ import main
try:
    main()
except SystemExit as left:
    code = left.code
names = {name.partition(".")[0] for name in sys.modules}
print(json.dumps([code, sorted(names)]), file=sys.stderr)
"""


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help_that_says_what_it_does(command: str, invoke: Invoke) -> None:
    shown = invoke(command, "--help", code=0)
    assert shown.out.startswith(f"Usage: batchdeck {command}")
    assert "--deck" in shown.out or command in ("task", "ask")
    assert shown.err == ""


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_every_subcommand_has_help(command: tuple[str, str], invoke: Invoke) -> None:
    assert invoke(*command, "--help", code=0).out.startswith(
        f"Usage: batchdeck {' '.join(command)}"
    )


def test_help_lists_every_command_with_a_sentence(invoke: Invoke) -> None:
    shown = invoke("--help", code=0).out
    for command in _COMMANDS:
        (line,) = [line for line in shown.splitlines() if line.startswith(f"  {command} ")]
        assert len(line.split()) > 2, line


def test_the_version_is_the_packages(invoke: Invoke) -> None:
    assert __version__ in invoke("--version", code=0).out


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["status"], ["run", "--help"]])
def test_neither_the_screen_nor_a_client_is_loaded_for_a_small_command(
    arguments: list[str], space: Workspace
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=space.folder,
        env=space.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code == (2 if arguments == ["status"] else 0)
    assert not {"textual", "httpx", "h11", "jinja2"} & set(loaded)


def test_showing_a_deck_that_exists_loads_no_screen_either(space: Workspace) -> None:
    space.run("limit", "global=2", code=0)
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "status", "--json"],
        cwd=space.folder,
        env=space.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert not {"textual", "httpx", "jinja2"} & set(loaded)


@pytest.mark.parametrize(
    "arguments", [["statsu"], ["status", "--nope"], ["run"], ["limit"], ["send", "a"], ["--nope"]]
)
def test_a_wrong_command_line_is_exit_2_in_words(arguments: list[str], invoke: Invoke) -> None:
    refused = invoke(*arguments, code=2)
    assert refused.out == ""
    assert refused.err.strip()


def test_the_module_is_the_command(space: Workspace) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batchdeck", "--version"],
        cwd=space.folder,
        env=space.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert __version__ in done.stdout


def test_no_sentence_in_help_is_cut_and_the_exit_codes_stand_there(invoke: Invoke) -> None:
    shown = invoke("--help", code=0).out
    assert "..." not in shown.partition("\n")[2]
    assert "73  another supervisor holds the deck" in shown


def test_help_of_limit_names_every_kind_of_limit(invoke: Invoke) -> None:
    shown = invoke("limit", "--help", code=0).out
    for name in ("global", "batch:NAME", "status:READY", "agent:NAME", "items:NAME", "attention"):
        assert name in shown
    assert "limit agent:coder=3 global=8" in shown


@pytest.mark.parametrize(
    "command",
    ["export --format xml", "send coder", "limit", "stop", "status --nope", "queue list --nope"],
)
def test_a_command_that_was_typed_wrongly_is_answered_in_one_line(
    command: str, invoke: Invoke
) -> None:
    told = invoke(*command.split(), code=2).err
    assert len(told.splitlines()) == 1
    assert told.endswith(" --help.\n")
