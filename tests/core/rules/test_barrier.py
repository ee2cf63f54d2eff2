"""Writes are put together in item order, or refused as a whole."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchdeck.core.rules.barrier import (
    MERGEABLE,
    Conflict,
    Patch,
    check_patches,
    first,
    fold,
    reduce,
    visible,
)

REDUCERS = (None, *sorted(MERGEABLE))
PATHS = ("a", "a.b", "a.b.c", "b", "ab", "a.bc")


def value_for(reducer: str | None, number: int) -> Any:
    return {f"k{number % 3}": number} if reducer == "merge" else number


@st.composite
def patches(draw: st.DrawFn) -> list[Patch]:
    """Any patches at all: few items, few paths, so that they meet."""
    made = draw(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(PATHS)),
            max_size=8,
            unique_by=lambda one: one[:2],
        )
    )
    reducers = {path: draw(st.sampled_from(REDUCERS)) for path in PATHS}
    return [
        Patch(index, step, path, value_for(reducers[path], 10 * index + step), reducers[path])
        for index, step, path in made
    ]


def collide(one: Patch, other: Patch) -> bool:
    """Two items' patches that may not both be: the rule, said of a pair."""
    if one.item == other.item:
        return False
    if one.path == other.path:
        return one.reducer not in MERGEABLE
    longer, shorter = sorted((one.path, other.path), key=len, reverse=True)
    return longer.startswith(shorter + ".")


@given(patches())
def test_patches_are_refused_exactly_where_two_items_collide(found: list[Patch]) -> None:
    clash = any(collide(one, other) for one in found for other in found)
    if not clash:
        check_patches(found)
        return
    with pytest.raises(Conflict) as refused:
        check_patches(found)
    pairs = [(a, b) for a in found for b in found if collide(a, b)]
    assert any(
        f"items {min(a.item, b.item)} and {max(a.item, b.item)}" in str(refused.value)
        and repr(a.path) in str(refused.value)
        and repr(b.path) in str(refused.value)
        for a, b in pairs
    )


@given(patches(), st.randoms())
def test_the_verdict_does_not_depend_on_the_order_of_completion(
    found: list[Patch], dice: random.Random
) -> None:
    shuffled = list(found)
    dice.shuffle(shuffled)
    assert is_refused(found) == is_refused(shuffled)


def is_refused(found: list[Patch]) -> bool:
    try:
        check_patches(found)
    except Conflict:
        return True
    return False


@given(
    st.lists(st.integers(), min_size=2, max_size=8),
    st.sampled_from(sorted(MERGEABLE)),
    st.randoms(),
)
def test_values_do_not_depend_on_the_order_of_completion(
    numbers: list[int], reducer: str, dice: random.Random
) -> None:
    found = [Patch(n, 0, "a.b", value_for(reducer, v), reducer) for n, v in enumerate(numbers)]
    shuffled = list(found)
    dice.shuffle(shuffled)
    assert fold(shuffled) == fold(found)


@pytest.mark.parametrize(("one", "other"), [("a", "a.b"), ("a.b", "a"), ("a.b.c", "a")])
def test_a_parent_and_a_child_of_two_items_are_refused_both_ways(one: str, other: str) -> None:
    found = [Patch(0, 0, one, 1, "last"), Patch(3, 0, other, 2, "last")]
    with pytest.raises(Conflict, match="items 0 and 3 cannot both write 'a"):
        check_patches(found)


def test_a_name_that_only_begins_like_another_is_no_parent_of_it() -> None:
    check_patches([Patch(0, 0, "a", 1, "last"), Patch(1, 0, "ab", 2, "last")])
    check_patches([Patch(0, 0, "a.b", 1, "last"), Patch(1, 0, "a.bc", 2, "last")])


def test_what_one_item_writes_twice_is_its_own_business() -> None:
    found = [Patch(0, 0, "a", 1), Patch(0, 1, "a", 2)]
    check_patches(found)
    assert fold(found) == {"a": 2}


def test_two_reducers_of_one_path_are_refused() -> None:
    with pytest.raises(Conflict, match="two reducers"):
        check_patches([Patch(0, 0, "a", 1, "sum"), Patch(1, 0, "a", 1, "last")])


@given(st.lists(st.integers(), max_size=20))
def test_append_keeps_every_value_in_item_order(values: list[int]) -> None:
    found = [Patch(index, 0, "out.all", value, "append") for index, value in enumerate(values)]
    assert fold(reversed(found)) == ({"out": {"all": values}} if values else {})


@given(st.lists(st.integers(), min_size=1, max_size=20))
def test_sum_adds_up_and_last_keeps_the_last_item(values: list[int]) -> None:
    found = [Patch(index, 0, "n", value, "sum") for index, value in enumerate(values)]
    found += [Patch(index, 1, "l", value, "last") for index, value in enumerate(values)]
    assert fold(reversed(found)) == {"n": sum(values), "l": values[-1]}


@given(st.lists(st.dictionaries(st.sampled_from("xyz"), st.integers()), min_size=1, max_size=9))
def test_merge_lets_the_later_item_win_key_by_key(values: list[dict[str, int]]) -> None:
    found = [Patch(index, 0, "m", value, "merge") for index, value in enumerate(values)]
    wanted: dict[str, int] = {}
    for value in values:
        wanted.update(value)
    assert fold(reversed(found)) == {"m": wanted}
    assert [patch.value for patch in found] == values, "what was written stays as it was"


@given(st.lists(st.integers(), min_size=2, max_size=10), st.sampled_from(sorted(MERGEABLE)))
def test_reducers_take_what_comes_in_and_not_what_an_item_sees(
    numbers: list[int], reducer: str
) -> None:
    values = [value_for(reducer, number) for number in numbers]
    current = first(reducer, values[0])
    for value in values[1:]:
        current = reduce(reducer, current, value)
    found = [Patch(index, 0, "p", value, reducer) for index, value in enumerate(values)]
    assert fold(found) == {"p": current}
    alone = visible([found[-1]])
    assert alone == {"p": first(reducer, value_for(reducer, numbers[-1]))}


@pytest.mark.parametrize(
    ("reducer", "values", "words"),
    [
        ("sum", [1, "x"], "item 1, after item 0, writes 'p': sum takes numbers"),
        ("sum", [True], "item 0 writes 'p': sum takes numbers"),
        ("sum", [1e308, 1e308], "the sum is too large"),
        ("sum", [1e308, 10**400], "the sum is too large"),
        ("merge", [{}, 1], "item 1, after item 0, writes 'p': merge takes objects"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_item(
    reducer: str, values: list[Any], words: str
) -> None:
    found = [Patch(index, 0, "p", value, reducer) for index, value in enumerate(values)]
    with pytest.raises(Conflict) as refused:
        fold(found)
    assert words in str(refused.value)
