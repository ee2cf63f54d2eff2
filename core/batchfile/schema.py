"""The shape of a batch file and of a deck's configuration."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from batchdeck.core.agents.dialects.names import OutputKind
from batchdeck.core.agents.dialects.patterns import compiled
from batchdeck.core.batchfile.faults import nearest, shown, value_words
from batchdeck.core.errors import BadInput
from batchdeck.core.model.agent import AgentKind, PromptVia
from batchdeck.core.model.batch import INBOX, Interrupt, OnError
from batchdeck.core.model.issue import read_issue
from batchdeck.core.model.task import Status
from batchdeck.core.text import clean_line


def wrong(words: str) -> PydanticCustomError:
    """A fault in words of our own."""
    return PydanticCustomError("words", "{words}", {"words": words})


# ---------------------------------------------------------------- kinds of values


def _refuse_unseen(text: str) -> None:
    """What is shown must be what can be typed: no controls, and nothing that turns text around."""
    if clean_line(text, len(text) + 1) != text:
        raise wrong(f"{shown(text)!r} holds characters that cannot be seen")


def _task_id(text: str) -> str:
    _refuse_unseen(text)
    if not text or text.startswith("#") or "/" in text or any(sign.isspace() for sign in text):
        raise wrong(f"{shown(text)!r} is no id: expected text without '/', blanks and leading '#'")
    return text


def _name(text: str) -> str:
    _refuse_unseen(text)
    if not text or text.startswith("#") or any(sign in "/=,:" or sign.isspace() for sign in text):
        raise wrong(
            f"{shown(text)!r} is no name: expected text without '/', '=', ',', ':', blanks"
            " and leading '#'"
        )
    return text


def _batch_name(text: str) -> str:
    if text == INBOX:
        raise wrong(f"{INBOX!r} is the batch of tasks that were added without one: choose another")
    return _name(text)


def _limit(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        hint = "; no limit of its own is null" if number in ("none", "None") else ""
        raise wrong(
            f"{shown(number)} is no limit: expected a whole number, 0 (closed) or more, or null"
            + hint
        )
    return number


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except ValueError as error:
        raise wrong(f"{shown(text)!r} is no regular expression: {error}") from None
    return text


def _output_kind(text: str) -> str:
    if text not in set(OutputKind):
        raise wrong(f"{shown(text)!r} is no kind of output{nearest(text, OutputKind)}")
    return text


def _variable(text: str) -> str:
    if not text or "=" in text or "\0" in text:
        raise wrong(f"{shown(text)!r} is no name of a variable")
    if text.startswith("BATCHDECK_"):
        raise wrong(f"{shown(text)} is batchdeck's own")
    return text


def _value_of_variable(text: str) -> str:
    if "\0" in text:
        raise wrong("expected text without NUL: no variable can hold it")
    return text


def _command(items: list[str]) -> list[str]:
    if not items[0] or any("\0" in item for item in items):
        raise wrong("expected a program and its arguments, without NUL")
    return items


def _address(text: str) -> str:
    """An address with a host, perhaps a port, and without a name and password in it."""
    if not re.fullmatch(r"https?://[^\s/]+\S*", text):
        raise wrong(f"{shown(text)!r} is no address: expected http:// or https://")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise wrong(f"{shown(text)!r} is no address: {error}") from None
    if not host or port == 0:
        raise wrong(f"{shown(text)!r} is no address: it has no host, or no port, to connect to")
    if "@" in parts.netloc:
        # the text itself is not shown: it would be the secret that is not to be seen
        raise wrong(
            "an address with a name or password in it is shown to everybody; "
            "keys come from a variable (api_key_env, token_env)"
        )
    return text


def keeps_secrets(address: str) -> bool:
    """Whether a key or token may be sent there."""
    parts = urlsplit(address)
    is_here = parts.hostname in ("localhost", "::1") or _LOOPBACK.fullmatch(parts.hostname or "")
    return parts.scheme == "https" or bool(is_here)


_LOOPBACK = re.compile(r"127(?:\.\d+){3}")


def _safe_address(text: str) -> str:
    """An address that a token may be sent to."""
    if not text.startswith(("http://", "https://")) or not keeps_secrets(_address(text)):
        raise wrong(f"{shown(text)!r}: expected https:// (http:// only for this machine)")
    return text


def _issue(text: str) -> str:
    try:
        read_issue(text)
    except BadInput as error:
        raise wrong(error.message) from None
    return text


def _span(value: Any) -> Any:
    """Seconds as one number, or as the lowest and the highest."""
    ends = value if isinstance(value, list) else [value, value]
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) != 2 or len(ends) != 2 or not 0 <= numbers[0] <= numbers[1]:
        raise wrong("expected a number of seconds, or [lowest, highest]")
    return tuple(numbers) if isinstance(value, list) else value


ITEMS = "a list, {file: …} or {glob: …}"


def _items(value: Any) -> Any:
    if not isinstance(value, list | dict):
        raise wrong(f"expected {ITEMS}")
    return value


def _switch_or_word(value: Any) -> Any:
    if not isinstance(value, bool | str) or value == "":
        raise wrong(f"expected true, false or a word, not {value_words(value)}")
    return value


TaskId = Annotated[str, AfterValidator(_task_id)]
Name = Annotated[str, AfterValidator(_name)]
BatchName = Annotated[str, AfterValidator(_batch_name)]
SwitchOrWord = Annotated[Any, BeforeValidator(_switch_or_word)]
Filled = Annotated[str, Field(min_length=1)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Variable = Annotated[str, AfterValidator(_variable)]
ValueOfVariable = Annotated[str, AfterValidator(_value_of_variable)]
Address = Annotated[str, AfterValidator(_address)]
AgentName = Annotated[Filled, Field(description="the name of an agent")]
LimitNumber = Annotated[int, BeforeValidator(_limit)]
Seconds = Annotated[float, Field(ge=0, le=1e9)]
SomeSeconds = Annotated[float, Field(gt=0, le=1e9)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
Share = Annotated[float, Field(ge=0, le=1)]
StatusName = Annotated[Status, Field(strict=False)]
StatusLimits = dict[StatusName, LimitNumber | None]
Command = Annotated[list[str], Field(min_length=1), AfterValidator(_command)]


class Block(BaseModel):
    """Keys that nobody knows are refused, and nothing is turned into something else."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


