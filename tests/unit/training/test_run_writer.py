"""Only the first process of a run writes files."""

from pathlib import Path
from typing import Any

import torch

from clearhead.training.distributed.world import ALONE, World
from clearhead.training.interruption import DivergenceError
from clearhead.training.run import RunFolder
from clearhead.training.run_writer import RunWriter
from clearhead.training.state import Progress
from clearhead.training.step import Updater
from tests.unit.training.models import settings, tiny_model


class Follower(World):
    """A process that is not the first one, and hears from that one what `heard` has."""

    rank, size = 1, 2

    def __init__(self, *heard: Any) -> None:
        self.heard = list(heard)

    def share(self, value: Any) -> Any:
        return self.heard.pop(0)


def updater(world: World = ALONE) -> Updater:
    return Updater(tiny_model(), settings(), is_compiled=False, precision=torch.float32, world=world)


def test_the_first_process_writes_checkpoints_and_keeps_the_last_ones(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    writer = RunWriter(folder, settings(checkpoint_every=1, keep_checkpoints=2), ALONE)
    own = updater()
    for step in (3, 5, 7):
        writer.save(own, Progress(step=step))
    assert [place.name for place, wrong in writer.candidates() if not wrong] == ["step-00000007", "step-00000005"]
    assert [writer.has_checkpoint(step) for step in (3, 5, 7)] == [False, True, True]
    writer.save_model(own.model, folder.best)
    assert (folder.best / "model.safetensors").is_file()
    assert writer.unverified_note(folder.checkpoints / "step-00000007") == ""
    assert writer.clean_up(5) == 0
    assert not writer.has_checkpoint(7)


def test_other_processes_write_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    world = Follower(True, "run/diverged/step-00000007.json", "step-00000005", "")
    writer = RunWriter(folder, settings(), world)
    own = updater(world)
    writer.save(own, Progress(step=7))
    writer.save_model(own.model, folder.best)
    assert writer.clean_up(3) == 0
    writer.record_log_probs({"50": -0.7})
    assert writer.save_fault(7, [], None) == Path("run/diverged/step-00000007.json")  # type: ignore[arg-type]
    assert writer.last_good_checkpoint(DivergenceError(7, None)) == folder.checkpoints / "step-00000005"
    assert writer.last_good_checkpoint(DivergenceError(7, None)) is None
    assert not folder.path.exists()
