"""The files that the loop writes: checkpoints, models, metrics and faults. Only the first process of a run writes them.

Decisions that depend on files are made by the first process, and shared: other processes may see a folder later.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clearhead.data.batches import TokenBatch
from clearhead.files.manifest import read_manifest, unverified_note
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.model import SequenceModel
from clearhead.text.statistics import Percentiles, TextStatistics
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.world import World
from clearhead.training.interruption import DivergenceError, save_fault
from clearhead.training.run import RunFolder
from clearhead.training.state import (
    Progress,
    checkpoints,
    forget_after,
    forget_old,
    readable_checkpoints,
    remove_parts,
    save_state,
    step_of,
)
from clearhead.training.step import Updater


class RunWriter:
    """Writes the files of one run."""

    def __init__(self, folder: RunFolder, config: TrainingConfig, world: World) -> None:
        self.folder, self.config, self._world = folder, config, world

    def has_checkpoint(self, step: int) -> bool:
        """Return whether there is a checkpoint of an update."""
        return bool(self._world.share(step in map(step_of, checkpoints(self.folder.checkpoints))))

    def candidates(self) -> Iterator[tuple[Path, str]]:
        """Yield checkpoints from the latest to the earliest, each with the error in reading it, or ""."""
        if self._world.is_first:
            remove_parts(self.folder.path)
        own = ([place.name, wrong] for place, wrong in readable_checkpoints(self.folder.checkpoints))
        # One at a time: to read a checkpoint takes long, and the others do not read any.
        while entry := self._world.share(next(own, None) if self._world.is_first else None):
            yield self.folder.checkpoints / entry[0], entry[1]

    def clean_up(self, step: int) -> int:
        """Remove what an earlier process wrote after an update; return the number of damaged lines of metrics."""
        if not self._world.is_first:
            return 0
        forget_after(self.folder.checkpoints, step)
        self.forget_old()  # the process may have ended before
        return self.folder.truncate_metrics(step)

    def save(self, updater: Updater, progress: Progress) -> None:
        """Write a checkpoint and remove old ones."""
        save_state(self.folder.checkpoints, updater, progress)
        if self._world.is_first:
            self.forget_old()
        self._world.wait_for_all()  # others read the checkpoints to average them

    def forget_old(self) -> None:
        """Remove the checkpoints that are not needed any more."""
        keep = self.config.keep_checkpoints
        if self.config.average == "last":
            keep = max(keep, self.config.average_last)
        forget_old(self.folder.checkpoints, keep, self.config.checkpoint_every)

    def save_model(self, model: SequenceModel, place: Path) -> None:
        """Write a model to use: the best or the last one."""
        if self._world.is_first:
            save_checkpoint(model, place)

    def record_log_probs(self, log_probs: Percentiles | None) -> None:
        """Write how likely the best model's own translations of the validation data are, to recognise unlikely ones."""
        if log_probs is not None and self._world.is_first:
            statistics = TextStatistics.load(self.folder.path)
            statistics.model_copy(update={"log_probs": log_probs}).save(self.folder.path)

    def unverified_note(self, place: Path) -> str:
        """Return the note about a checkpoint whose files could not be verified, or ""."""
        return "" if read_manifest(place) is not None else unverified_note(place)

    def save_fault(self, step: int, batches: Sequence[TokenBatch], vocabularies: Vocabularies) -> Path:
        """Write the sentences of a diverged update and return the path."""
        path = save_fault(self.folder.path, step, batches, vocabularies) if self._world.is_first else None
        return Path(self._world.share(str(path)))

    def last_good_checkpoint(self, fault: DivergenceError) -> Path | None:
        """Return the last checkpoint before a divergence, and remove later ones.

        A loss that is not finite is noticed before anything is saved; one that explodes, only at the next log line.
        """
        folder, readable = self.folder.checkpoints, []
        if self._world.is_first:
            readable = [place for place, wrong in readable_checkpoints(folder) if not wrong][::-1]
        if fault.rise is not None:
            last_log = (fault.step - 1) // self.config.log_every * self.config.log_every
            readable = [place for place in readable if step_of(place) <= last_log] or readable[:1]
        if readable:
            forget_after(folder, step_of(readable[-1]))
        name = self._world.share(readable[-1].name if readable else "")
        return folder / name if name else None
