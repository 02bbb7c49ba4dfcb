"""Tests of reading files as bytes, and of the hint for a file that does not exist."""

from pathlib import Path

import pytest

from clearhead.errors import ProblemError
from clearhead.files.reading import missing_file_hint
from clearhead.worksheet import load_problem


def test_a_missing_file_gets_the_closest_name_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.en").touch()
    assert missing_file_hint(tmp_path / "trian.en") == " Did you mean 'train.en'?"
    assert missing_file_hint(tmp_path / "zzz") == ""


def test_a_missing_folder_is_named_too(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    assert missing_file_hint(folder / "train.en") == f" Its folder, {folder}, does not exist either."


def test_control_characters_of_a_name_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "train\x1b.en").touch()
    assert missing_file_hint(tmp_path / "train.en") == r" Did you mean 'train\x1b.en'?"


def test_a_missing_problem_gets_the_full_name_of_the_closest_file(tmp_path: Path) -> None:
    (tmp_path / "homework.yaml").touch()
    with pytest.raises(ProblemError, match=r"Did you mean 'homework\.yaml'\?"):
        load_problem(tmp_path / "homewrk.yml")
