"""The interface of the Transformer: capabilities, shapes, initial weights and tracing."""

import math

import pytest
import torch

from clearhead.errors import DataError, TraceError
from clearhead.model.batch import Batch
from clearhead.model.config import ModelConfig
from clearhead.model.transformer import Transformer

SIZES = {"source_vocabulary": 23, "d_model": 14, "num_heads": 7, "d_ff": 11, "dropout": 0.0, "max_length": 17}


def model_of(shape: str = "encoder-decoder", **changes: object) -> Transformer:
    blocks = {
        "encoder-decoder": {"encoder_blocks": 2, "decoder_blocks": 3},
        "encoder": {"encoder_blocks": 2, "num_classes": 5},
        "decoder": {"decoder_blocks": 3},
    }[shape]
    torch.manual_seed(3)
    return Transformer(ModelConfig(shape=shape, **{**SIZES, **blocks, **changes})).eval()


SOURCE = torch.tensor([[3, 4, 5, 2], [6, 2, 0, 0]])
TARGET = torch.tensor([[7, 8, 2], [9, 2, 0]])


@pytest.mark.parametrize(
    ("shape", "abilities"),
    [
        ("encoder-decoder", (True, False, False)),
        ("encoder", (False, True, False)),
        ("decoder", (False, False, True)),
    ],
)
def test_the_shape_decides_what_a_model_can_do(shape: str, abilities: tuple[bool, ...]) -> None:
    model = model_of(shape)
    assert (model.can_translate, model.can_classify, model.can_continue_text) == abilities
    assert model.has_cross_attention == (shape == "encoder-decoder")


def test_logits_are_of_every_target_token() -> None:
    assert model_of()(Batch(SOURCE, TARGET)).shape == (2, 3, 23)
    assert model_of("decoder")(Batch(target=TARGET)).shape == (2, 3, 23)
    assert model_of("encoder")(Batch(SOURCE)).shape == (2, 5)


def test_the_decoder_reads_its_target_one_place_later() -> None:
    model = model_of()
    start = model.config.start_id
    assert model.shifted(TARGET).tolist() == [[start, 7, 8], [start, 9, 2]]


def test_tied_tables_are_one_tensor() -> None:
    three, none = model_of(tied="three"), model_of(tied="none")
    assert three.encoder.embedding.weight is three.decoder.embedding.weight is three.output.weight  # type: ignore[union-attr]
    assert none.encoder.embedding.weight is not none.decoder.embedding.weight  # type: ignore[union-attr]


def test_a_new_model_is_unsure_of_every_token() -> None:
    loss = model_of().loss(Batch(SOURCE, TARGET)).mean
    assert abs(float(loss.detach()) - math.log(23)) < 0.7


def test_a_sentence_that_is_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(DataError, match="the source is 18 tokens long, and this model has positions for 17"):
        model_of().encode(torch.full((1, 18), 3))


def test_a_trace_needs_eval_mode_and_room() -> None:
    batch = Batch(SOURCE, TARGET)
    with pytest.raises(TraceError, match=r"eval\(\)"):
        model_of().train().trace(batch)
    with pytest.raises(TraceError, match="Trace fewer or shorter sentences, or raise max_bytes"):
        model_of().trace(batch, max_bytes=1000)
    output, trace = model_of().trace(batch)
    assert output.shape == (2, 3, 23)
    assert len(trace) > 50


def test_only_matrices_are_weight_matrices() -> None:
    model = model_of()
    assert {tensor.dim() for tensor in model.weight_matrices()} == {2}
    assert len(model.blocks()) == 5
