"""Checkpoints to resume from: everything that determines the next update, written atomically.

Each is a folder such as step-00000500: a usable model (model.safetensors, config.json), state.safetensors
(optimiser, averages, random states) and state.json (position in the data, best scores so far).
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt, TypeAdapter, ValidationError
from torch import Tensor

from clearhead import __version__
from clearhead.data.batches import Position
from clearhead.errors import CheckpointError, printable
from clearhead.files.json_file import json_writer, read_json
from clearhead.files.manifest import MANIFEST, verify_if_listed
from clearhead.files.writing import move_folder, temporary_beside, write_together
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.formats.files import CONFIG, WEIGHTS, read_tensors, tensor_writer
from clearhead.settings import shown
from clearhead.training.distributed.shares import rank_seed
from clearhead.training.outcome import KeptScore
from clearhead.training.step import Updater

FORMAT = 1
_STATE, _INDEX = "state.safetensors", "state.json"
_NAME = re.compile(r"step-(\d{8,})")
_ADDED_LATER = ("best_loss", "judged_step")  # not in the checkpoints of the first versions


@dataclass(frozen=True)
class Progress:
    """The progress of a run, in plain numbers."""

    step: NonNegativeInt = 0
    position: Position = field(default_factory=Position)
    seconds: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    num_tokens: NonNegativeInt = 0
    best: FiniteFloat | None = None  # score of the best validation
    best_loss: FiniteFloat | None = None  # breaks ties between equal scores
    best_step: NonNegativeInt | None = None
    best_scores: Mapping[str, KeptScore] = field(default_factory=dict)
    num_worse: NonNegativeInt = 0  # validations since the best one
    judged_step: NonNegativeInt | None = None  # step of the last validation
    lowest_loss: FiniteFloat | None = None
    parts: PositiveInt = 1


_PROGRESS = TypeAdapter(Progress)


def save_state(folder: Path, updater: Updater, progress: Progress) -> Path:
    """Write a checkpoint under a temporary name and move it into place.

    If the checkpoint of this update exists, its tensors are the same, and only state.json is written again.
    """
    place = folder / f"step-{progress.step:08d}"
    part = temporary_beside(place)
    world = updater.world
    random_states = _random_states(updater)
    index = {"format": FORMAT, "clearhead_version": __version__, **asdict(progress)}
    try:
        if world.share(place in checkpoints(folder)):
            if world.is_first:
                # an older version wrote no manifest, and this one file is not enough
                has_manifest = (place / MANIFEST).is_file()
                write_together(place, {_INDEX: json_writer(index)}, has_manifest=has_manifest)
            return place
        if world.is_first:
            save_checkpoint(updater.model, part)
            own = {name: tensor.cpu() for name, tensor in updater.tensors().items() if not name.startswith("weight.")}
            writers = {_STATE: tensor_writer({**own, **random_states}), _INDEX: json_writer(index)}
            write_together(part, writers, has_manifest=True)
            move_folder(part, place)
    except (OSError, CheckpointError) as wrong:
        names = [checkpoint.name for checkpoint in checkpoints(folder)]
        last = f"The last complete checkpoint is {names[-1]}" if names else "There is no checkpoint yet"
        raise CheckpointError(
            f"the checkpoint {printable(str(place))} could not be written ({wrong.__context__ or wrong}). {last}: "
            "free some disk space and resume the run.",
            options=("resume",),
        ) from None
    finally:
        if world.is_first:
            _remove(part)
    return place


def _random_states(updater: Updater) -> dict[str, Tensor]:
    """Return the random states of all processes, on the CPU."""
    own = {"random.cpu": torch.get_rng_state().tolist()}
    if updater.device.type == "cuda":
        own["random.cuda"] = torch.cuda.get_rng_state(updater.device).tolist()
    states: dict[str, Tensor] = {}
    for rank, of_rank in enumerate(updater.world.gather(own)):
        states |= {_of_rank(name, rank): torch.tensor(state, dtype=torch.uint8) for name, state in of_rank.items()}
    return states


def _of_rank(name: str, rank: int) -> str:
    return f"{name}.{rank}" if rank else name


def load_state(place: Path, updater: Updater) -> Progress:
    """Restore the state from a checkpoint, and return its progress. Nothing is changed if the checkpoint is damaged."""
    progress = _read_progress(place)
    tensors = _read_state(place)
    wanted = updater.tensors()
    _check_tensors(place, tensors, {**wanted, "random.cpu": torch.get_rng_state()})
    rank = updater.world.rank
    try:
        if (name := _of_rank("random.cpu", rank)) in tensors:
            torch.set_rng_state(tensors[name])
        else:  # the checkpoint was written by fewer processes
            torch.manual_seed(rank_seed(updater.config.seed, rank, progress.step))
    except RuntimeError as wrong:
        raise CheckpointError(
            f"{printable(str(place / _STATE))} has a random state that this version of PyTorch cannot use ({wrong})."
        ) from None
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(tensors[name])
    if updater.device.type == "cuda" and (name := _of_rank("random.cuda", rank)) in tensors:
        torch.cuda.set_rng_state(tensors[name], updater.device)
    return progress


def _read_state(place: Path) -> dict[str, Tensor]:
    """Return all tensors of a checkpoint, the weights with names as in `Updater.tensors`."""
    tensors, _ = read_tensors(place / _STATE)
    weights, _ = read_tensors(place / WEIGHTS)
    return {**tensors, **{f"weight.{name}": tensor for name, tensor in weights.items()}}


def _check_tensors(place: Path, tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError if a checkpoint has other tensors than the run, or tensors of another shape or dtype."""
    # A run of more processes has more random states.
    names = {name for name in tensors if name in wanted or not name.startswith("random.")}
    different = sorted(names ^ wanted.keys())
    if different:
        raise CheckpointError(
            f"{printable(str(place))} has other tensors than this run: {len(different)} are only in one of them "
            f"({printable(different[0])} …). It was written with another config: resume with the config in the run "
            "folder."
        )
    for name, tensor in wanted.items():
        own = tensors[name]
        if (own.shape, own.dtype) != (tensor.shape, tensor.dtype):
            raise CheckpointError(
                f"{printable(str(place))} is damaged: {name} is {_described(own)} instead of {_described(tensor)}."
            )


