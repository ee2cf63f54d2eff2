"""Foreign text is inert once it is inside."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.text import LineSplitter, clean_line, clean_text, decode, one_line

ANYTHING = st.text(
    alphabet=st.one_of(
        st.characters(codec=None, exclude_categories=()),
        st.sampled_from("\x1b\x9b\x9d\x07\x9c[];0m\r\n\t\u202e\u2028\ud800\\"),
    )
)
ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


@given(ANYTHING)
def test_a_cleaned_line_holds_nothing_that_a_terminal_acts_on(text: str) -> None:
    line = clean_line(text)

    assert not ACTIVE.search(line)
    assert "\n" not in line
    assert "\t" not in line
    line.encode()


@given(ANYTHING)
def test_cleaned_text_holds_nothing_but_newlines_and_tabs(text: str) -> None:
    assert not ACTIVE.search(clean_text(text))


@given(ANYTHING, st.integers(min_value=0, max_value=40))
def test_cleaning_twice_changes_nothing(text: str, limit: int) -> None:
    assert clean_line(clean_line(text, limit), limit) == clean_line(text, limit)
    assert clean_text(clean_text(text)) == clean_text(text)
    assert one_line(one_line(text, limit), limit) == one_line(text, limit)


@given(ANYTHING, st.integers(min_value=0, max_value=40))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    assert len(clean_line(text, limit)) <= limit
    assert len(one_line(text, limit)) <= limit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=", ""),
        ("\x9b2Jx", "x"),
        ("\x1bcreset", "reset"),
        ("\x1bP1;2|dcs\x1b\\x", "x"),
        (" 10%\r 50%\r100%", "100%"),
        ("100%\r\n", "100%"),
        ("a\tb", "a       b"),
        ("a\u202eb", "ab"),
        ("[/] [@click=app.quit]x[/]", "[/] [@click=app.quit]x[/]"),
        ("né 漢字 👩‍🚀", "né 漢字 👩‍🚀"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_line_is_shown_as_a_terminal_would_leave_it(text: str, shown: str) -> None:
    assert clean_line(text) == shown


def test_an_unfinished_sequence_hides_no_more_than_its_own_line() -> None:
    assert clean_text("a\x1b]0;x\nb\r\nc\td") == "a\nb\nc\td"


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert decode(b"a\xffb") == "a\ufffdb"


def test_a_line_over_the_limit_ends_in_an_ellipsis() -> None:
    assert clean_line("abcdef", 4) == "abc…"


@given(st.lists(st.binary(max_size=60)), st.integers(min_value=1, max_value=16))
def test_lines_do_not_depend_on_how_the_stream_was_cut(chunks: list[bytes], cap: int) -> None:
    splitter = LineSplitter(cap)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.flush()

    expected = b"".join(chunks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert lines == [line[:cap] for line in expected]
    assert splitter.dropped == sum(max(0, len(line) - cap) for line in expected)


def test_only_the_newline_byte_ends_a_line() -> None:
    splitter = LineSplitter()
    assert splitter.feed("a\u2028b\x0bc\x85d\x1ce\n".encode()) == [
        "a\u2028b\x0bc\x85d\x1ce".encode()
    ]
