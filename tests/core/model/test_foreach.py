"""An agent's answer as a value: what is foreign in it is inert, what cannot be kept is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.model.foreach import NoValue, foreach_from, value_of, write_words
from batchdeck.core.text import clean_text

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_is_read_as_it_is_but_for_what_could_move_a_terminal(value: Any) -> None:
    found = value_of("json", json.dumps(value))
    again = json.loads(json.dumps(found))
    assert again == found
    text = json.dumps(found, ensure_ascii=False)
    text.encode()
    for part in _texts(found):
        assert part == clean_text(part)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *_texts(inner))]
    return []


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        ("text", "as it is\n", "as it is\n"),
        ("number", " 4 \n", 4),
        ("number", "-2.5", -2.5),
        ("json", '{"a": ["\\u001b[31mred"]}', {"a": ["red"]}),
    ],
)
def test_an_answer_is_read_as_its_step_declares(kind: str, answer: str, value: Any) -> None:
    assert value_of(kind, answer) == value


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("number", "four", "its answer is not a number"),
        ("number", "true", "its answer is not a number"),
        ("number", "NaN", "NaN is no number"),
        ("number", "1e999", "too large"),
        ("number", "", "its answer is not a number"),
        ("json", "{", "its answer is not JSON"),
        ("json", "[" * 60 + "]" * 60, "more than 50 levels"),
        ("json", "[" * 100_000, "nested too deeply"),
        ("json", "9" * 5_000, "its answer is not JSON"),
    ],
)
def test_an_answer_that_is_not_that_is_refused_in_words(kind: str, answer: str, words: str) -> None:
    with pytest.raises(NoValue) as refused:
        value_of(kind, answer)
    assert words in str(refused.value)


def test_what_a_step_does_not_say_its_block_says_for_all() -> None:
    block = {
        "folder": "{{ item }}",
        "priority": 3,
        "steps": [
            {"id": "one", "agent": "a", "prompt": "p"},
            {"id": "two", "agent": "a", "prompt": "p", "folder": "x", "priority": 0},
        ],
    }
    one, two = foreach_from(block).steps
    assert (one.folder, one.priority, one.kind) == ("{{ item }}", 3, "text")
    assert (two.folder, two.priority) == ("x", 0)


def test_a_write_is_one_short_line() -> None:
    assert write_words("out", '"a\\nb"') == 'out ← "a\\nb"'
    assert len(write_words("out", "x" * 5_000)) == 200
