"""One update: clipping, accumulation, splitting, the sums, and the first number that is not finite."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from clearhead.model import Batch, Loss, Transformer
from clearhead.training import step as step_module
from clearhead.training.config import TrainingConfig
from clearhead.training.objective import LossFunction, objective
from clearhead.training.step import Updater, split
from tests.unit.training.models import joined, settings, tiny_batch, tiny_model, weights

NO_MEMORY_ON_CPU = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    "65536000 bytes. Error code 12 (Cannot allocate memory)"
)
RATE = 0.01


def make_updater(config: TrainingConfig | None = None, **model: Any) -> Updater:
    return Updater(tiny_model(**model), config or settings(), is_compiled=False, precision=torch.float32)


def closest(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """Return the largest difference of two sets of weights."""
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def seen_gradients(monkeypatch: pytest.MonkeyPatch, updater: Updater) -> list[list[Tensor]]:
    """Keep the gradients that the optimiser is given."""
    gradients_by_update: list[list[Tensor]] = []
    real = updater.optimiser.step

    def step() -> None:
        gradients_by_update.append([p.grad.clone() for p in updater.optimiser.parameters if p.grad is not None])
        real()

    monkeypatch.setattr(updater.optimiser, "step", step)
    return gradients_by_update


def length(gradients: list[Tensor]) -> float:
    return float(torch.cat([gradient.flatten() for gradient in gradients]).norm())


def test_a_gradient_that_is_too_long_is_shortened_and_keeps_its_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, clipped = make_updater(), make_updater(settings(clip=0.1))
    free, short = seen_gradients(monkeypatch, plain), seen_gradients(monkeypatch, clipped)
    for updater in (plain, clipped):
        updater.step([tiny_batch(5)], RATE, 1)
    full_length = length(free[0])
    assert full_length > 0.5
    assert length(short[0]) == pytest.approx(0.1, rel=1e-4)
    for one, other in zip(free[0], short[0], strict=True):
        torch.testing.assert_close(other, one * 0.1 / full_length, rtol=1e-4, atol=1e-7)
    assert clipped.read().gradient == pytest.approx(full_length, rel=1e-5), "what is told is the length before clipping"


def test_a_short_gradient_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, clipped = make_updater(), make_updater(settings(clip=1000.0))
    for updater in (plain, clipped):
        updater.step([tiny_batch(5)], RATE, 1)
    assert closest(weights(plain.model), weights(clipped.model)) == 0.0


def test_batches_added_up_are_one_big_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [tiny_batch(2, seed=1, longest=3), tiny_batch(7, seed=2), tiny_batch(3, seed=3)]
    counts = [int((part.target != 0).sum()) for part in parts if part.target is not None]
    assert len(set(counts)) == 3, "with as many tokens each, a mean of means would be right too"
    big = Batch(*[
        torch.cat([torch.nn.functional.pad(getattr(part, side), (0, 7 - getattr(part, side).shape[1])) for part in parts])
        for side in ("source", "target")
    ])  # fmt: skip
    added, single_updater = make_updater(), make_updater()
    one, other = seen_gradients(monkeypatch, added), seen_gradients(monkeypatch, single_updater)
    added.step(parts, RATE, 1)
    single_updater.step([big], RATE, 1)
    for a, b in zip(one[0], other[0], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    assert added.read().num_tokens == single_updater.read().num_tokens == sum(counts)
    assert added.read().loss == pytest.approx(single_updater.read().loss, rel=1e-6)
    # and the wrong method gives another result
    means = make_updater()
    for part in parts:
        (objective(means.model, part, settings()).mean / 3).backward()
    wrong = [p.grad for p in means.optimiser.parameters if p.grad is not None]
    assert max(float((a - b).abs().max()) for a, b in zip(wrong, other[0], strict=True)) > 1e-3


def test_gradients_do_not_leak_into_the_next_update(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tiny_batch(3, 1), tiny_batch(5, 2)
    for batches in ([second], [second, tiny_batch(2, 3)]):
        fresh, used = make_updater(), make_updater()
        used.step([first, tiny_batch(2, 4)], 0.0, 1)  # a rate of 0: the weights stay
        one, other = seen_gradients(monkeypatch, fresh), seen_gradients(monkeypatch, used)
        fresh.step(batches, RATE, 2)
        used.step(batches, RATE, 2)
        assert all(torch.equal(a, b) for a, b in zip(one[0], other[0], strict=True))


@pytest.mark.parametrize("error", [RuntimeError(NO_MEMORY_ON_CPU), MemoryError()])
def test_a_cpu_without_memory_halves_the_batch_too(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    updater = make_updater()
    monkeypatch.setattr(step_module, "objective", only(3, error))
    updater.step([tiny_batch(11)], RATE, 1)
    assert updater.parts == 4


def test_another_error_is_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    updater = make_updater()
    monkeypatch.setattr(step_module, "objective", only(3, RuntimeError("shapes cannot be multiplied")))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        updater.step([tiny_batch(11)], RATE, 1)
    assert updater.parts == 1


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_out_of_memory_halves_the_batch_until_it_fits(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    config = settings(optimiser=kind, clip=1.0, average="ema", epsilon=1e-4)
    plain, poor = make_updater(config), make_updater(config)
    batches = [[tiny_batch(11, seed)] for seed in range(3)]
    for number, batches_of_update in enumerate(batches, 1):
        plain.step(batches_of_update, RATE, number)
    monkeypatch.setattr(step_module, "objective", only(3))
    for number, batches_of_update in enumerate(batches, 1):
        poor.step(batches_of_update, RATE, number)
    assert poor.parts == 4
    most = {"adamw": 2e-5, "muon": 2e-3}[kind]  # Muon itself works in bfloat16
    assert closest(weights(plain.model), weights(poor.model)) < most
    assert plain.average is not None
    assert poor.average is not None
    assert closest(plain.average.tensors(), poor.average.tensors()) < most
    one, other = plain.read(), poor.read()
    assert one.num_tokens == other.num_tokens
    assert one.loss == pytest.approx(other.loss, rel=1e-4)


def only(
    rows: int, error: Exception | None = None
) -> Callable[[Transformer, Batch, TrainingConfig, LossFunction], Loss]:
    """Return an objective with memory for a limited number of rows, which fails at its end."""

    def limited(model: Transformer, batch: Batch, config: TrainingConfig, loss_function: LossFunction) -> Loss:
        loss = objective(model, batch, config, loss_function)
        if batch.num_rows > rows:
            raise error or torch.OutOfMemoryError("CUDA out of memory")
        return loss

    return limited


def test_out_of_memory_between_accumulated_batches_restarts_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(epsilon=1e-4)
    plain, poor = make_updater(config), make_updater(config)
    batches = [tiny_batch(2, 1), tiny_batch(5, 2)]  # the first fits
    plain.step(batches, RATE, 1)
    monkeypatch.setattr(step_module, "objective", only(3))
    poor.step(batches, RATE, 1)
    assert closest(weights(plain.model), weights(poor.model)) < 1e-5
    assert plain.read().num_tokens == poor.read().num_tokens


def test_one_row_that_does_not_fit_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    updater = make_updater()
    monkeypatch.setattr(step_module, "objective", only(0))
    with pytest.raises(torch.OutOfMemoryError):
        updater.step([tiny_batch(3)], RATE, 1)


def test_an_update_that_has_changed_weights_is_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    updater = make_updater(settings(average="ema"))
    assert updater.average is not None

    calls = []

    def fail() -> None:
        calls.append("weights were changed before this")
        raise torch.OutOfMemoryError

    monkeypatch.setattr(updater.average, "update", fail)
    with pytest.raises(torch.OutOfMemoryError):
        updater.step([tiny_batch(3)], RATE, 1)
    assert len(calls) == 1


def test_the_first_update_that_is_not_finite_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    updater = make_updater()
    calls = []

    def failing(model: Transformer, batch: Batch, config: TrainingConfig, loss_function: LossFunction) -> Loss:
        calls.append(batch)
        loss = objective(model, batch, config, loss_function)
        return Loss(loss.total * float("nan"), loss.num_tokens) if len(calls) == 3 else loss

    monkeypatch.setattr(step_module, "objective", failing)
    for number in range(1, 6):
        updater.step([tiny_batch(3, number)], RATE, number)
    assert updater.read().first_bad == 3


def test_an_infinite_gradient_of_a_finite_loss_is_seen() -> None:
    updater = make_updater()
    with torch.no_grad():
        updater.model.output.weight.fill_(1e30)
    updater.step([tiny_batch(3)], 0.0, 7)
    assert updater.read().first_bad == 7


def test_sums_continue_until_they_are_reset() -> None:
    updater = make_updater()
    updater.step([tiny_batch(3, 1)], 0.0, 1)
    first = updater.read()
    updater.step([tiny_batch(5, 2)], 0.0, 2)
    both = updater.read()
    alone = objective(updater.model, tiny_batch(5, 2), settings())
    tokens = first.num_tokens + int(alone.num_tokens)
    assert both.num_tokens == tokens
    assert both.loss == pytest.approx((first.loss * first.num_tokens + float(alone.total.detach())) / tokens, rel=1e-6)
    updater.begin_sums()
    assert updater.read().num_tokens == 0


@pytest.mark.parametrize(("parts", "sizes"), [(1, [7]), (2, [4, 3]), (4, [2, 2, 2, 1]), (16, [1] * 7)])
def test_a_batch_is_cut_by_its_rows(parts: int, sizes: list[int]) -> None:
    batch = tiny_batch(7)
    batches = split(batch, parts)
    assert [part.num_rows for part in batches] == sizes
    joined_batch = joined(*batches)
    assert joined_batch.source is not None
    assert joined_batch.target is not None
    assert batch.source is not None
    assert torch.equal(joined_batch.source, batch.source)
    assert batch.target is not None
    assert torch.equal(joined_batch.target, batch.target)


def test_bfloat16_products_keep_weights_in_float32() -> None:
    model = tiny_model()
    updater = Updater(model, settings(), is_compiled=False, precision=torch.bfloat16)
    before = weights(model)
    updater.step([tiny_batch(5)], RATE, 1)
    assert all(tensor.dtype == torch.float32 for tensor in updater.tensors().values() if tensor.dtype != torch.float64)
    assert closest(before, weights(model)) > 1e-3
    assert updater.read().first_bad is None
