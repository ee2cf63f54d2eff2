"""The commented batch file that `init` writes."""

from __future__ import annotations

from batchdeck.core.batchfile.faults import nearest
from batchdeck.core.errors import BadInput

DEFAULT_PRESET = "shell"

_AGENTS = {
    "shell": """\
    kind: command
    # Any program will do. This one needs nothing: it shows the prompt it was given.
    command: [sh, -c, 'echo "I was asked:"; cat']
    prompt_via: stdin             # stdin | file | arg (others can then read it in the process list)
    output: text                  # success is exit code 0
""",
    "claude": """\
    kind: command
    command: [claude, -p, --output-format, stream-json, --verbose, --resume, "{session}"]
    output: claude-stream-json
    pass_env: [ANTHROPIC_API_KEY] # names only; nothing else of your environment is passed
""",
    "codex": """\
    kind: command
    command: [codex, exec, --json, --skip-git-repo-check, "-"]
    output: codex-json
    pass_env: [OPENAI_API_KEY]    # names only; nothing else of your environment is passed
""",
    "gemini": """\
    kind: command
    command: [gemini, -p, "", --output-format, stream-json, --skip-trust]
    output: gemini-stream-json
    pass_env: [GEMINI_API_KEY]    # names only; nothing else of your environment is passed
""",
    "opencode": """\
    kind: command
    command: [opencode, run, --format, json, --session, "{session}"]
    output: opencode-json
""",
    "acp": """\
    kind: acp                     # speaks the Agent Client Protocol; pip install 'batchdeck[acp]'
    # what it wants to do and may not do by itself is asked: ! in the dashboard, batchdeck ask list
    command: [claude-code-acp]    # or [gemini, --acp] | [opencode, acp] | [codex-acp] …
    pass_env: [ANTHROPIC_API_KEY] # names only; nothing else of your environment is passed
""",
    "llm": """\
    kind: command
    command: [llm, -m, gpt-4o-mini]
    output: text
    pass_env: [OPENAI_API_KEY]    # names only; nothing else of your environment is passed
""",
}

PRESETS = tuple(_AGENTS)

_HEAD = """\
# A batch for batchdeck.
#   batchdeck check FILE    is it right?
#   batchdeck plan FILE     what would start first, and under which limits
#   batchdeck run FILE      the dashboard; with --headless, without one
#
# Running a file of the same name again takes the same batch up where it was.
name: example

max_parallel: 2                   # turns of this batch at once; 0 is closed
# max_parallel_by_status: {READY: 2, IN_PROGRESS: 1}
on_error: skip                    # fail | skip | collect
max_attempts: 1

agents:
  worker:
"""

_LIMIT = """\
    parallelism_limit: 2          # turns of this agent at once
    # folder: .                   # a working folder of its own; then one turn at a time
"""
_ONE_AT_A_TIME = """\
    # folder: .                   # a working folder of its own; it runs one turn at a time anyway
"""

_TAIL = """\
    # timeout_seconds: 600

# prepare:                        # once, before the first turn in a folder
#   - [make, setup]

tasks:
  - id: first
    title: Look around
    agent: worker
    prompt: |
      This is {{ task }} of {{ batch }}. Say what you see.

  - id: second
    title: Look again
    agent: worker
    depends_on: [first]
    prompt: |
      Say what has changed since the first look.

  - id: third
    title: Something else, at the same time
    agent: worker
    prompt: Say hello.
    # folder: docs                # where it works; without one, a fresh and empty scratch folder
    # target: issue-12            # turns of one target run strictly in this order
    # priority: 0
"""


def example(preset: str = DEFAULT_PRESET) -> str:
    """The text of an example, whose agent is one of `PRESETS`.

    Raises:
        BadInput: there is no such preset.
    """
    if preset not in _AGENTS:
        raise BadInput(f"There is no preset {preset!r}{nearest(preset, PRESETS)}.")
    limit = _ONE_AT_A_TIME if preset == "acp" else _LIMIT
    return _HEAD + _AGENTS[preset] + limit + _TAIL
