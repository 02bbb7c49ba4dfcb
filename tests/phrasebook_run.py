"""The phrasebook translator, trained once for a test session: what the documentation calls runs/phrasebook."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.command import run

ROOT = Path(__file__).parents[1]
UPDATES = 700  # half the number in the config: enough for the sentences of the pages


def trained_run(factory: pytest.TempPathFactory) -> Path:
    """Return runs/phrasebook of this session; the first worker that needs it trains it, the others wait."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of a worker is inside that of the session
    with (folder / "phrasebook.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        model = folder / "runs" / "phrasebook"
        if not (model / "outcome.json").exists():
            config = ROOT / "configs" / "phrasebook.yaml"
            changes = [f"training.steps={UPDATES}", "validation.every=700", "training.checkpoint_every=700"]
            arguments = [word for change in changes for word in ("--set", change)]
            # Called in its folder, so that the model card has the path that the pages use.
            completed = run("train", str(config), "--run", "runs/phrasebook", *arguments, cwd=folder)
            assert completed.returncode == 0, completed.stderr
    return model
