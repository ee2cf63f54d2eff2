"""What only an agent's process may know is hidden, also where it is cut in two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import EnumType
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.agents.adapter import Outcome
from batchdeck.core.model.agent import Agent, AgentKind
from batchdeck.core.model.permission import Permission
from batchdeck.core.port import OutputPage
from batchdeck.core.secrets import HIDDEN, Secrets, masked_page, secrets_of, without_secrets

CANARY = 'canary-"8472\\x'
PLAIN = "sk-plain-12345"


def pages(content: bytes, size: int, secrets: Secrets, *, ended: bool = True) -> Iterator[bytes]:
    """An output as it is read, so many bytes at a time."""

    def read(start: int, limit: int) -> OutputPage:
        begin = max(0, len(content) + start) if start < 0 else start
        return OutputPage(begin, content[begin : begin + limit], len(content), ended)

    position = 0
    while (page := masked_page(read, position, size, secrets)).data:
        yield page.data
        position = page.end


@given(st.integers(1, 40), st.text(alphabet="can ry", max_size=30), st.integers(0, 3))
def test_no_piece_shows_any_of_it_and_nothing_else_changes(
    size: int, around: str, times: int
) -> None:
    secrets = Secrets([CANARY])
    content = (around + CANARY * times + around).encode()
    masked = around + "*" * len(CANARY) * times + around
    assert b"".join(pages(content, size, secrets)) == masked.encode()


def test_as_it_stands_in_json_it_is_hidden_too() -> None:
    content = json.dumps({"text": f"the key is {CANARY}"}).encode()
    (page,) = pages(content, 1_000, Secrets([CANARY]))
    assert json.loads(page)["text"].startswith("the key is ***")
    assert "8472" not in page.decode()


def test_the_beginning_of_one_is_kept_back_while_the_output_still_grows() -> None:
    secrets = Secrets([CANARY])
    content = b"so far " + CANARY.encode()[:9]
    assert b"".join(pages(content, 100, secrets, ended=False)) == b"so far "
    assert b"".join(pages(content, 3, secrets, ended=False)) == b"so far "
    assert b"".join(pages(content, 100, secrets)) == content


def test_only_what_definitions_name_is_a_secret_and_nothing_short() -> None:
    agents = [
        Agent("a", AgentKind.COMMAND, pass_env=("KEY", "FLAG", "UNSET")),
        Agent("b", AgentKind.OPENAI, api_key_env="TOKEN"),
        None,
    ]
    environment = {"KEY": "long-enough-1", "FLAG": "1", "TOKEN": "long-enough-2"}
    secrets = secrets_of(agents, {**environment, "LANG": "C.UTF-8x"})
    told = "1 long-enough-1 long-enough-2 C.UTF-8x"
    assert secrets.hide(told) == "1 [hidden] [hidden] C.UTF-8x"
    assert not secrets_of([], environment)


def filled(kind: Any, text: str) -> Any:
    """A value of a kind with a text wherever it can have one."""
    if kind is str:
        return text
    if isinstance(kind, UnionType):
        return filled(next(one for one in get_args(kind) if one is not NoneType), text)
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        return (filled(get_args(kind)[0], text),)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: filled(hints[field.name], text) for field in fields(kind)})
    if isinstance(kind, EnumType):
        return next(iter(kind))
    return None


@pytest.mark.parametrize(("kind", "texts"), [(Outcome, 11), (Permission, 4)])
def test_no_text_of_what_comes_from_an_agent_repeats_a_secret(kind: Any, texts: int) -> None:
    told = filled(kind, f"the key is {PLAIN}, yes")
    assert repr(told).count(PLAIN) >= texts

    hidden = without_secrets(told, Secrets([PLAIN]))

    assert PLAIN not in repr(hidden)
    assert hidden == filled(kind, f"the key is {HIDDEN}, yes")
