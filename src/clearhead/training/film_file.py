"""The frames of a film: what a model made of the pinned sentences at one validation, one NPZ file for each.

RUN/film/step-00000500.npz contains the texts as JSON, and float16 arrays. It is bounded: see the limits below. Nothing
in it is a pickle, and torch is not needed to read it.
"""

import json
import re
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from clearhead.errors import RunError, printable
from clearhead.files.bounded import UnreadableFileError, read_bounded

FILM = "film"  # the folder in a run
MAX_SENTENCES = 16
MAX_CHARACTERS = 500  # of a pinned sentence
MAX_TOKENS = 64  # of a sentence and of its translation whose attention is kept
MAX_FRAMES = 200
_MAX_BYTES = 2**26  # of a frame, in all its arrays
_VERSION = 1
_NAME = re.compile(r"step-(\d{8,10})\.npz")

Half = NDArray[np.float16]


@dataclass(frozen=True, eq=False)
class FilmSentence:
    """A pinned sentence at one validation: its translation, the probability of each token, and the cross-attention.

    `attention` (layers, T, S) is the mean over the heads of each layer. Row t predicts token t; its input is token
    t - 1.
    """

    source: str
    reference: str | None
    translation: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    probabilities: Half  # (T,)
    attention: Half  # (layers, T, S)


@dataclass(frozen=True, eq=False)
class FilmFrame:
    """All pinned sentences after one update."""

    step: int
    sentences: tuple[FilmSentence, ...]


def frame_name(step: int) -> str:
    """Return the name of the file of a frame."""
    return f"step-{step:08d}.npz"


def frame_paths(run: Path) -> list[Path]:
    """Return the frames of a run, in the order of their updates."""
    folder = run / FILM
    places = list(folder.iterdir()) if folder.is_dir() else []
    return sorted((place for place in places if _NAME.fullmatch(place.name)), key=_step_of)


def forget_frames(run: Path, step: int) -> None:
    """Remove the frames after an update, which will be computed again."""
    for path in frame_paths(run):
        if _step_of(path) > step:
            path.unlink()


def is_kept(step: int, every: int, num_validations: int) -> bool:
    """Whether a validation becomes a frame: of more than MAX_FRAMES, every second one does, or every fourth, ….

    This depends on no earlier frame, so that a resumed run has the same film. Validations between the regular ones,
    such as the last, always count.
    """
    stride = 1
    while num_validations > stride * MAX_FRAMES:
        stride *= 2
    return step % every != 0 or step % (every * stride) == 0


def frame_bytes(frame: FilmFrame) -> bytes:
    """Return a frame as an NPZ file; the same frame gives the same bytes."""
    texts = {
        "version": _VERSION,
        "step": frame.step,
        "sentences": [
            {
                "source": sentence.source,
                "reference": sentence.reference,
                "translation": sentence.translation,
                "source_tokens": sentence.source_tokens,
                "target_tokens": sentence.target_tokens,
            }
            for sentence in frame.sentences
        ],
    }
    arrays: dict[str, NDArray[Any]] = {"texts": np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)}
    for index, sentence in enumerate(frame.sentences):
        arrays[f"probabilities.{index}"] = sentence.probabilities.astype(np.float16)
        arrays[f"attention.{index}"] = sentence.attention.astype(np.float16)
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def read_frame(path: Path) -> FilmFrame:
    """Return the frame in a file, or raise RunError if it is damaged."""
    try:
        return _parsed(read_bounded(path, _MAX_BYTES))
    except UnreadableFileError as reason:
        raise RunError(f"{printable(str(path))} {reason}.") from None
    except OSError as wrong:
        raise RunError(f"{printable(str(path))} cannot be read: {wrong.strerror}.") from None
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as wrong:
        fault = "its content is incomplete" if isinstance(wrong, KeyError | ValidationError) else str(wrong)
        raise RunError(f"{printable(str(path))} is not a frame of a film: {printable(fault)}. Remove it.") from None


def _parsed(content: bytes) -> FilmFrame:
    with zipfile.ZipFile(BytesIO(content)) as archive:  # before anything is unpacked
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
            raise ValueError("it is too large")
        texts = _SavedFrame.model_validate_json(bytes(_array(archive, "texts")))
        sentences = tuple(
            _sentence(saved, _array(archive, f"probabilities.{index}"), _array(archive, f"attention.{index}"))
            for index, saved in enumerate(texts.sentences)
        )
    return FilmFrame(texts.step, sentences)


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    """Return an array of an NPZ file, never a pickled object."""
    with archive.open(f"{name}.npy") as file:
        array: np.ndarray[Any, Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _sentence(saved: "_SavedSentence", probabilities: NDArray[Any], attention: NDArray[Any]) -> FilmSentence:
    num_source, num_target = len(saved.source_tokens), len(saved.target_tokens)
    fits = (
        probabilities.shape == (num_target,)
        and attention.shape[1:] == (num_target, num_source)
        and probabilities.dtype == attention.dtype == np.float16
    )
    if not fits:
        raise ValueError("its arrays do not fit its tokens")
    return FilmSentence(
        saved.source,
        saved.reference,
        saved.translation,
        saved.source_tokens,
        saved.target_tokens,
        probabilities,
        attention,
    )


def _step_of(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return int(match[1])


class _SavedSentence(BaseModel):
    """The texts of a sentence in a frame."""

    model_config = ConfigDict(strict=True)
    source: str
    reference: str | None
    translation: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]


class _SavedFrame(BaseModel):
    """The texts of a frame."""

    model_config = ConfigDict(strict=True)
    version: int
    step: NonNegativeInt
    sentences: tuple[_SavedSentence, ...]
