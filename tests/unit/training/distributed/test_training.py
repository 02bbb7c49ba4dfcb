"""Runs of several processes: the same numbers as one process to a tolerance, and bit for bit when they are resumed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.ranks import RankServer
from tests.unit.training import runs
from tests.unit.training.distributed import jobs

# Batches of few rows: with 4 ranks the shares differ in size, and some ranks have no row at all. The gradient of a key's
# bias is 0 but for rounding, and AdamW would divide it by itself: a larger epsilon keeps rounding errors small.
CHANGES: dict[str, Any] = {
    "model": {"dropout": 0.0},
    "training": {"batching": "bucketed", "batch_tokens": 53, "accumulate": 2, "average": "ema", "epsilon": 1e-4},
}
STATE = "checkpoints/step-00000012/state.safetensors"
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}  # docs/guide/devices.md states it


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> runs.Result:
    return runs.train(tmp_path_factory.mktemp("alone") / "run", **CHANGES)


def numbers(lines: list[dict[str, Any]]) -> list[float]:
    """Return all metrics but the scores of translations, in which rounding can exchange two words."""
    scores = ("valid/bleu", "valid/chrf", "valid/exact")
    return [value for line in lines for name, value in line.items() if name not in scores]


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, **TOLERANCE, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("size", [2, 4])
def test_the_number_of_processes_does_not_change_the_training(
    ranks: RankServer, alone: runs.Result, tmp_path: Path, size: int
) -> None:
    results = ranks.run(size, jobs.train, folder=str(tmp_path / "run"), changes=CHANGES)
    for result in results:
        assert result["outcome"]["steps"] == 12
        assert result["outcome"]["best_step"] == alone.outcome.best_step
    assert "update 12/12" in results[0]["output"]
    assert all(not result["output"] for result in results[1:]), "only the first process prints"
    assert [line["step"] for line in runs.metrics(tmp_path / "run")] == [line["step"] for line in alone.metrics()]
    assert numbers(runs.metrics(tmp_path / "run")) == pytest.approx(numbers(alone.metrics()), rel=1e-4)
    for name in ("last/model.safetensors", "best/model.safetensors"):
        assert_close(alone.tensors(name), load_file(tmp_path / "run" / name))
    state = json.loads((tmp_path / "run/checkpoints/step-00000012/state.json").read_text())
    expected = json.loads((alone.folder / "checkpoints/step-00000012/state.json").read_text())
    assert (state["position"], state["num_tokens"]) == (expected["position"], expected["num_tokens"])
    assert not list((tmp_path / "run").rglob("*.part"))


def test_a_resumed_run_of_as_many_processes_is_bit_identical(ranks: RankServer, tmp_path: Path) -> None:
    # with dropout: every rank continues with its own random numbers
    training = {"average": "ema", "batch_tokens": 499}
    changes = {"model": {"dropout": 0.1}, "training": training}
    complete, resumed = tmp_path / "complete", tmp_path / "resumed"
    ranks.run(2, jobs.train, folder=str(complete), changes=changes)
    shutil.copytree(complete, resumed)
    shutil.rmtree(resumed / "checkpoints/step-00000012")  # as if it had been killed after update 8
    (resumed / "outcome.json").unlink()
    results = ranks.run(2, jobs.train, folder=str(resumed), changes=changes, resume=True)
    assert "Resuming from update 8." in results[0]["output"]
    assert runs.metrics(complete) == runs.metrics(resumed)
    names = ["last/model.safetensors", STATE]
    for name in names:
        assert runs.same(load_file(complete / name), load_file(resumed / name)), name


@pytest.mark.slow
def test_a_run_resumes_with_another_number_of_processes(ranks: RankServer, alone: runs.Result, tmp_path: Path) -> None:
    for size, steps in ((2, 6), (4, 12)):
        changes = runs.merged(CHANGES, {"training": {"steps": steps}})
        ranks.run(size, jobs.train, folder=str(tmp_path / "run"), changes=changes, resume=steps == 12)
    assert_close(alone.tensors(), load_file(tmp_path / "run/last/model.safetensors"))
