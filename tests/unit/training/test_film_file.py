"""The files of a film: bounded, without pickles, the same bytes for the same frame, and damage is reported."""

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from clearhead.errors import RunError
from clearhead.training.film_file import (
    MAX_FRAMES,
    FilmFrame,
    FilmSentence,
    forget_frames,
    frame_bytes,
    frame_name,
    frame_paths,
    is_kept,
    read_frame,
)


def small_frame(step: int = 500) -> FilmFrame:
    attention = np.arange(2 * 3 * 5, dtype=np.float16).reshape(2, 3, 5) / 100
    sentence = FilmSentence(
        "uno\u2028dos", None, "one two", ("▁uno", "\u2028", "▁d", "os", "</s>"), ("▁one", "▁two", "</s>"),
        np.array([0.5, 0.25, 1.0], np.float16), attention.astype(np.float16),
    )  # fmt: skip
    return FilmFrame(step, (sentence, sentence))


def test_a_frame_is_read_as_it_was_written(tmp_path: Path) -> None:
    frame = small_frame()
    path = tmp_path / frame_name(frame.step)
    path.write_bytes(frame_bytes(frame))
    again = read_frame(path)
    assert again.step == 500
    for one, other in zip(frame.sentences, again.sentences, strict=True):
        assert (one.source, one.reference, one.translation) == (other.source, other.reference, other.translation)
        assert (one.source_tokens, one.target_tokens) == (other.source_tokens, other.target_tokens)
        assert np.array_equal(one.probabilities, other.probabilities)
        assert np.array_equal(one.attention, other.attention)
        assert other.attention.dtype == np.float16
    assert frame_bytes(again) == path.read_bytes()


def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "step-00000500.npz"
    content = frame_bytes(small_frame())
    with zipfile.ZipFile(BytesIO(content)) as archive:
        names = archive.namelist()
    assert all(name.endswith(".npy") for name in names)
    for damaged in (b"", b"half", content[:200], content[:-40], content.replace(b"attention.1", b"attention.9")):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"step-00000500.npz is not a frame of a film: .* Remove it\."):
            read_frame(path)
    for index in range(0, len(content), 7):
        path.write_bytes(content[:index] + bytes([content[index] ^ 85]) + content[index + 1 :])
        try:
            read_frame(path)
        except RunError:
            continue


def test_arrays_that_do_not_fit_and_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "step-00000500.npz"
    with np.load(BytesIO(frame_bytes(small_frame()))) as saved:
        arrays = dict(saved)
    wrong = {
        "attention.0": np.zeros((2, 3, 4), np.float16),
        "attention.1": np.zeros((2, 3, 5), np.float32),
        "probabilities.0": np.zeros(2, np.float16),
        "probabilities.1": np.array([{"a": 1}, None, 3], dtype=object),
        "texts": np.frombuffer(b'{"step": -1}', np.uint8),
    }
    for name, array in wrong.items():
        np.savez(path, **{**arrays, name: array})  # type: ignore[arg-type]
        with pytest.raises(RunError, match="is not a frame of a film"):
            read_frame(path)


def test_a_frame_that_would_unpack_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "step-00000500.npz"
    np.savez_compressed(path, texts=np.zeros(2**27, np.uint8))
    assert path.stat().st_size < 2**20
    with pytest.raises(RunError, match="it is too large"):
        read_frame(path)


def test_frames_are_listed_in_order_and_later_ones_are_forgotten(tmp_path: Path) -> None:
    assert frame_paths(tmp_path) == []
    forget_frames(tmp_path, 5)
    (tmp_path / "film").mkdir()
    names = ["step-00000010.npz", "step-00000002.npz", "step-123456789.npz", ".step-00000010.npz.part", "notes.txt"]
    for name in names:
        (tmp_path / "film" / name).write_bytes(b"")
    assert [path.name for path in frame_paths(tmp_path)] == [names[1], names[0], names[2]]
    forget_frames(tmp_path, 10)
    assert [path.name for path in frame_paths(tmp_path)] == [names[1], names[0]]
    assert (tmp_path / "film" / "notes.txt").exists()


@pytest.mark.parametrize("num_validations", [1, MAX_FRAMES, MAX_FRAMES + 1, 1601])
def test_a_film_has_a_bounded_number_of_frames(num_validations: int) -> None:
    steps = [50 * (number + 1) for number in range(num_validations)]
    frames = [step for step in steps if is_kept(step, 50, num_validations)]
    assert MAX_FRAMES / 2 <= len(frames) <= MAX_FRAMES or frames == steps
    assert is_kept(steps[-1] + 7, 50, num_validations), "a validation at the end of the run"
