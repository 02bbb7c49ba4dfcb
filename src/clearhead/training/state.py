"""Checkpoints that training can go on from: everything that decides the next update, written whole or not at all.

Each is a folder, step-00000500: a model that can be used (model.safetensors, config.json), state.safetensors
(optimiser, averages, random states) and state.json (where the data stands, what was best so far).
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from clearhead import __version__
from clearhead.data.batches import Position
from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import json_bytes, json_writer, read_json
from clearhead.files.writing import move_folder, replace_file, temporary_beside, write_together
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.formats.files import WEIGHTS, read_tensors, tensor_writer
from clearhead.training.step import Updater

FORMAT = 1
_STATE, _INDEX = "state.safetensors", "state.json"
_NAME = re.compile(r"step-(\d{8,})")


@dataclass(frozen=True)
class Progress:
    """How far a run is, in plain numbers."""

    step: int = 0
    position: Position = field(default_factory=Position)
    seconds: float = 0.0
    num_tokens: int = 0
    best: float | None = None  # score of the best validation
    best_loss: float | None = None  # decides between equal scores
    best_step: int | None = None
    best_scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    num_worse: int = 0  # validations since the best one
    judged_step: int | None = None  # of the last validation
    rate_factor: float = 1.0  # halved by each roll-back
    lowest_loss: float | None = None
    parts: int = 1


def save_state(folder: Path, updater: Updater, progress: Progress) -> Path:
    """Write a checkpoint under a temporary name and move it into place.

    If that of this update is there already, its numbers are the same, and only what is said of them is written anew.
    """
    place = folder / f"step-{progress.step:08d}"
    part = temporary_beside(place)
    own = {name: tensor for name, tensor in updater.tensors().items() if not name.startswith("weight.")}
    tensors = {**own, "random.cpu": torch.get_rng_state()}
    if updater.device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(updater.device)
    index = {"format": FORMAT, "clearhead_version": __version__, **asdict(progress)}
    try:
        if place in checkpoints(folder):
            replace_file(place / _INDEX, json_bytes(index))
            return place
        save_checkpoint(updater.model, part)
        on_host = {name: tensor.cpu() for name, tensor in tensors.items()}
        write_together(part, {_STATE: tensor_writer(on_host, {}), _INDEX: json_writer(index)})
        move_folder(part, place)
    except (OSError, CheckpointError) as wrong:
        names = [checkpoint.name for checkpoint in checkpoints(folder)]
        last = f"The last whole one is {names[-1]}" if names else "There is none yet"
        raise CheckpointError(
            f"the checkpoint {printable(str(place))} could not be written ({wrong.__context__ or wrong}). {last}: "
            "make room on the disk and resume the run.",
            options=("resume",),
        ) from None
    finally:
        _remove(part)
    return place


def load_state(place: Path, updater: Updater) -> Progress:
    """Put a checkpoint's numbers back where they were, and return how far it was."""
    index = _read_index(place)
    tensors, _ = read_tensors(place / _STATE)
    weights, _ = read_tensors(place / WEIGHTS)
    tensors.update({f"weight.{name}": tensor for name, tensor in weights.items()})
    wanted = updater.tensors()
    missing = sorted(set(wanted) - set(tensors))
    if missing:
        raise CheckpointError(
            f"{printable(str(place))} lacks {len(missing)} tensors of this run ({missing[0]} …). "
            "It is of another configuration: go on with the config of the run's own folder."
        )
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(tensors[name])
    torch.set_rng_state(tensors["random.cpu"])
    if updater.device.type == "cuda" and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], updater.device)
    names = Progress.__dataclass_fields__
    progress = Progress(**{name: value for name, value in index.items() if name in names})
    return replace(progress, position=Position(**index["position"]))


def checkpoints(folder: Path) -> list[Path]:
    """Return the whole checkpoints of a run, the earliest first."""
    paths = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted((path for path in paths if (path / _INDEX).is_file()), key=step_of)


def step_of(place: Path) -> int:
    """Return the update that a checkpoint is of."""
    return int(place.name.removeprefix("step-"))


def planned_checkpoints(folder: Path, every: int, before: int) -> list[Path]:
    """Return the checkpoints of every so many updates, the first weights left out, that came before an update.

    Those of an interruption, or of a validation between two, are left out: a resumed run must find the very ones that
    a run without a stop would find.
    """
    return [place for place in checkpoints(folder) if step_of(place) % every == 0 and 0 < step_of(place) < before]


def readable_checkpoints(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield checkpoints from the latest to the earliest, each with what is wrong with it, or nothing."""
    for place in reversed(checkpoints(folder)):
        try:
            _read_index(place)
            for name in (_STATE, WEIGHTS):
                read_tensors(place / name)
        except (CheckpointError, OSError) as wrong:
            yield place, str(wrong)
        else:
            yield place, ""


def forget_old(folder: Path, keep: int, every: int) -> None:
    """Remove all but the last one and the last so many of every so many updates; and what was left half written."""
    places = checkpoints(folder)
    planned = [place for place in places if step_of(place) % every == 0]
    for place in sorted(set(places) - {*planned[-keep:], places[-1]} if places else ()):
        _remove(place)
    remove_parts(folder)


def remove_parts(folder: Path) -> None:
    """Remove what a killed process left half written, in a folder and below."""
    for part in sorted(folder.rglob(".*.part")):
        _remove(part)


def forget_after(folder: Path, step: int) -> None:
    """Remove the checkpoints after a step, which will be made again."""
    for place in checkpoints(folder):
        if step_of(place) > step:
            _remove(place)


def _remove(place: Path) -> None:
    """Remove a file or a folder; a checkpoint loses its name first, so that half of one is never taken for a whole."""
    if place.is_dir():
        part = place if place.suffix == ".part" else place.rename(temporary_beside(place))
        shutil.rmtree(part, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _read_index(place: Path) -> dict[str, Any]:
    index = read_json(place / _INDEX)
    if index.get("format") != FORMAT:
        raise CheckpointError(
            f"{printable(str(place / _INDEX))} is in format {index.get('format')!r}, and this clearhead reads {FORMAT}."
        )
    return index
