"""Patches: states of the encoder are replaced at the chosen layer and positions, and nowhere else."""

import pytest
import torch

from clearhead.errors import TraceError
from clearhead.model import Batch
from clearhead.model.gates import NO_GATES, Gates
from clearhead.model.patch import PatchedModel, StatePatch, read_states
from tests.unit.decoding.toys import random_model

MODEL = random_model(36, encoder_blocks=3)
SOURCE, OTHER = torch.tensor([[5, 9, 17, 11, 2]]), torch.tensor([[23, 8, 6, 19, 2]])
TARGET = torch.tensor([[7, 8, 2]])
HALF = Gates({"encoder.1.self_attention": torch.tensor([0.5, 0.5], dtype=torch.float64)})


def patched(layer: int, positions: tuple[int, ...], other: torch.Tensor = OTHER) -> PatchedModel:
    states = read_states(MODEL, other, layer)[0, list(positions)]
    return PatchedModel(MODEL, NO_GATES, StatePatch(layer, positions, states))


def test_the_states_after_a_layer_are_those_of_a_trace() -> None:
    _, trace = MODEL.trace(Batch(SOURCE, TARGET))
    for layer in range(3):
        records = [record for record in trace if record.where.startswith(f"encoder.{layer}.")]
        assert torch.allclose(read_states(MODEL, SOURCE, layer), records[-1].value, rtol=1e-12)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_all_positions_of_another_sentence_give_its_memory(layer: int) -> None:
    model = patched(layer, (0, 1, 2, 3, 4))
    assert torch.equal(model.encode(SOURCE).states, MODEL.encode(OTHER).states)
    assert torch.equal(model(Batch(SOURCE, TARGET)), MODEL(Batch(OTHER, TARGET)))


def test_a_sentence_patched_with_itself_is_unchanged() -> None:
    assert torch.equal(patched(1, (1, 3), SOURCE).encode(SOURCE).states, MODEL.encode(SOURCE).states)


def test_a_patch_after_the_last_layer_changes_its_positions_only() -> None:
    states, plain = patched(2, (1, 3)).encode(SOURCE).states, MODEL.encode(SOURCE).states
    other = MODEL.encode(OTHER).states
    assert torch.equal(states[:, [0, 2, 4]], plain[:, [0, 2, 4]])
    assert torch.equal(states[:, [1, 3]], other[:, [1, 3]])


def test_an_earlier_patch_reaches_the_other_positions_through_attention() -> None:
    states = patched(0, (1,)).encode(SOURCE).states
    assert (states != MODEL.encode(SOURCE).states).any(dim=-1).all()


def test_gates_and_patches_are_combined() -> None:
    patch = patched(0, (1,)).patch
    gated, plain = PatchedModel(MODEL, HALF, patch), PatchedModel(MODEL, NO_GATES, patch)
    assert torch.equal(gated.encode(SOURCE).states, plain.encode(SOURCE, gates=HALF).states)
    assert not torch.equal(gated.encode(SOURCE).states, plain.encode(SOURCE).states)


def test_a_patched_model_has_no_trace() -> None:
    with pytest.raises(TraceError, match="a patched model has no trace"):
        patched(1, (1,)).trace(Batch(SOURCE, TARGET))
