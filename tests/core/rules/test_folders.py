"""Two turns never share a folder, however its path is spelled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from batchdeck.core.errors import BadInput
from batchdeck.core.executors.places import device_and_inode, identify
from batchdeck.core.rules.folders import overlaps


def meet(one: Path | str, other: Path | str) -> bool:
    forth = overlaps(identify(one), identify(other))
    assert forth == overlaps(identify(other), identify(one))
    return forth


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_and_what_lies_in_it_overlap(repo: Path, exists: bool) -> None:
    if exists:
        (repo / "a" / "b").mkdir(parents=True)

    assert meet(repo, repo)
    assert meet(repo, repo / "a")
    assert meet(repo, repo / "a" / "b")
    assert meet(repo / "a", repo / "a" / "b")
    assert meet("/", repo / "a" / "b")


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("twin", ["repo2", "rep", "repo%", "rep_", "Repo ", "*"])
def test_a_similar_name_is_another_place(repo: Path, twin: str, exists: bool) -> None:
    other = repo.parent / twin
    if exists:
        other.mkdir()

    assert not meet(repo, other)
    assert not meet(repo / "a", other / "a")
    assert not meet(repo / "a", repo / "b")


def test_percent_and_underscore_are_ordinary_characters(tmp_path: Path) -> None:
    assert not meet(tmp_path / "a%", tmp_path / "abc" / "d")
    assert not meet(tmp_path / "a_", tmp_path / "ab")


def test_a_symlink_makes_no_second_place(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)

    assert identify(tmp_path / "link").key == identify(repo).key
    assert meet(tmp_path / "link" / "new", repo)
    assert meet(tmp_path / "link" / "new", repo / "new" / "er")


def test_a_symlink_to_nowhere_means_the_place_it_names(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo / "later")

    assert meet(tmp_path / "link" / "x", repo / "later")


def test_dots_and_trailing_slashes_make_no_second_place(repo: Path) -> None:
    assert identify(f"{repo}/../repo/./").key == identify(repo).key
    assert identify(f"{repo}/new/").key == identify(repo / "new").key
    assert identify(f"{repo}/new/../new").key == identify(repo / "new").key


def test_a_relative_path_starts_here(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)

    assert identify("a").key == identify(repo / "a").key
    assert identify("a").path == str(repo / "a")


def test_a_name_that_is_not_utf8_has_a_key_that_can_be_stored(repo: Path) -> None:
    odd = os.fsdecode(os.fsencode(repo) + b"/\xff")
    folder = identify(odd)

    folder.key.encode()
    assert folder.key != identify(repo / "\\xff").key
    assert meet(odd, repo)


def test_a_path_through_a_file_lies_below_the_file(repo: Path) -> None:
    (repo / "file").touch()

    assert meet(repo / "file" / "x", repo)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused_in_words(path: str) -> None:
    with pytest.raises(BadInput, match="is not a path"):
        identify(path)


def test_a_key_of_an_existing_folder_gives_its_device_and_inode_back(repo: Path) -> None:
    status = repo.stat()

    assert device_and_inode(identify(repo).key) == (status.st_dev, status.st_ino)
    assert device_and_inode(identify(repo / "new").key) is None
