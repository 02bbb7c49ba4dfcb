"""Read the film of a run: the frames that belong together, with the metrics of their validations.

It does not import torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import RunError, printable
from clearhead.explain.curves import CurvePoint, read_runs
from clearhead.training.film_file import FilmFrame, FilmSentence, frame_paths, read_frame

METRICS = ("loss", "valid/loss", "valid/bleu")  # the curves beside a film


@dataclass(frozen=True, eq=False)
class RunFilm:
    """The frames of a run in the order of their updates, and its curves."""

    name: str
    frames: tuple[FilmFrame, ...]
    curves: Mapping[str, tuple[CurvePoint, ...]]
    num_skipped: int  # frames with other sentences than the last one

    @property
    def sentences(self) -> tuple[FilmSentence, ...]:
        """The pinned sentences, as they are in the last frame."""
        return self.frames[-1].sentences

    @property
    def num_layers(self) -> int:
        """The number of layers of the decoder."""
        return max(len(sentence.attention) for sentence in self.sentences)

    def first_match(self, index: int) -> int | None:
        """Return the first frame in which a sentence is translated as its reference; None if there is none."""
        reference = self.sentences[index].reference
        if reference is None:
            return None
        translations = (frame.sentences[index].translation.strip() for frame in self.frames)
        return next((number for number, text in enumerate(translations) if text == reference.strip()), None)


def read_film(run: str | Path) -> RunFilm:
    """Return the film of a run, or raise RunError if it has none."""
    folder = Path(run).expanduser()
    paths = frame_paths(folder)
    if not paths:
        raise RunError(_no_film(folder))
    frames = [read_frame(path) for path in paths]
    if not frames[-1].sentences:
        raise RunError(f"{printable(str(paths[-1]))} contains no sentences. Remove it.")
    pinned = _pinned(frames[-1])
    together = [frame for frame in frames if _pinned(frame) == pinned]
    (curves,) = read_runs([folder])
    shown_curves = {metric: curves.curves[metric] for metric in METRICS if metric in curves.curves}
    return RunFilm(curves.name, tuple(together), shown_curves, len(frames) - len(together))


def _pinned(frame: FilmFrame) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(sentence.source, sentence.reference, sentence.source_tokens) for sentence in frame.sentences]


def _no_film(folder: Path) -> str:
    shown = printable(str(folder))
    if not folder.is_dir():
        fact = "is a file, not a run folder" if folder.exists() else "does not exist"
        return f"{shown} {fact}. Give the folder of a run."
    if not (folder / "config.yaml").is_file():
        return f"{shown} is not a run folder: it has no config.yaml. Give the folder of a run."
    return (
        f"the run {shown} has no film (yet). A film is recorded at the validations of a run whose config has pinned "
        "sentences: add pinned to the config, and train it in another folder."
    )
