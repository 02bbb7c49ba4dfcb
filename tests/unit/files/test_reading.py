"""Tests of reading files as bytes, and of the hint for a file that does not exist."""

from pathlib import Path

import pytest

from clearhead.errors import CheckpointError, ProblemError
from clearhead.files.reading import MAX_BYTES, missing_file_hint, read_file
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


def test_a_device_in_a_folder_is_refused_instead_of_read_for_ever(tmp_path: Path) -> None:
    (tmp_path / "tokeniser.json").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match=r"tokeniser\.json is a device, not a file\. Give a file\.$"):
        read_file(tmp_path / "tokeniser.json")


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(MAX_BYTES + 2**20)  # without blocks on the disk
    with pytest.raises(CheckpointError, match=r"config\.json has 65 MiB; the limit is 64 MiB\.$"):
        read_file(tmp_path / "config.json")
