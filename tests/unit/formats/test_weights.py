"""Tensors by name: what a config requires, what does not fit it, and their names in another program, by hand."""

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats.weights import (
    WeightMapping,
    build,
    checked_tensors,
    misfits,
    own_tensors,
    shapes_elsewhere,
    shapes_of,
    to_ours,
    to_theirs,
)
from clearhead.model import ModelConfig, Transformer

CONFIG = ModelConfig(
    source_vocabulary=13, encoder_blocks=1, decoder_blocks=1, d_model=6, num_heads=2, d_ff=7, max_length=11
)
# Here q, k and v are one table of six rows, elsewhere three of two; here the feed-forward is two tables, elsewhere one.
MAPPINGS = (WeightMapping(("packed",), ("q", "k", "v")), WeightMapping(("gate", "up"), ("both",)))
OURS = {
    "packed": torch.arange(30.0).view(6, 5),
    "gate": torch.full((2, 3), 7.0),
    "up": torch.full((2, 3), 11.0),
}
SHAPES = {name: tensor.shape for name, tensor in OURS.items()}


def test_rows_are_split_and_joined_again() -> None:
    theirs = to_theirs(OURS, MAPPINGS)
    assert list(theirs) == ["q", "k", "v", "both"]
    assert theirs["k"].tolist() == [[10.0, 11.0, 12.0, 13.0, 14.0], [15.0, 16.0, 17.0, 18.0, 19.0]]
    assert theirs["both"].tolist() == [[7.0] * 3] * 2 + [[11.0] * 3] * 2
    assert all(tensor.is_contiguous() for tensor in theirs.values())
    again = to_ours(theirs, MAPPINGS, SHAPES)
    assert again.keys() == OURS.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in OURS.items())


def test_shapes_elsewhere_are_those_of_the_tensors_there() -> None:
    expected = {"q": (2, 5), "k": (2, 5), "v": (2, 5), "both": (4, 3)}
    assert shapes_elsewhere(MAPPINGS, SHAPES) == expected
    assert {name: tuple(tensor.shape) for name, tensor in to_theirs(OURS, MAPPINGS).items()} == expected


def test_everything_that_does_not_fit_is_named() -> None:
    assert misfits(OURS, SHAPES) == ""
    tensors = {"packed": torch.ones(5, 6), "gate": torch.ones(2, 3, dtype=torch.int64), "bias": torch.tensor(1.0)}
    assert misfits(tensors, SHAPES) == (
        "1 tensor is missing (up); 1 tensor is not part of this model (bias); "
        "1 tensor is of another shape (packed is 5×6 instead of 6×5); "
        "1 tensor is not float16, bfloat16, float32 or float64 (gate is int64)"
    )
    assert misfits({}, dict.fromkeys("abcde", (2,))) == "5 tensors are missing (a, b, c …)"
    assert misfits({"a": torch.tensor(1.0)}, {"a": (3,)}) == (
        "1 tensor is of another shape (a is a single number instead of 3)"
    )


def test_a_tied_table_is_one_tensor_under_its_first_name() -> None:
    tied, untied = (Transformer(CONFIG.model_copy(update={"tied": tied})) for tied in ("three", "none"))
    assert len(own_tensors(untied)) == len(own_tensors(tied)) + 2
    assert set(own_tensors(tied)) < set(own_tensors(untied))
    for model in (tied, untied):
        expected = {name: tuple(tensor.shape) for name, tensor in own_tensors(model).items()}
        assert {name: tuple(shape) for name, shape in shapes_of(model.config).items()} == expected


@pytest.mark.parametrize(("dtype", "expected"), [(None, torch.float64), (torch.float16, torch.float16)])
def test_a_model_is_built_with_exactly_the_given_numbers(dtype: torch.dtype | None, expected: torch.dtype) -> None:
    tensors = {name: tensor.detach().double() for name, tensor in own_tensors(Transformer(CONFIG)).items()}
    before = torch.random.get_rng_state()
    model = build(CONFIG, tensors, dtype=dtype)
    assert torch.equal(torch.random.get_rng_state(), before), "the caller's random numbers go on as they would"
    assert not model.training
    for name, tensor in own_tensors(model).items():
        assert tensor.dtype == expected
        assert torch.equal(tensor, tensors[name].to(expected))


def test_a_model_that_is_no_longer_what_its_config_says_is_refused() -> None:
    model = Transformer(CONFIG)
    assert checked_tensors(model).keys() == own_tensors(model).keys()
    model.output.weight = torch.nn.Parameter(torch.ones(13, 5))
    with pytest.raises(CheckpointError, match="the model no longer matches its config: .*Was a tied table replaced"):
        checked_tensors(model)
