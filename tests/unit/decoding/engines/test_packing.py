"""A packed model is the model: the same weights, the same translations, the same trace; only the order of operations differs."""

import pytest
import torch

from clearhead.decoding.engines.packing import PackedLinear, can_pack, packed, rounded_up
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model import Batch
from tests.tolerances import assert_close
from tests.unit.decoding.toys import random_model, sources

needs_library = pytest.mark.skipif(not can_pack(random_model().float()), reason="this PyTorch has no oneDNN")


@needs_library
@pytest.mark.parametrize(
    "options", [{}, {"has_bias": False, "is_gated": True}, {"tied": "three"}, {"d_decoder": 20, "tied": "two"}], ids=str
)
@torch.inference_mode()
def test_a_packed_model_gives_the_same_logits_and_translations(options: dict[str, object]) -> None:
    model = random_model(36, **options).float()
    fast = packed(model)
    assert fast is not model
    assert sum(isinstance(module, PackedLinear) for module in fast.modules()) > 20
    batch = Batch(sources(model), sources(model, seed=7))
    assert_close(fast(batch), model(batch), "float32")
    settings = SearchSettings(beam=3, n_best=2)
    ours, plain = (beam_search(either, sources(model), [7] * 5, settings) for either in (fast, model))
    assert [hypothesis.tokens for row in ours for hypothesis in row] == [
        hypothesis.tokens for row in plain for hypothesis in row
    ]


@needs_library
def test_weights_are_shared_and_the_model_is_not_changed() -> None:
    model = random_model(36).float()
    fast = packed(model)
    assert not any(isinstance(module, PackedLinear) for module in model.modules())
    assert dict(fast.named_parameters()).keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert fast.get_parameter(name) is parameter


@needs_library
def test_with_gradients_or_a_trace_the_original_weights_are_used() -> None:
    model = random_model(36).float()
    fast = packed(model)
    batch = Batch(sources(model), sources(model, seed=7))
    assert torch.equal(fast(batch), model(batch))
    fast(batch).sum().backward()
    assert model.output.weight.grad is not None
    with torch.inference_mode():
        output, trace = fast.trace(batch)
        assert_close(output, fast(batch), "float32")
    assert len(trace) > 20


def test_a_model_in_another_precision_is_not_packed() -> None:
    model = random_model(36)
    assert not can_pack(model)
    assert packed(model) is model
    half = random_model(36).bfloat16()
    assert packed(half) is half


@needs_library
@pytest.mark.parametrize("shape", [(1,), (17,), (3, 11), (511,), (512,), (513,), (0,)])
@torch.inference_mode()
def test_any_number_of_rows_gives_the_product(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    linear = torch.nn.Linear(7, 13)
    x = torch.randn(*shape, 7)
    assert_close(PackedLinear(linear)(x), linear(x), "float32")


def test_row_counts_are_rounded_to_a_few_sizes() -> None:
    sizes = {rounded_up(number) for number in range(513)}
    assert len(sizes) == 57
    assert all(number <= rounded_up(number) <= max(number, number * 9 / 8) for number in range(513))
