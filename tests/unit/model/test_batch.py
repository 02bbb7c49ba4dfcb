"""Batches that a model cannot read are refused with a clear message."""

from typing import Any

import pytest
import torch

from clearhead.errors import DataError
from clearhead.model import Transformer
from clearhead.model.batch import Batch, check_batch, check_length
from tests.parity.models import make_inputs, make_model


def ids(*rows: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor(rows)


GOOD = ids((3, 4, 5, 2), (3, 2, 0, 0))
OK = Batch(GOOD, GOOD)
MISTAKES: list[tuple[str, Batch, str]] = [
    (
        "encoder-decoder",
        OK._replace(source=ids((3, 11, 99, 2), (3, 2, 0, 0))),
        "source[0, 1] = 11 (and 1 other) is not in a vocabulary of 11 tokens, which has the ids 0 to 10. Was the text tokenised with this model's tokeniser?",
    ),
    (
        "encoder-decoder",
        OK._replace(target=ids((3, 4, 5, 2), (-1, 2, 0, 0))),
        "target[1, 0] = -1 is not in a vocabulary of 13 tokens, which has the ids 0 to 12. Was the text tokenised with this model's tokeniser?",
    ),
    (
        "encoder-decoder",
        OK._replace(source=torch.full((2, 23), 3)),
        "the source is 23 tokens long, and this model has positions for 19. Shorten or split it, or train a model with a larger max_length.",
    ),
    (
        "encoder-decoder",
        OK._replace(source=ids((3, 2), (0, 0))),
        "source[1] contains only padding (id 0). A sentence ends with eos, so even an empty one has a token: remove the row.",
    ),
    (
        "encoder-decoder",
        OK._replace(target=ids((0, 3, 2), (3, 4, 2))),
        "target[0] has padding (id 0) before a token. Pad sentences on the right.",
    ),
    (
        "encoder-decoder",
        OK._replace(is_padded=False, source=ids((3, 2), (4, 2))),
        "the batch has is_padded = False, but its target contains padding (id 0). Remove is_padded.",
    ),
    (
        "encoder-decoder",
        OK._replace(source=GOOD.int()),
        "the source has dtype torch.int32, but ids must be torch.int64. Use source.long().",
    ),
    (
        "encoder-decoder",
        OK._replace(target=GOOD.double()),
        "the target has dtype torch.float64, but ids must be torch.int64. Use target.long().",
    ),
    (
        "encoder-decoder",
        OK._replace(source=GOOD[0]),
        "the source has the shape (4,). Give (sentences, tokens), at least one of each.",
    ),
    (
        "encoder-decoder",
        OK._replace(source=GOOD[:, :0]),
        "the source has the shape (2, 0). Give (sentences, tokens), at least one of each.",
    ),
    (
        "encoder-decoder",
        OK._replace(source=GOOD[:1]),
        "the source has 1 sentence and the target 2. Sentence i of the target translates sentence i of the source: give both the same number.",
    ),
    (
        "encoder-decoder",
        OK._replace(source=None),
        "the batch has no source, which a model of shape encoder-decoder reads. Give ids as source.",
    ),
    ("decoder", OK, "the batch has a source, which a model of shape decoder does not read. Remove the source."),
    ("decoder", Batch(), "the batch has no target, which a model of shape decoder reads. Give ids as target."),
    ("encoder", Batch(GOOD, labels=ids((0, 3))[0]), "labels[1] = 3 is not one of 3 classes, which are 0 to 2."),
    (
        "encoder",
        Batch(GOOD, labels=ids((0,))[0]),
        "the labels have dtype torch.int64 and shape (1,). Give one torch.int64 for each of 2 sentences.",
    ),
    (
        "decoder",
        Batch(target=GOOD, labels=ids((0, 1))[0]),
        "the batch has labels, which a model of shape decoder does not read. Remove them.",
    ),
]


@pytest.mark.parametrize(("shape", "batch", "message"), MISTAKES, ids=[message[:50] for _, _, message in MISTAKES])
def test_a_batch_that_cannot_be_read_is_refused_in_one_sentence(shape: str, batch: Batch, message: str) -> None:
    model = make_model(shape)
    with pytest.raises(DataError) as error:
        check_batch(batch, model.config)
    assert str(error.value) == message
    with pytest.raises(DataError) as error:
        model.trace(batch)
    assert str(error.value) == message


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
@pytest.mark.parametrize("mask", ["none", "right padding"])
def test_a_good_batch_passes(shape: str, mask: str) -> None:
    model = make_model(shape)
    check_batch(make_inputs(model.config, mask).batch, model.config)


def test_all_mistakes_of_a_batch_are_reported_together() -> None:
    with pytest.raises(DataError) as error:
        check_batch(Batch(ids((99, 2), (0, 0)), GOOD.int()), make_model("encoder-decoder").config)
    for word in ("source[0, 0] = 99", "source[1] contains only padding", "target has dtype torch.int32"):
        assert word in str(error.value)


def test_positions_without_a_table_have_no_longest_sentence() -> None:
    model = make_model("decoder", 1)  # rotary
    batch = Batch(target=torch.full((2, 23), 3))
    check_batch(batch, model.config)
    assert model(batch).shape == (2, 23, 11)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_forward_itself_refuses_a_sentence_beyond_the_table(side: str, positions: str) -> None:
    model = make_model("encoder-decoder", positions=positions)
    with pytest.raises(DataError, match=f"^the {side} is 23 tokens long, and this model has positions for 19"):
        model(OK._replace(**{side: torch.full((2, 23), 3)}))


def decode_on(
    model: Transformer, number: int, token: int = 3, first: tuple[tuple[int, ...], ...] = ((1,), (1,))
) -> Any:
    """Decode `first`, then one token at a time, with a cache."""
    cache = model.start_cache(None, 2, torch.device("cpu"))
    model.decode(ids(*first), None, cache)
    for _ in range(number):
        model.decode(torch.full((2, 1), token), None, cache)
    return cache


def test_decoding_with_a_cache_is_refused_beyond_the_table() -> None:
    model = make_model("decoder")
    assert decode_on(model, 18).lengths.tolist() == [19, 19]
    with pytest.raises(DataError, match="the target is 20 tokens long, and this model has positions for 19"):
        decode_on(model, 19)


def test_padding_in_a_cache_takes_no_position() -> None:
    model = make_model("decoder")
    assert decode_on(model, 17, first=((1, 0), (1, 0))).lengths.tolist() == [18, 18]
    assert decode_on(model, 18, first=((1, 0), (1, 0))).lengths.tolist() == [19, 19]
    assert decode_on(model, 40, token=0).lengths.tolist() == [1, 1]


def test_a_change_is_made_to_every_tensor_and_to_nothing_else() -> None:
    batch = Batch(GOOD, GOOD[:, :3], torch.tensor([1, 0]), False, GOOD.clamp(max=1), GOOD[:, :3].clamp(max=1))
    twice = batch.changed(lambda part: torch.cat((part, part)))
    assert [len(part) for part in twice if isinstance(part, torch.Tensor)] == [4] * 5
    assert twice.is_padded is False
    assert Batch(None, GOOD).changed(lambda part: part + 1).source is None


def test_rows_are_counted_on_whichever_side_there_is() -> None:
    assert Batch(GOOD).num_rows == Batch(target=GOOD).num_rows == 2


def test_only_a_table_of_positions_has_an_end() -> None:
    config = make_model("encoder-decoder", 0, torch.float32).config.model_copy(update={"max_length": 19})
    check_length(19, config, "source")
    with pytest.raises(DataError, match="the source is 20 tokens long, and this model has positions for 19"):
        check_length(20, config, "source")
    check_length(20, config.model_copy(update={"positions": "rotary"}), "source")
