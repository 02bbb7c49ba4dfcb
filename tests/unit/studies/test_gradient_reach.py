"""Gradient reach: exactly 0 outside of the receptive field of a convolutional language model, and only there."""

from dataclasses import replace

import pytest
import torch

from clearhead.model import SequenceModel
from clearhead.studies import gradient_reach as study
from clearhead.studies.gradient_reach import (
    KINDS,
    MEASURES,
    gradient_norms,
    make_batch,
    right_answers,
)
from tests.unit.studies.tiny import TINY, measured

SIZES = replace(TINY["gradient-reach"], lengths=(2, 11), num_words=11, blocks=2)


def make_model(name: str, kind: str) -> SequenceModel:
    return study.make_model(name, kind, SIZES, 3)


def test_a_convolutional_language_model_has_a_gradient_of_exactly_0_outside_of_its_receptive_field() -> None:
    model = make_model("convolutional", "language model")
    field = 5  # two layers of kernel 3 add two words each to the last one
    norms = [gradient_norms(model, "language model", length, SIZES, 0)[0] for length in range(2, 12)]
    assert all(norm > 0.0 for norm in norms[: field - 1])
    assert norms[field - 1 :] == [0.0] * (10 - field + 1)


@pytest.mark.parametrize("name", ["recurrent-scaled", "transformer"])
def test_the_other_language_models_reach_the_first_word(name: str) -> None:
    model = make_model(name, "language model")
    assert gradient_norms(model, "language model", 11, SIZES, 0)[0] > 0.0


@pytest.mark.parametrize("name", ["recurrent-no-attention", "recurrent-scaled", "convolutional", "transformer"])
def test_every_translation_model_reaches_the_first_word_of_the_source(name: str) -> None:
    model = make_model(name, "translation")
    norm, share = gradient_norms(model, "translation", 11, SIZES, 0)
    assert norm > 0.0
    assert 0.0 < share < 1.0


def test_the_norm_is_that_of_a_difference_quotient() -> None:
    model = make_model("recurrent-scaled", "language model").to(dtype=torch.float64)
    sizes = replace(SIZES, num_measured=1)
    norm, _ = gradient_norms(model, "language model", 4, sizes, 0)
    from clearhead.studies.gradient_reach import loss_of_last
    from clearhead.studies.learning import held_out

    batch = held_out(make_batch("language model", 4, sizes), 1, 0)
    assert batch.target is not None
    table = dict(model.named_parameters())["decoder.embedding.weight"]
    slopes = []
    with torch.no_grad():
        before = float(loss_of_last(model, batch).total)
        for column in range(table.shape[1]):
            table[batch.target[0, 0], column] += 1e-6
            slopes.append((float(loss_of_last(model, batch).total) - before) / 1e-6)
            table[batch.target[0, 0], column] -= 1e-6
    assert norm == pytest.approx(float(torch.tensor(slopes).norm()), rel=1e-3)


def test_sentences_have_different_words_and_end_with_the_first() -> None:
    random = torch.Generator().manual_seed(0)
    recall, reverse = (make_batch(kind, 5, SIZES)(7, random) for kind in reversed(tuple(KINDS)))
    assert recall.target is not None
    assert reverse.source is not None
    assert reverse.target is not None
    assert recall.target.shape == reverse.target.shape == (7, 6)
    assert all(len(set(row[:5])) == 5 and row[5] == row[0] for row in recall.target.tolist())
    assert reverse.target[:, 4].tolist() == reverse.source[:, 0].tolist()
    assert right_answers(make_model("transformer", "translation"), make_batch("translation", 5, SIZES), 9, 0) <= 1.0


def test_the_tables_have_all_measurements_of_every_variant() -> None:
    translation, language_model = measured("gradient-reach").tables
    assert translation.columns == ("variant", "measure", "2 words", "5 words")
    assert language_model.column("measure") == MEASURES * 3