# ---------------------------------------------------------------- agents


class Price(Block):
    input: Amount
    output: Amount


class Script(Block):
    seconds: Annotated[Any, BeforeValidator(_span)] = 0
    fail: Share = 0
    ask: Share = 0
    lines: Annotated[int, Field(ge=0, le=100_000)] | None = None
    seed: int | None = None


class AgentBlock(Block):
    kind: Annotated[AgentKind, Field(strict=False)]
    command: Command | None = None
    prompt_via: Annotated[PromptVia, Field(strict=False)] = PromptVia.STDIN
    output: Annotated[str, AfterValidator(_output_kind)] = "text"
    success_pattern: Pattern | None = None
    failure_pattern: Pattern | None = None
    parallelism_limit: LimitNumber | None = 1
    serial: bool = False
    folder: Filled | None = None
    timeout_seconds: SomeSeconds | None = None
    quiet_seconds: SomeSeconds = 300.0
    linger_seconds: Seconds = 10.0
    account: Filled | None = None
    price: Price | None = None
    env: dict[Variable, ValueOfVariable] | None = None
    pass_env: list[Variable] | None = None
    base_url: Address | None = None
    model: Filled | None = None
    api_key_env: Variable | None = None
    script: Script | None = None


# ---------------------------------------------------------------- the batch file


class TaskBlock(Block):
    id: TaskId
    agent: AgentName
    title: str | None = None
    prompt: str | None = None
    status: StatusName = Status.READY
    depends_on: list[str] | None = None
    target: Filled | None = None
    folder: Filled | None = None
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    issue: Annotated[str, AfterValidator(_issue)] | None = None


class StepBlock(Block):
    id: TaskId
    agent: AgentName
    prompt: Filled
    keep: Filled | None = None
    writes: Filled | None = None
    as_: Annotated[str | None, Field(alias="as", pattern="^(text|json|number)$")] = None
    reducer: Annotated[str | None, Field(pattern="^(append|merge|sum|last)$")] = None
    conversation: Filled | None = None
    title: str | None = None
    target: Filled | None = None
    folder: Filled | None = None
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] | None = None


class ForeachBlock(Block):
    items: Annotated[Any, BeforeValidator(_items), Field(description=ITEMS)]
    steps: Annotated[list[StepBlock], Field(min_length=1)]
    max_active: LimitNumber = 4
    max_outstanding: LimitNumber = 20
    title: str | None = None
    target: Filled | None = None
    folder: Filled | None = None
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] | None = None


class Budget(Block):
    tokens: Count | None = None
    money: Amount | None = None
    hard: bool = False


class BatchBlock(Block):
    name: BatchName | None = None
    max_parallel: LimitNumber | None = None
    max_parallel_by_status: StatusLimits | None = None
    on_error: Annotated[OnError, Field(strict=False)] = OnError.SKIP
    collect_to: Filled | None = None
    interrupt: Annotated[Interrupt | None, Field(strict=False)] = None
    reconciliation_interval_seconds: Seconds | None = None
    max_attempts: Count = 1
    budget: Budget | None = None
    agents: dict[Name, AgentBlock] | None = None
    prepare: list[Command] | None = None
    tasks: list[TaskBlock] | None = None
    foreach: ForeachBlock | None = None


# ---------------------------------------------------------------- configuration


class LimitsBlock(Block):
    max_parallel: LimitNumber | None = None
    max_parallel_by_status: StatusLimits | None = None


class Retention(Block):
    days: Amount | None = None
    runs: Count | None = None
    megabytes: Amount | None = None


class TrackerBlock(Block):
    kind: Annotated[str, Field(pattern="^(github|gitea)$")]
    base_url: Annotated[str, AfterValidator(_safe_address)] | None = None
    token_env: Variable | None = None


class Ui(Block):
    theme: Filled | None = None
    keymap: dict[Filled, str] | None = None
    notifications: SwitchOrWord | None = None
    mouse: bool | None = None
    animations: SwitchOrWord | None = None


class ConfigBlock(Block):
    batch: LimitsBlock | None = None
    agents: dict[Name, AgentBlock] | None = None
    folders: dict[Name, Filled] | None = None
    reconciliation_interval_seconds: Seconds | None = None
    max_parallel_cap: Count | None = None
    parallelism_limit_cap: Count | None = None
    attention_limit: LimitNumber | None = None
    synchronous: Annotated[str | None, Field(pattern="^(full|normal)$")] = None
    retention: Retention | None = None
    tracker: TrackerBlock | None = None
    ui: Ui | None = None
