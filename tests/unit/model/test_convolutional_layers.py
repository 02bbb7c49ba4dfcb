"""The layers of a convolutional model, the inputs that it keeps between steps, and its embeddings."""

import pytest
import torch

from clearhead.model.config import ModelConfig, read_config
from clearhead.model.convolution_cache import ConvolutionBeams, ConvolutionCache, LayerPast
from clearhead.model.convolutional_layers import ConvolutionalDecoderBlock, ConvolutionalEncoderBlock, add_scaled
from clearhead.model.stack import Stack
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE


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
