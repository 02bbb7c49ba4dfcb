"""Gated convolutions by hand, how far a model of them sees, and how it starts."""

import pytest
import torch
from torch import Tensor

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.model import build_model
from clearhead.model.config import ModelConfig, read_config
from clearhead.model.convolution import (
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
    GatedConvolution,
    add_scaled,
    convolve_traced,
)
from clearhead.model.convolution_cache import ConvolutionBeams, ConvolutionCache, LayerPast
from clearhead.model.convolutional import ConvolutionalModel
from clearhead.model.stack import Stack
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE
from tests.unit.decoding.toys import align


def make_model(**changes: object) -> ConvolutionalModel:
    sizes = {"source_vocabulary": 13, "encoder_blocks": 2, "decoder_blocks": 3, "d_model": 10, "max_length": 40}
    torch.manual_seed(0)
    model = build_model(read_config({"architecture": "convolutional", **sizes, **changes}))
    assert isinstance(model, ConvolutionalModel)
    return model.double().eval()


def by_hand(*, is_causal: bool) -> GatedConvolution:
    """Return a layer of width 1 whose filter is 1, 10, 100; its gate is σ(0) = ½ everywhere."""
    layer = GatedConvolution(1, 3, is_causal=is_causal)
    with torch.no_grad():
        layer.filter.weight.copy_(torch.tensor([[1.0, 10.0, 100.0], [0.0, 0.0, 0.0]]))
        layer.filter.bias.copy_(torch.tensor([6.0, 0.0]))
    return layer


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize(
    ("is_causal", "expected"),
    [
        # ½ (before + 10 own + 100 after + 6), with 0 beyond the ends
        (False, [(0 + 10 + 200 + 6) / 2, (1 + 20 + 300 + 6) / 2, (2 + 30 + 0 + 6) / 2]),
        # ½ (second before + 10 before + 100 own + 6)
        (True, [(0 + 0 + 100 + 6) / 2, (0 + 10 + 200 + 6) / 2, (1 + 20 + 300 + 6) / 2]),
    ],
)
def test_a_filter_of_three_tokens_by_hand(is_causal: bool, expected: list[float], is_traced: bool) -> None:
    layer, x = by_hand(is_causal=is_causal), torch.tensor([[[1.0], [2.0], [3.0]]])
    y = convolve_traced(layer, x, trace=PartTrace()) if is_traced else layer(x)
    assert y[0, :, 0].tolist() == expected


def reached(logits: Tensor, others: Tensor) -> list[int]:
    """Return the places at which two results differ."""
    return (logits - others).abs().amax(dim=-1)[0].gt(1e-9).nonzero().flatten().tolist()


@pytest.mark.parametrize(("kernel", "num_layers", "reach"), [(3, 2, 2), (5, 2, 4), (1, 2, 0), (3, 3, 3)])
def test_an_encoder_sees_half_a_kernel_for_every_layer_on_both_sides(kernel: int, num_layers: int, reach: int) -> None:
    model = make_model(kernel=kernel, encoder_blocks=num_layers)
    source = torch.full((1, 17), 5)
    changed = source.clone()
    changed[0, 8] = 7
    assert reached(model.encode(source).states, model.encode(changed).states) == list(range(8 - reach, 8 + reach + 1))


def test_a_decoder_sees_a_kernel_less_one_for_every_layer() -> None:
    model = make_model(kernel=3, decoder_blocks=3, shape="decoder")
    target = torch.full((1, 17), 5)
    changed = target.clone()
    changed[0, 8] = 7
    assert reached(model.decode(target), model.decode(changed)) == list(range(8, 8 + 3 * 2 + 1))


def test_the_states_of_a_new_model_are_of_the_same_size_after_many_layers() -> None:
    model = make_model(d_model=64, encoder_blocks=12, decoder_blocks=12, dropout=0.0)
    source = torch.randint(3, 13, (7, 31))
    memory = model.encode(source)
    states = model.decode_states(model.shifted(source), memory)
    for x in (memory.states, states):
        assert 0.4 < float(x.detach().std()) < 2.5


