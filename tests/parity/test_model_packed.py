"""Several sentences in one row are the same sentences one by one: losses, gradients, and all three tests of the trace."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from clearhead.errors import DataError
from clearhead.model import Batch, Transformer, check_batch
from clearhead.model.positions import packed_places
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE
from tests.parity.models import PAD, VARIANTS, chain_all, make_model, replay_all
from tests.tolerances import assert_close, assert_close_gradients

# Lengths of the sentences of each row, source and target: the second row has unused places on both sides.
ROWS = (((5, 3), (2, 7), (4, 1)), ((3, 2), (6, 5)))
SOURCE, TARGET = 11, 13
CASES = [
    (shape, variant)
    for shape in ("encoder-decoder", "decoder")
    for variant, options in enumerate(VARIANTS)
    if options["encoder_norm"] != "all" or shape == "decoder"
]


def sentences_of(config: Any) -> list[list[Batch]]:
    """Return the sentences of each row, each as a separate batch."""
    random = torch.Generator().manual_seed(0)

    def ids(size: int, length: int) -> Tensor:
        return torch.randint(3, size, (1, length), generator=random)

    return [
        [
            Batch(
                ids(config.source_vocabulary, source) if config.shape != "decoder" else None,
                ids(config.target_size, target),
                is_padded=False,
            )
            for source, target in row
        ]
        for row in ROWS
    ]


def packed(rows: list[list[Batch]], width: tuple[int, int] = (SOURCE, TARGET)) -> Batch:
    """Return the rows as one batch."""
    sides: dict[str, Tensor | None] = {}
    for side, length in zip(("source", "target"), width, strict=True):
        if getattr(rows[0][0], side) is None:
            sides |= {side: None, f"{side}_sentences": None}
            continue
        ids = torch.full((len(rows), length), PAD)
        numbers = torch.zeros_like(ids)
        for at, row in enumerate(rows):
            row_ids = torch.cat([getattr(sentence, side)[0] for sentence in row])
            ids[at, : len(row_ids)] = row_ids
            counted = [torch.full_like(getattr(sentence, side)[0], n) for n, sentence in enumerate(row, 1)]
            numbers[at, : len(row_ids)] = torch.cat(counted)
        sides |= {side: ids, f"{side}_sentences": numbers}
    return Batch(**sides)


def gradients(model: Transformer, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(("shape", "variant"), CASES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_packed_rows_is_the_sum_of_their_sentences_losses(
    shape: str, variant: int, smoothing: float
) -> None:
    model = make_model(shape, variant)
    rows = sentences_of(model.config)
    together = model.loss(packed(rows), smoothing)
    alone = [model.loss(sentence, smoothing) for row in rows for sentence in row]
    assert int(together.num_tokens) == sum(int(loss.num_tokens) for loss in alone) == 18
    assert_close(together.total.detach(), sum(loss.total for loss in alone).detach())


@pytest.mark.parametrize(("shape", "variant"), CASES[::2])
def test_their_gradients_are_the_sum_of_the_sentences_gradients(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    rows = sentences_of(model.config)
    together = gradients(model, model.loss(packed(rows)).total)
    alone = gradients(model, sum(model.loss(sentence).total for row in rows for sentence in row))
    largest = max(float(gradient.abs().max()) for gradient in alone.values())
    assert together.keys() == alone.keys()
    for name, gradient in alone.items():
        assert_close_gradients(together[name], gradient, largest, "float64")


@pytest.mark.parametrize(("shape", "variant"), CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_the_fused_output_is_the_traced_output(shape: str, variant: int, dtype: torch.dtype) -> None:
    model = make_model(shape, variant, dtype)
    batch = packed(sentences_of(model.config))
    fused, traced = model(batch), model(batch, probe=Probe(PartTrace()))
    assert fused.isfinite().all()
    assert_close(fused.detach(), traced.detach(), str(dtype).removeprefix("torch."))


@pytest.mark.parametrize(("shape", "variant"), CASES[::2])
def test_fused_and_traced_attention_have_the_same_gradients(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    batch = packed(sentences_of(model.config))
    fused, traced = (
        gradients(model, model(batch, probe=Probe(trace)).square().sum()) for trace in (NO_TRACE, PartTrace())
    )
    largest = max(float(gradient.abs().max()) for gradient in traced.values())
    for name, gradient in traced.items():
        assert_close_gradients(fused[name], gradient, largest, "float64")


@pytest.mark.parametrize(("shape", "variant"), CASES)
def test_the_oracle_recomputes_every_record(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    _, trace = model.trace(packed(sentences_of(model.config)))
    assert len(trace) > 20
    replay_all(trace)


@pytest.mark.parametrize(("shape", "variant"), CASES)
def test_every_input_is_a_parameter_a_model_input_or_an_earlier_value(shape: str, variant: int) -> None:
    model = make_model(shape, variant)
    batch = packed(sentences_of(model.config))
    output, trace = model.trace(batch)
    chain_all(model, trace, expected_givens(model, batch))
    assert output.data_ptr() == trace[-1].value.data_ptr()


def expected_givens(model: Transformer, batch: Batch) -> Callable[[str], Any]:
    """Return what a given that is not a parameter must be: computed from lengths alone, in plain loops."""
    start = model.config.start_id

    def numbers(side: int) -> list[list[int]]:
        width = (SOURCE, TARGET)[side]
        rows = [[n for n, pair in enumerate(row, 1) for _ in range(pair[side])] for row in ROWS]
        return [row + [0] * (width - len(row)) for row in rows]

    def places(side: int) -> list[list[int]]:
        width = (SOURCE, TARGET)[side]
        rows = [[place for pair in row for place in range(pair[side])] for row in ROWS]
        return [row + [0] * (width - len(row)) for row in rows]

    def expected(name: str) -> Any:
        where, last = name.split(".")[0], name.split(".")[-1]
        side = 0 if where in ("input", "encoder") else 1
        match last:
            case "tokens":
                assert batch.target is not None
                if side == 0:
                    assert batch.source is not None
                    return batch.source.tolist()
                target, of = batch.target.tolist(), numbers(1)
                return [
                    [start if j == 0 or of[i][j] != of[i][j - 1] else row[j - 1] for j in range(TARGET)]
                    for i, row in enumerate(target)
                ]
            case "positions":
                return places(side)
            case "scale":
                return [[math.sqrt(model.config.d_model if side == 0 else model.config.decoder_width)]]
            case "M":
                is_cross = "cross_attention" in name
                queries, keys = numbers(side), numbers(0 if is_cross else side)
                is_causal = side == 1 and not is_cross
                return [
                    [
                        [k != 0 and k == q and (j <= i or not is_causal) for j, k in enumerate(keys[row])]
                        for i, q in enumerate(queries[row])
                    ]
                    for row in range(len(ROWS))
                ]
        return None

    return expected


def test_no_token_depends_on_another_sentence_of_its_row() -> None:
    model = make_model("encoder-decoder", 0)
    rows = sentences_of(model.config)
    before = model(packed(rows))[0, :3]
    other = rows[0][1]
    assert other.source is not None
    assert other.target is not None
    rows[0][1] = other._replace(source=other.source.flip(1) % 8 + 3, target=other.target.flip(1) % 8 + 3)
    assert_close(model(packed(rows))[0, :3].detach(), before.detach())


def test_the_decoder_reads_the_start_token_at_the_start_of_each_sentence() -> None:
    model = make_model("encoder-decoder", 0)
    numbers = torch.tensor([[1, 1, 1, 2, 2, 3, 0]])
    target = torch.tensor([[5, 6, 2, 7, 2, 2, 0]])
    start = model.config.start_id
    # the first place of the padding also gets the start token, which is not used
    assert model.shifted(target, numbers).tolist() == [[start, 5, 6, start, 7, start, start]]


def test_positions_restart_in_each_sentence_and_padding_has_the_first_position() -> None:
    numbers = torch.tensor([[1, 1, 1, 2, 2, 3, 0, 0], [1, 2, 2, 2, 2, 2, 2, 2]])
    assert packed_places(numbers).tolist() == [[0, 1, 2, 0, 1, 0, 0, 0], [0, 0, 1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_row_can_be_longer_than_the_position_table(positions: str) -> None:
    model = make_model("encoder-decoder", 0, positions=positions, max_length=7)
    rows = sentences_of(model.config)
    wide = packed(rows, (29, 31))  # the padding alone is longer than the table
    check_batch(wide, model.config)
    assert_close(model.loss(wide).total.detach(), model.loss(packed(rows)).total.detach())


def test_a_packed_sentence_longer_than_the_positions_is_refused() -> None:
    model = make_model("encoder-decoder", 0, max_length=6)
    batch = packed(sentences_of(model.config))
    with pytest.raises(DataError, match="the target is 7 tokens long, and this model has positions for 6"):
        check_batch(batch, model.config)
    with pytest.raises(DataError, match="the target is 7 tokens long"):
        model(batch)


def test_numbers_of_sentences_that_do_not_fit_the_ids_are_refused() -> None:
    model = make_model("encoder-decoder", 0)
    batch = packed(sentences_of(model.config))
    assert batch.source_sentences is not None
    with pytest.raises(DataError, match=r"source_sentences has the shape \(2, 10\), but the source has \(2, 11\)"):
        check_batch(batch._replace(source_sentences=batch.source_sentences[:, 1:]), model.config)
    with pytest.raises(DataError, match="source_sentences must be 0 exactly where the source is padding"):
        check_batch(batch._replace(source_sentences=batch.source_sentences.clamp(min=1)), model.config)


def test_a_norm_over_sentences_rejects_packed_rows() -> None:
    model = make_model("encoder-decoder", 0, encoder_norm="all")
    batch = packed(sentences_of(model.config))
    with pytest.raises(DataError, match="encoder_norm = 'all' averages over entire rows"):
        check_batch(batch, model.config)


def test_a_batch_of_packed_rows_can_be_split_by_rows() -> None:
    model = make_model("encoder-decoder", 0)
    batch = packed(sentences_of(model.config))
    parts = [batch.changed(lambda tensor, at=at: tensor[at : at + 1]) for at in range(2)]
    assert batch.num_rows == 2
    assert [part.num_rows for part in parts] == [1, 1]
    assert_close(sum(model.loss(part).total for part in parts).detach(), model.loss(batch).total.detach())