def _described(tensor: Tensor) -> str:
    shape = "×".join(map(str, tensor.shape)) or "a single number"
    return f"{shape} ({str(tensor.dtype).removeprefix('torch.')})"


def checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a run, the earliest first."""
    paths = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted((path for path in paths if (path / _INDEX).is_file()), key=step_of)


def step_of(place: Path) -> int:
    """Return the number of a checkpoint's update."""
    return int(place.name.removeprefix("step-"))


def planned_checkpoints(folder: Path, every: int, before: int) -> list[Path]:
    """Return the regular checkpoints (every `every` updates, without update 0) before an update.

    Checkpoints of interruptions and validations in between are excluded, so that a resumed run uses the same ones as a
    run that was never stopped.
    """
    return [place for place in checkpoints(folder) if step_of(place) % every == 0 and step_of(place) < before]


def readable_checkpoints(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield checkpoints from the latest to the earliest, each with the error in reading it, or ""."""
    for place in reversed(checkpoints(folder)):
        try:
            _read_progress(place)
            verify_if_listed(place, (_INDEX, _STATE, WEIGHTS, CONFIG))
            _read_state(place)
        except (CheckpointError, OSError) as wrong:
            yield place, str(wrong)
        else:
            yield place, ""


def forget_old(folder: Path, keep: int, every: int) -> None:
    """Remove all checkpoints except the last one and the last `keep` regular ones, and incomplete files."""
    places = checkpoints(folder)
    planned = [place for place in places if step_of(place) % every == 0]
    for place in sorted(set(places) - {*planned[-keep:], places[-1]} if places else ()):
        _remove(place)
    remove_parts(folder)


def remove_parts(folder: Path) -> None:
    """Remove the incomplete files of a killed process, in a folder and below."""
    for part in sorted(folder.rglob(".*.part")):
        _remove(part)


def forget_after(folder: Path, step: int) -> None:
    """Remove the checkpoints after a step, which will be written again."""
    for place in checkpoints(folder):
        if step_of(place) > step:
            _remove(place)


def _remove(place: Path) -> None:
    """Remove a file or folder. A checkpoint is renamed first, so that a partly removed one is never used."""
    if place.is_dir():
        part = place if place.suffix == ".part" else place.rename(temporary_beside(place))
        shutil.rmtree(part, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _read_progress(place: Path) -> Progress:
    """Return the progress in state.json, or raise CheckpointError if a number is missing or impossible."""
    path = place / _INDEX
    index = read_json(path)
    if index.get("format") != FORMAT:
        raise CheckpointError(
            f"{printable(str(path))} has format {shown(index.get('format'))}, but this version of clearhead reads "
            f"format {FORMAT}."
        )
    if index.get("rate_factor", 1.0) != 1.0:
        raise CheckpointError(
            f"{printable(str(path))} is of a run that an earlier version continued with a lower rate after a "
            "divergence. Start again from its weights with training.init_from."
        )
    names = Progress.__dataclass_fields__
    missing = [name for name in names if name not in index and name not in _ADDED_LATER]
    if missing:
        raise CheckpointError(f"{printable(str(path))} is damaged: it has no {missing[0]}.")
    try:
        own = {name: value for name, value in index.items() if name in names}
        progress = _PROGRESS.validate_json(json.dumps(own), strict=True)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(printable(str(part)) for part in first["loc"])
        raise CheckpointError(
            f"{printable(str(path))} is damaged: {where} = {shown(first['input'])} is not valid ({first['msg']})."
        ) from None
    if progress.step != step_of(place) or min(astuple(progress.position)) < 0:
        raise CheckpointError(
            f"{printable(str(path))} is damaged: it says update {progress.step} and position "
            f"{', '.join(map(str, astuple(progress.position)))}, which is not possible in {printable(place.name)}."
        )
    return progress
