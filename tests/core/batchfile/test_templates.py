"""A template says only what is defined, and can do nothing else."""

from __future__ import annotations

import pytest

from batchdeck.core.batchfile.templates import TemplateFault, check, fill

NAMES = {"task": "T1", "item": {"path": "a/b.md"}}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain { and } and 100% #1", "plain { and } and 100% #1"),
        ("{{ task }}\n", "T1\n"),
        ("{{task}}{{ task }}", "T1T1"),
        ("{{ task | lower }}", "t1"),
        ("{{ item.path | dirname }}/{{ item.path | basename }}", "a/b.md"),
        ("{% for sign in task %}{{ sign }}-{% endfor %}", "T-1-"),
        ("{% raw %}{{ task }}{% endraw %}", "{{ task }}"),
        ("{# {{ nothing }} #}x", "x"),
        ("<b> & {{ task }}", "<b> & T1"),
    ],
)
def test_a_template_is_filled_in(source: str, text: str) -> None:
    check(source, NAMES)

    assert fill(source, NAMES) == text


@pytest.mark.parametrize(
    "source", ["{{ tsk }}", "{{ task + tsk }}", "{% if tsk %}x{% endif %}", "{{ task }}{{ tsk }}"]
)
def test_a_name_that_is_not_defined_is_found_before_anything_is_filled_in(source: str) -> None:
    with pytest.raises(TemplateFault, match="'tsk' is not defined here"):
        check(source, NAMES)


@pytest.mark.parametrize(
    "source", ["{{ task", "{% if %}", "{% nonsense %}", "{{ task | nofilter }}"]
)
def test_what_is_no_template_is_refused(source: str) -> None:
    with pytest.raises(TemplateFault):
        check(source, NAMES)


@pytest.mark.parametrize(
    "source",
    [
        "{{ task.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ task.nothing }}",
        "{{ item.nothing }}",
        "{{ 1 / 0 }}",
        "{% include 'x' %}",
        "{{ range(10 ** 9) }}",
    ],
)
def test_a_template_reaches_nothing_outside(source: str) -> None:
    with pytest.raises(TemplateFault):
        fill(source, NAMES)


def test_what_is_filled_in_is_not_a_template_again() -> None:
    assert fill("{{ task }}", {"task": "{{ item }}"}) == "{{ item }}"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ item.pth }}", "there is no 'pth' here (did you mean 'path'?)"),
        ("{{ item.path.nothing }}", "there is no 'nothing' in text"),
        ("{{ task | lowr }}", "there is no filter 'lowr' (did you mean 'lower'?) (line 1"),
        ("{% if task %}", "{% if %} is not closed: {% endif %} is missing (line 1"),
        ("x\n{% nonsense %}", "there is no tag 'nonsense' (line 2"),
        ("{{ task.__class__ }}", "'__class__' may not be used in a template"),
        ("{{ task", "no template: "),
    ],
)
def test_what_is_wrong_with_a_template_is_said_without_a_word_of_its_library(
    source: str, words: str
) -> None:
    with pytest.raises(TemplateFault) as refused:
        fill(source, NAMES)

    assert str(refused.value).startswith(words)


def test_another_file_is_refused_before_anything_is_filled_in() -> None:
    with pytest.raises(TemplateFault, match="no other file can be taken in"):
        check("{% include 'x' %}", NAMES)


@pytest.mark.parametrize("name", [name for name in dir(dict) if not name.startswith("_")])
def test_an_items_value_comes_before_a_method_of_that_name(name: str) -> None:
    source = f"{{{{ item.{name} }}}} {{{{ item['{name}'] }}}}"
    check(source, {"item"})
    assert fill(source, {"item": {name: "mine"}}) == "mine mine"


def test_a_method_that_is_named_instead_of_a_value_is_a_fault() -> None:
    with pytest.raises(TemplateFault, match="there is no 'values' here"):
        fill("{{ item.values }}", {"item": {"path": "a"}})
    assert fill("{{ item.values() | join }}", {"item": {"path": "a"}}) == "a"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 9 ** (9 ** 9) }}",
        "{{ 'x' * 10 ** 10 }}",
        "{{ 10 ** 10 * [task] }}",
        "{% for n in range(99999) %}{{ task * 1000 }}{% endfor %}",
    ],
)
def test_what_would_take_all_the_memory_or_time_is_refused(source: str) -> None:
    check(source, NAMES)
    with pytest.raises(TemplateFault, match=r"is too large|has more than"):
        fill(source, NAMES)
