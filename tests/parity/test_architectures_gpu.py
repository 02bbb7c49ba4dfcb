"""The other architectures on a GPU: cuDNN's kernels against the traced model, and updates captured as CUDA graphs."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.explain.contributions import gradients
from clearhead.model import Batch
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.training.config import TrainingConfig
from clearhead.training.step import Updater
from tests.parity.architectures import MODELS, make_architecture

NAMES = ["convolutional", *(name for name in MODELS if not name.startswith("convolutional"))]
PAD = 0


def make_batch(seed: int = 0) -> Batch:
    """Return random sentences with padding on the GPU."""
    random = torch.Generator().manual_seed(seed)
    source, target = (torch.randint(3, 11, (5, length), generator=random) for length in (13, 11))
    source[1, 7:], target[2, 5:] = PAD, PAD
    return Batch(source.cuda(), target.cuda())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradients_are_those_of_the_traced_model(
    name: str, is_training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    model = make_architecture(name, dtype=torch.float32, dropout=0.0).cuda().train(is_training)
    exact = make_architecture(name, dropout=0.0).cuda()
    batch = make_batch()
    assert batch.target is not None
    loss = model.loss(batch).mean
    loss.backward()
    truth = F.cross_entropy(
        exact(batch, probe=Probe(PartTrace())).flatten(0, 1), batch.target.flatten(), ignore_index=PAD, reduction="mean"
    )
    truth.backward()
    assert abs(loss.item() - truth.item()) < 1e-4
    right = dict(exact.named_parameters())
    largest = max(parameter.grad.abs().max() for parameter in right.values() if parameter.grad is not None)
    for parameter_name, parameter in model.named_parameters():
        truth_gradient = right[parameter_name].grad
        assert parameter.grad is not None
        assert truth_gradient is not None
        gap = (parameter.grad - truth_gradient).abs().max() / largest
        assert gap < 1e-4, f"{parameter_name}: {gap:.1e} of the largest gradient"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NAMES)
def test_captured_updates_are_those_without_a_graph(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    losses = []
    for is_graphed in (True, False):
        model = make_architecture(name, dtype=torch.float32, dropout=0.0).cuda().train()
        updater = Updater(model, TrainingConfig(steps=4), is_compiled=False, precision=torch.float32)
        updater._is_graphed = is_graphed
        for number in range(1, 5):
            updater.step([make_batch(number)], 1e-3, number)
        losses.append(updater.read().loss)
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_captured_updates_in_bfloat16_lower_the_loss(name: str, is_compiled: bool) -> None:
    model = make_architecture(name, dtype=torch.float32, dropout=0.1).cuda().train()
    updater = Updater(model, TrainingConfig(steps=60), is_compiled=is_compiled, precision=torch.bfloat16)
    losses = []
    for number in range(1, 61):
        updater.step([make_batch()], 1e-2, number)
        if number % 30 == 0:
            losses.append(updater.read().loss)
            updater.begin_sums()
    assert losses[1] < losses[0] - 0.1
    assert updater.has_finite_weights()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("convolutional")])
def test_recurrent_models_run_in_bfloat16_without_a_warning_about_their_weights(name: str) -> None:
    model = make_architecture(name, dtype=torch.float32, dropout=0.0)
    exact = make_architecture(name, dropout=0.0)  # the same weights, in float64
    fast, batch = model.to(device="cuda", dtype=torch.bfloat16).eval(), make_batch()
    with torch.inference_mode():
        logits = fast(batch)  # a warning would be an error
        truth = exact.eval()(Batch(batch.source.cpu(), batch.target.cpu() if batch.target is not None else None))
    assert (logits.double().cpu() - truth).abs().max() < 0.1 * truth.abs().max()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NAMES)
def test_the_gradients_of_an_explanation_are_those_of_the_cpu(name: str) -> None:
    source, target = [3, 5, 7, 4, 2], [5, 4, 8, 2]
    own, other = (gradients(make_architecture(name).to(device), source, target) for device in ("cpu", "cuda"))
    assert own == pytest.approx(other, abs=1e-9)
