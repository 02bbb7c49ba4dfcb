"""Word senses: static vectors say nothing, and a convolutional encoder nothing about what it does not see."""

import numpy as np
import pytest
import torch

from clearhead.model import SequenceModel, build_model
from clearhead.studies.encoder_states import encoder_states
from clearhead.studies.sense_task import SenseTask
from clearhead.studies.variants import VARIANTS, matched_config
from clearhead.studies.word_senses import (
    OccurrenceVectors,
    SenseSizes,
    measure_layers,
    read_vectors,
)
from tests.unit.studies.tiny import measured

TASK = SenseTask(length=9, farthest=7, num_plain=5, num_cues=1, num_ambiguous=2)
SIZES = SenseSizes(task=TASK, distances=(1, 2, 3, 5), num_tested=16, width=16, blocks=2)


def make_model(name: str, *, has_output_bias: bool = False) -> SequenceModel:
    torch.manual_seed(3)
    shared = {
        "source_vocabulary": TASK.vocabulary,
        "encoder_blocks": 2,
        "decoder_blocks": 1,
        "max_length": 10,
        "has_output_bias": has_output_bias,
    }
    return build_model(matched_config(VARIANTS[name], shared, 16)).eval()


@pytest.mark.parametrize("name", ["recurrent-no-attention", "convolutional", "transformer"])
def test_another_cue_changes_the_vector_unless_it_is_outside_of_the_receptive_field(name: str) -> None:
    model = make_model(name)
    source = torch.full((1, 10), 3)
    source[0, 0], source[0, 9] = TASK.first_ambiguous, 2
    for distance in range(1, 8):
        pair = source.repeat(2, 1)
        pair[:, distance] = torch.tensor([TASK.first_cue, TASK.first_cue + 1])
        static, *_, last = encoder_states(model, pair)
        assert torch.equal(static[0, 0], static[1, 0])
        is_seen = name != "convolutional" or distance <= 2
        assert torch.equal(last[0, 0], last[1, 0]) != is_seen


def test_the_tested_sentences_are_the_same_for_all_models_and_half_of_them_are_known() -> None:
    one, other = (read_vectors(make_model(name), SIZES, 5) for name in ("transformer", "recurrent-scaled"))
    assert one.vectors.shape == (3, 8 * 16, 16)
    assert one.cues.tolist() == other.cues.tolist() == [cue for cue in (-5, -3, -2, -1, 1, 2, 3, 5) for _ in range(16)]
    assert (one.words.tolist(), one.senses.tolist()) == (other.words.tolist(), other.senses.tolist())
    for word in (0, 1):
        for sense in (0, 1):
            is_kind = (one.words == word) & (one.senses == sense)
            assert one.is_known[is_kind].mean() == 0.5


def test_a_word_is_right_if_its_translation_is_the_most_likely_one_after_the_right_words() -> None:
    model = make_model("transformer", has_output_bias=True)
    with torch.no_grad():  # this translation is always the most likely one
        dict(model.named_parameters())["output.bias"][TASK.first_translation] = 1000.0
    data = read_vectors(model, SIZES, 5)
    assert data.is_right.tolist() == ((data.words == 0) & (data.senses == 0)).tolist()


def test_each_word_is_measured_by_itself() -> None:
    # Two words with the same sense direction and different offsets; the cue at place 5 is not in the vectors.
    words, senses, cues, known = (np.array(values) for values in np.indices((2, 2, 2, 4)).reshape(4, -1))
    vectors = np.stack([100.0 * words + 1.0, np.where(cues == 0, senses, 0.0)], axis=1)[None]
    data = OccurrenceVectors(
        vectors, words, senses, np.where(cues == 0, 1, 5), known % 2 == 1, np.ones(len(words), bool)
    )
    (layer,) = measure_layers(data, (1, 5))
    assert layer.centroid.tolist() == [1.0, 0.5]
    assert layer.linear.tolist() == [1.0, 0.5]


def test_static_vectors_are_exactly_a_guess_in_every_variant() -> None:
    _, layers, cues = measured("word-senses").tables
    rows = [row for row in layers.rows if row[1] == "static"]
    assert len(rows) == 4
    assert all(row[2:6] == (0.5, 0.5, 0.5, 0.5) for row in rows)
    assert all(row[6:] == pytest.approx((1.0, 1.0), abs=1e-12) for row in rows)
    assert cues.columns == ("variant", "share", "1 word", "3 words")
    assert len(cues.rows) == 16
