"""The vectors of every layer are those of the model's own pass."""

from typing import Any

import pytest
import torch

from clearhead.model import SequenceModel, build_model
from clearhead.model.config import read_config
from clearhead.studies.encoder_states import encoder_states, word_vectors

SHARED: dict[str, Any] = {"source_vocabulary": 23, "decoder_blocks": 1, "dropout": 0.5, "max_length": 7}
ENCODERS: dict[str, dict[str, Any]] = {
    "transformer": {"d_model": 12, "d_ff": 17, "num_heads": 2},
    "transformer, post-norm": {"d_model": 12, "d_ff": 17, "num_heads": 2, "norm_place": "post"},
    "convolutional": {"architecture": "convolutional", "d_model": 10},
    "recurrent, two directions": {"architecture": "recurrent", "d_model": 10},
    "recurrent, one direction": {"architecture": "recurrent", "d_model": 11, "is_bidirectional": False, "cell": "gru"},
    "recurrent, no residuals": {"architecture": "recurrent", "d_model": 11, "is_bidirectional": False,
                                "has_residuals": False},
}  # fmt: skip
SOURCE = torch.tensor([[5, 6, 7, 8, 2], [9, 5, 2, 0, 0]])
IS_REAL = (SOURCE != 0)[..., None]


def make_encoder(name: str, num_layers: int) -> SequenceModel:
    torch.manual_seed(5)
    return build_model(read_config({**SHARED, **ENCODERS[name], "encoder_blocks": num_layers})).eval()


@pytest.mark.parametrize("name", ENCODERS)
@torch.no_grad()
def test_the_states_of_a_layer_are_the_output_of_an_encoder_that_ends_there(name: str) -> None:
    model = make_encoder(name, 3)
    states = encoder_states(model, SOURCE)
    assert len(states) == 4
    for number in (1, 2, 3):
        shorter = make_encoder(name, number)
        names = shorter.state_dict()
        shorter.load_state_dict({key: value for key, value in model.state_dict().items() if key in names})
        layer = states[number]
        last_norm = getattr(model.encoder, "last_norm", None)
        if last_norm is not None and number < 3:
            layer = last_norm(layer, None)
        torch.testing.assert_close(layer * IS_REAL, shorter.encode(SOURCE).states * IS_REAL)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_first_vectors_are_rows_of_the_embedding_matrix_without_positions(name: str) -> None:
    model = make_encoder(name, 2)
    table = dict(model.named_parameters())["encoder.embedding.weight"]
    static = encoder_states(model, SOURCE)[0]
    assert torch.equal(static, table[SOURCE])
    assert torch.equal(static[0, 0], static[1, 1])  # the same word at another place


def test_a_model_in_training_mode_is_refused() -> None:
    with pytest.raises(AssertionError, match="dropout would change the vectors"):
        encoder_states(make_encoder("convolutional", 1).train(), SOURCE)


def test_the_vectors_of_the_pieces_of_a_word_are_averaged() -> None:
    states = [torch.arange(24.0).reshape(2, 4, 3), -torch.arange(24.0).reshape(2, 4, 3)]
    vectors = word_vectors(states, torch.tensor([[0, 1], [2, 3]]))
    assert vectors.tolist() == [[[1.5, 2.5, 3.5], [19.5, 20.5, 21.5]], [[-1.5, -2.5, -3.5], [-19.5, -20.5, -21.5]]]