def test_an_alignment_is_read_from_the_attention_of_any_layer() -> None:
    model = make_model()
    assert model.has_cross_attention
    source, target = torch.tensor([4, 5, 6, 2]), [7, 8, 2]
    attention = cross_attention(model, source, [target])[0]
    assert [layer.shape for layer in attention.weights] == [(1, 4, 4)] * 3
    for layer in attention.weights:
        torch.testing.assert_close(layer.sum(-1), torch.ones(1, 4, dtype=torch.float64))
    assert Head.usual(model.config) == Head(1)
    links = align(model, source, target)
    assert [word for _, word in links] == [0, 1]
    assert not make_model(shape="decoder").has_cross_attention


def test_dropout_is_on_only_in_training() -> None:
    model = make_model(dropout=0.5)
    source = torch.tensor([[4, 5, 6, 2]])
    assert torch.equal(model.encode(source).states, model.encode(source).states)
    model.train()
    assert not torch.equal(model.encode(source).states, model.encode(source).states)


def make_config(**changes: object) -> ModelConfig:
    sizes = {"architecture": "convolutional", "source_vocabulary": 13, "d_model": 4, "max_length": 5}
    return read_config({**sizes, **changes})


def test_a_sum_is_scaled_by_the_root_of_a_half_and_recorded() -> None:
    trace = PartTrace()
    total = add_scaled(torch.full((1, 1), 3.0), torch.full((1, 1), 1.0), "R", trace)
    assert total.item() == pytest.approx(4 * 0.5**0.5)
    assert [(record.step.name, record.symbol) for record in trace] == [("add", "R"), ("multiply", "R′")]


def test_padding_is_zero_before_a_convolution() -> None:
    block = ConvolutionalEncoderBlock(make_config()).eval()
    x, real = torch.randn(1, 3, 4), torch.tensor([[[1.0], [1.0], [0.0]]])
    changed = x.clone()
    changed[0, 2] = 9.0
    assert torch.equal(block(x, real), block(changed, real))
    assert not torch.equal(block(x, None), block(changed, None))


def test_only_a_decoder_with_a_source_has_attention() -> None:
    assert ConvolutionalDecoderBlock(make_config()).cross_attention is not None
    assert ConvolutionalDecoderBlock(make_config(shape="decoder")).cross_attention is None


def test_a_cache_keeps_the_last_inputs_of_real_tokens() -> None:
    cache = ConvolutionCache([torch.zeros(2, 2, 1)], torch.zeros(2, dtype=torch.long))
    places = cache.advance(torch.tensor([[1, 5, 6], [1, 0, 0]]), make_config())
    assert places.tolist() == [[0, 1, 2], [0, 1, 2]]
    past = LayerPast(cache, 0)
    x = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [8.0], [9.0]]])
    assert past.append(x)[..., 0].tolist() == [[0, 0, 1, 2, 3], [0, 0, 4, 8, 9]]
    assert past.inputs[..., 0].tolist() == [[2, 3], [0, 4]], "8 and 9 are inputs of padding"
    assert cache.lengths.tolist() == [3, 1]
    cache.reorder(torch.tensor([1, 0]))
    assert past.inputs[..., 0].tolist() == [[0, 4], [2, 3]]
    assert cache.advance(torch.tensor([[5], [6]]), make_config()).tolist() == [[1], [3]]


def test_continuations_follow_their_parents() -> None:
    beams = ConvolutionBeams([torch.zeros(1, 1, 2, 1)])
    past = LayerPast(beams, 0)
    past.append(torch.tensor([[[1.0]]]))
    beams.follow(torch.tensor([[0, 0]]))
    assert past.append(torch.tensor([[[2.0], [3.0]]]))[0, ..., 0].tolist() == [[0, 1, 2], [0, 1, 3]]
    beams.follow(torch.tensor([[1, 0, 1]]))
    assert past.inputs[0, ..., 0].tolist() == [[1, 3], [1, 2], [1, 3]]


def test_a_stack_adds_its_positions_and_has_a_norm_only_in_a_transformer() -> None:
    stack = Stack(make_config(), "encoder")
    assert stack.last_norm is None
    assert Stack(ModelConfig(source_vocabulary=13), "decoder").last_norm is not None
    torch.nn.init.normal_(stack.position)  # type: ignore[arg-type]
    ids = torch.tensor([[3, 3]])
    first, second = stack.eval().embed(ids, torch.tensor([[0, 1]]), NO_TRACE)[0]
    assert stack.position is not None
    torch.testing.assert_close(second - first, stack.position[1] - stack.position[0])
