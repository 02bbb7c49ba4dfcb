"""AdamW and Muon: the first steps by hand, weight decay, and restoring the state."""

import pytest
import torch

from clearhead.training.objective import objective
from clearhead.training.optimiser import Optimiser
from tests.tolerances import assert_close
from tests.unit.training.models import settings, tiny_batch, tiny_model, weights


def test_the_first_step_of_adamw_by_hand() -> None:
    model = tiny_model()
    optimiser = Optimiser(model, settings(betas=(0.9, 0.98), epsilon=1e-9))
    before = weights(model)
    objective(model, tiny_batch(3), settings()).mean.backward()
    optimiser.set_rate(0.01)
    optimiser.step()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        # m̂ = g, v̂ = g²: a step of the rate against the sign of the gradient
        expected = before[name] - 0.01 * parameter.grad / (parameter.grad.abs() + 1e-9)
        torch.testing.assert_close(parameter.detach(), expected, atol=2e-6, rtol=1e-4)


def test_making_the_state_changes_nothing() -> None:
    model = tiny_model()
    before = weights(model)
    for kind in ("adamw", "muon"):
        optimiser = Optimiser(model, settings(optimiser=kind, weight_decay=0.3))
        assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())
        assert all(not tensor.any() for tensor in optimiser.tensors().values())
        assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_only_matrices_of_the_blocks_decay(kind: str) -> None:
    model = tiny_model(positions="learned", tied="none")
    optimiser = Optimiser(model, settings(optimiser=kind, weight_decay=0.5))
    before = weights(model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.set_rate(0.1)
    optimiser.step()
    decayed = set()
    for name, tensor in weights(model).items():
        if torch.equal(tensor, before[name]):
            continue
        assert_close(tensor, before[name] * (1 - 0.1 * 0.5), "float32", name)
        decayed.add(name)
    matrices = {n for n, p in model.named_parameters() if "blocks" in n and p.ndim == 2}
    assert decayed == matrices
    assert len(matrices) == 11  # attention 2 + 2 + 3, feed-forward 2 + 2


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_it_learns(kind: str) -> None:
    model, batch = tiny_model(), tiny_batch(5)
    optimiser = Optimiser(model, settings(optimiser=kind))
    optimiser.set_rate(0.01)
    losses = []
    for _ in range(40):
        optimiser.zero()
        loss = objective(model, batch, settings()).mean
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 3, losses[::13]


def test_muon_turns_a_gradient_into_a_nearly_orthogonal_step() -> None:
    model = tiny_model()
    optimiser = Optimiser(model, settings(optimiser="muon"))
    before = weights(model)
    objective(model, tiny_batch(5), settings()).mean.backward()
    optimiser.set_rate(0.01)
    optimiser.step()
    name = "decoder_blocks.0.self_attention.output.weight"
    change = before[name] - dict(model.named_parameters())[name].detach()
    values = torch.linalg.svdvals(change) / (0.01 * 0.2 * 12**0.5)  # scaled to the size of AdamW's steps
    assert float(values.max()) < 1.3
    assert float(values.median()) > 0.6


def test_muon_takes_the_steps_of_torchs_own() -> None:
    torch.manual_seed(0)
    model = tiny_model()
    matrices = {n: p for n, p in model.named_parameters() if "blocks" in n and p.ndim == 2}
    copies = {name: torch.nn.Parameter(matrix.detach().clone()) for name, matrix in matrices.items()}
    optimiser = Optimiser(model, settings(optimiser="muon", weight_decay=0.1))
    theirs = torch.optim.Muon(list(copies.values()), lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    optimiser.set_rate(0.02)
    for _ in range(3):
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        for name, copy in copies.items():
            copy.grad = matrices[name].grad
        optimiser.step()
        theirs.step()
    for name, copy in copies.items():  # torch's works in bfloat16 everywhere
        torch.testing.assert_close(matrices[name].detach(), copy.detach(), atol=2e-3, rtol=0)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_restored_state_continues_the_same_way(kind: str) -> None:
    ended = []
    for is_stopped in (False, True):
        model = tiny_model()
        optimiser = Optimiser(model, settings(optimiser=kind))
        for step in range(4):
            if is_stopped and step == 2:
                saved_state = {name: tensor.clone() for name, tensor in optimiser.tensors().items()}
                held = weights(model)
                model = tiny_model(seed=1)
                model.load_state_dict(held, strict=False)
                optimiser = Optimiser(model, settings(optimiser=kind))
                for name, tensor in optimiser.tensors().items():
                    tensor.copy_(saved_state[name])
            optimiser.zero()
            optimiser.set_rate(0.01 / (step + 1))
            objective(model, tiny_batch(3, step), settings()).mean.backward()
            optimiser.step()
        ended.append(weights(model))
    assert all(torch.equal(ended[0][name], ended[1][name]) for name in ended[0])
