"""YAML is read without its traps, and every value's place is known."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.batchfile.document import Unquoted, _places, parse, plain_value

PLAIN = st.one_of(
    st.from_regex(r"[-+]?[0-9._:eExXobTZ-]{1,12}", fullmatch=True),
    st.sampled_from(
        "y n yes No ON off true False NULL ~ .inf -.INF .NaN << = 0o17 1_000 1:20".split()
    ),
    st.text("0123456789+-.:_eExXabTtyNno~=<", min_size=1, max_size=10),
)

_RESOLVER = yaml.SafeLoader("")


@given(PLAIN)
def test_what_yaml_1_1_takes_for_something_else_is_never_taken_for_text(text: str) -> None:
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))

    if tag != "tag:yaml.org,2002:str":
        assert not isinstance(plain_value(text), str)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("", None),
        ("T1", "T1"),
        ("1.2.3", "1.2.3"),
        ("10:90", "10:90"),
        ("2026-01-02 is a day", "2026-01-02 is a day"),
        ("017", Unquoted("017")),
        ("+5", Unquoted("+5")),
        ("1e3", Unquoted("1e3")),
        ("0x1f", Unquoted("0x1f")),
        ("9" * 19, Unquoted("9" * 19)),
    ],
)
def test_plain_scalars_mean_what_all_readers_agree_on(text: str, value: Any) -> None:
    assert plain_value(text) == value


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"), max_size=8
).filter(lambda text: not isinstance(plain_value(text), Unquoted))
"""What the YAML writer quotes where we want it quoted, without YAML 1.1's odd ends of lines."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_a_document_is_read_as_it_was_written_and_all_of_it_has_a_place(
    value: Any, flow: bool
) -> None:
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow)

    document = parse("f", text)

    assert document.faults == []
    assert document.values == value
    locs = list(ways(value, ()))
    places = _places(text, locs)
    assert set(places.values) == set(locs)
    assert set(places.keys) == {loc for loc in locs if loc and isinstance(loc[-1], str)}


def ways(value: Any, loc: tuple[str | int, ...]) -> Any:
    yield loc
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ways(inner, (*loc, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ways(inner, (*loc, index))
