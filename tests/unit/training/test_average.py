"""Averages of weights, by hand."""

from pathlib import Path

import torch

from clearhead.formats.checkpoint import save_checkpoint
from clearhead.training.average import RunningAverage, average_in
from tests.tolerances import assert_close
from tests.unit.training.models import tiny_model


def test_the_running_average_by_hand() -> None:
    model = tiny_model()
    weight = model.output.weight
    average = RunningAverage(model, 0.4)
    name = next(name for name, tensor in average.tensors().items() if tensor.shape == weight.shape)
    by_hand = weight.detach().clone()
    for step, decay in ((1, 2 / 11), (2, 3 / 12), (3, 4 / 13), (17, 0.4)):  # (1 + n) / (10 + n), up to the decay
        with torch.no_grad():
            weight += step
        average.set_step(step)
        average.update()
        by_hand = decay * by_hand + (1 - decay) * weight.detach()
        assert_close(average.tensors()[name], by_hand, "float32")


def test_the_average_is_not_the_weights_themselves() -> None:
    model = tiny_model()
    average = RunningAverage(model, 0.9)
    owned = {tensor.data_ptr() for tensor in model.parameters()}
    assert not owned & {tensor.data_ptr() for tensor in average.tensors().values()}
    assert not any(tensor.requires_grad for tensor in average.tensors().values())


def test_the_mean_of_a_model_and_checkpoints(tmp_path: Path) -> None:
    models = [tiny_model(seed) for seed in (1, 2, 3)]
    for number, model in enumerate(models[:2]):
        save_checkpoint(model, tmp_path / str(number))
    expected = torch.stack([model.output.weight.detach().double() for model in models]).mean(dim=0)
    average_in(models[2], [tmp_path / "0", tmp_path / "1"])
    assert_close(models[2].output.weight.detach(), expected, "float32")


def test_the_mean_of_a_model_alone_is_itself() -> None:
    model = tiny_model()
    before = model.output.weight.detach().clone()
    average_in(model, [])
    assert torch.equal(model.output.weight, before)
