"""Gradients: of every kind of block against finite differences, and the same for fused and traced attention."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from clearhead.model import Batch, Mask, ModelConfig, Transformer
from clearhead.model.attention import Attention
from clearhead.model.layers import FeedForward, TransformerBlock
from clearhead.model.mask import CAUSAL, prepare
from clearhead.model.norm import NORMS
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE
from tests.parity.models import CASES, case_name, make_inputs, make_model, run
from tests.tolerances import assert_close_gradients

BATCH, QUERIES, KEYS, WIDTH, MEMORY = 2, 3, 5, 4, 6
CPU = torch.device("cpu")
SIDES = pytest.mark.parametrize("is_traced", [False, True], ids=["fused", "traced"])
REAL = torch.tensor([[True] * 3 + [False] * 2, [False] * 5])  # the second sentence is only padding


def make_config(**changes: object) -> ModelConfig:
    defaults = {
        "source_vocabulary": 5,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
        "d_model": WIDTH,
        "num_heads": 2,
        "d_ff": 3,
        "max_length": 7,
    }
    return ModelConfig.model_validate({**defaults, "activation": "gelu", **changes})


def random(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def check(layer: nn.Module, call: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Compare the gradients of the inputs and of every parameter with finite differences."""
    parameters = list(layer.parameters())
    assert parameters
    assert gradcheck(lambda *values: call(*values[: len(inputs)]), (*inputs, *parameters), atol=1e-6)


def ready(layer: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    layer = layer.double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    return layer


@SIDES
@pytest.mark.parametrize("is_rotary", [False, True])
def test_gradients_of_self_attention_are_those_of_finite_differences(is_traced: bool, is_rotary: bool) -> None:
    layer = ready(Attention(WIDTH, None, 2))
    mask = prepare(Mask(REAL[:, :QUERIES], is_causal=True), QUERIES, QUERIES, CPU)
    places = torch.arange(QUERIES)[None]
    turned = places if is_rotary else None
    check(
        layer,
        lambda x: layer(x, None, mask, places=turned, probe=Probe(PartTrace() if is_traced else NO_TRACE)),
        random(BATCH, QUERIES, WIDTH),
    )


@SIDES
def test_gradients_of_cross_attention_are_those_of_finite_differences(is_traced: bool) -> None:
    layer = ready(Attention(WIDTH, MEMORY, 2))
    mask = prepare(Mask(REAL), QUERIES, KEYS, CPU)
    check(
        layer,
        lambda x, memory: layer(x, memory, mask, probe=Probe(PartTrace() if is_traced else NO_TRACE)),
        random(BATCH, QUERIES, WIDTH),
        random(BATCH, KEYS, MEMORY),
    )


@SIDES
@pytest.mark.parametrize("activation", ["gelu", "silu"])
@pytest.mark.parametrize("is_gated", [False, True])
def test_gradients_of_feed_forward_are_those_of_finite_differences(
    is_traced: bool, activation: str, is_gated: bool
) -> None:
    layer = ready(FeedForward(WIDTH, make_config(activation=activation, is_gated=is_gated)))
    check(layer, lambda x: layer(x, trace=PartTrace() if is_traced else NO_TRACE), random(BATCH, QUERIES, WIDTH))


@pytest.mark.parametrize("norm", ["layer", "rms", "all"])
def test_gradients_of_norms_are_those_of_finite_differences(norm: str) -> None:
    layer = ready(NORMS[norm](WIDTH, 1e-5))
    check(layer, lambda x: layer(x, REAL), random(BATCH, KEYS, WIDTH))


@SIDES
@pytest.mark.parametrize("norm", ["layer", "rms", "all"])
@pytest.mark.parametrize("place", ["pre", "post"])
def test_gradients_of_an_encoder_block_are_those_of_finite_differences(is_traced: bool, norm: str, place: str) -> None:
    block = ready(TransformerBlock(make_config(encoder_norm=norm, norm_place=place), "encoder.0"))
    mask = prepare(Mask(REAL), KEYS, KEYS, CPU)
    check(
        block, lambda x: block(x, mask, probe=Probe(PartTrace() if is_traced else NO_TRACE)), random(BATCH, KEYS, WIDTH)
    )


@SIDES
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("place", ["pre", "post"])
def test_gradients_of_a_decoder_block_are_those_of_finite_differences(is_traced: bool, norm: str, place: str) -> None:
    block = ready(TransformerBlock(make_config(decoder_norm=norm, norm_place=place), "decoder.0", MEMORY))
    own, across = prepare(CAUSAL, QUERIES, QUERIES, CPU), prepare(Mask(REAL), QUERIES, KEYS, CPU)
    check(
        block,
        lambda x, memory: block(x, own, (memory, across), probe=Probe(PartTrace() if is_traced else NO_TRACE)),
        random(BATCH, QUERIES, WIDTH),
        random(BATCH, KEYS, MEMORY),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_gradients_of_the_loss_of_a_model_are_those_of_finite_differences(shape: str, smoothing: float) -> None:
    is_encoder = shape == "encoder"
    model = ready(Transformer(make_config(shape=shape, num_classes=3 if is_encoder else None)))
    assert isinstance(model, Transformer)
    source = torch.tensor([[3, 4, 2], [4, 2, 0]])
    target = torch.tensor([[4, 2], [3, 0]])
    batch = Batch(
        None if shape == "decoder" else source,
        None if is_encoder else target,
        torch.tensor([1, 2]) if is_encoder else None,
    )
    check(model, lambda: model.loss(batch, smoothing).mean)


@pytest.mark.parametrize("case", CASES[::2], ids=case_name)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_fused_and_traced_attention_have_the_same_gradients(case: tuple[str, str, int], dtype: torch.dtype) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant, dtype)
    inputs = make_inputs(model.config, mask)
    gradients = []
    for trace in (NO_TRACE, PartTrace()):
        model.zero_grad()
        output = run(model, inputs, trace)
        direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        (output * direction.to(dtype)).sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    fused, traced = gradients
    largest = max(float(gradient.abs().max()) for gradient in traced.values() if gradient is not None)
    for name, gradient in traced.items():
        assert gradient is not None, f"{name} has no gradient"
        assert gradient.isfinite().all(), name
        other = fused[name]
        assert other is not None, f"{name} has no gradient on the fused side"
        assert_close_gradients(other, gradient, largest, str(dtype).removeprefix("torch."))
