"""Files of a model: tensors in and out, the two files found in a folder, and everything else rejected."""

import json
from pathlib import Path

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats.files import (
    CONFIG,
    MARIAN_ADVICE,
    PICKLE_ADVICE,
    WEIGHTS,
    find_files,
    read_tensors,
    refuse_other_formats,
    tensor_writer,
)

ADVICE = "Convert it."


def test_tensors_come_back_even_if_they_were_views(tmp_path: Path) -> None:
    table = torch.arange(15.0).reshape(3, 5)
    tensor_writer({"turned": table.T, "whole": table})(tmp_path / WEIGHTS)
    tensors, notes = read_tensors(tmp_path / WEIGHTS)
    assert torch.equal(tensors["turned"], table.T)
    assert torch.equal(tensors["whole"], table)
    assert notes == {"format": "pt"}


def test_equal_tensors_are_written_as_equal_bytes(tmp_path: Path) -> None:
    tensors = {name: torch.arange(7.0) for name in "abcdefgh"}
    for number in range(8):
        ordered = dict(sorted(tensors.items(), key=lambda entry: hash((entry[0], number))))
        tensor_writer(ordered)(tmp_path / str(number))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_both_files_are_found(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text("{}")
    tensor_writer({"x": torch.ones(2)})(tmp_path / WEIGHTS)
    assert find_files(tmp_path, ADVICE) == (tmp_path / CONFIG, tmp_path / WEIGHTS)


def test_the_content_of_a_wrong_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no config\.json\. It is empty\."):
        find_files(tmp_path, ADVICE)
    for number in range(7):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(CheckpointError, match=r"It contains 0\.txt, 1\.txt, 2\.txt, 3\.txt, 4\.txt …\."):
        find_files(tmp_path, ADVICE)
    with pytest.raises(CheckpointError, match="is a file. Give the folder"):
        find_files(tmp_path / "0.txt", ADVICE)
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin is a pickle.* Convert it\."):
        find_files(tmp_path, ADVICE)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PK\x03\x04 an archive", "is a pickle"),
        (b"\x80\x04\x95 a pickle", "is a pickle"),
        (b"version https://git-lfs", "is a Git LFS pointer"),
    ],
)
def test_other_formats_are_recognised_by_their_first_bytes(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / WEIGHTS).write_bytes(content)
    with pytest.raises(CheckpointError, match=sentence):
        refuse_other_formats(tmp_path / WEIGHTS, ADVICE)


def test_a_header_length_that_looks_like_a_pickle_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_bytes(b"\x80\x04\0\0\0\0\0\0{")
    refuse_other_formats(tmp_path / WEIGHTS, ADVICE)


def test_a_header_that_would_take_a_minute_to_read_is_refused(tmp_path: Path) -> None:
    entries = {f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(3)}
    header = json.dumps(entries).encode().ljust(8 * 2**20 + 1)
    (tmp_path / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(
        CheckpointError, match=r"damaged \(its header has 8,388,609 bytes, but the limit is 8,388,608\)"
    ):
        read_tensors(tmp_path / WEIGHTS)


def test_a_truncated_file_is_reported_with_its_size(tmp_path: Path) -> None:
    tensor_writer({"x": torch.ones(1000)})(tmp_path / WEIGHTS)
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:1234])
    with pytest.raises(CheckpointError, match=r"is damaged .* it has 1,234 bytes"):
        read_tensors(tmp_path / WEIGHTS)


@pytest.mark.parametrize("advice", [PICKLE_ADVICE, MARIAN_ADVICE])
def test_who_converts_a_pickle_is_told_the_version_that_reads_it_safely(advice: str) -> None:
    assert advice.startswith("If you trust it, convert it once with PyTorch 2.10 or newer")
    assert "(in older versions such a file can run code even with weights_only=True)" in advice
    assert ", in an environment without anything of value: " in advice


ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]), ids=str
)
def test_no_page_recommends_weights_only_without_its_version(path: Path) -> None:
    paragraphs = path.read_text(encoding="utf-8").split("\n\n")
    assert all("2.10" in paragraph for paragraph in paragraphs if "weights_only" in paragraph)
