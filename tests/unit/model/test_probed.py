"""A model seen through a probe is the model with its gates or patch in every pass, and leaves the model as it is."""

from typing import Any

import pytest
import torch

from clearhead.errors import TraceError
from clearhead.model import Batch
from clearhead.model.gates import Gates
from clearhead.model.probe import Probe
from clearhead.model.probed import ProbedModel, StatePatch, read_states
from tests.parity.models import make_gates, make_inputs, make_model
from tests.unit.decoding.toys import random_model

MODEL = random_model(36, encoder_blocks=3)
SOURCE, OTHER = torch.tensor([[5, 9, 17, 11, 2]]), torch.tensor([[23, 8, 6, 19, 2]])
TARGET = torch.tensor([[7, 8, 2]])
HALF = Gates({"encoder.1.self_attention": torch.tensor([0.5, 0.5], dtype=torch.float64)})


def gated_model(shape: str = "encoder-decoder") -> tuple[Any, ProbedModel, Any]:
    model = make_model(shape, 5)
    gates = make_gates(model.config)
    return model, ProbedModel(model, Probe(gates=gates)), gates


def test_it_can_do_what_the_model_can_do() -> None:
    model, view, _ = gated_model()
    for name in ("config", "device", "dtype", "training", "can_translate", "can_classify", "can_continue_text"):
        assert getattr(view, name) == getattr(model, name), name
    assert (view.has_cross_attention, view.can_record_steps) == (model.has_cross_attention, model.can_record_steps)


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_a_pass_is_that_of_the_model_with_the_gates(shape: str) -> None:
    model, view, gates = gated_model(shape)
    batch = make_inputs(model.config, "right padding").batch
    assert torch.equal(view(batch), model(batch, probe=Probe(gates=gates)))
    assert not torch.allclose(view(batch), model(batch))
    logits, trace = view.trace(batch)
    assert torch.equal(logits, model.trace(batch, probe=Probe(gates=gates))[0])
    assert trace.find("multiply", "*.gate")


def test_encoding_and_decoding_use_the_gates() -> None:
    model, view, gates = gated_model()
    batch = make_inputs(model.config, "right padding").batch
    memory, expected = view.encode(batch.source), model.encode(batch.source, probe=Probe(gates=gates))
    assert torch.equal(memory.states, expected.states)
    ids = view.shifted(batch.target)
    logits = model.decode(ids, expected, probe=Probe(gates=gates))
    assert torch.equal(view.decode(ids, memory), logits)
    assert torch.equal(view.project(view.decode_states(ids, memory)), logits)
    for start, beam in ((view.start_cache, 1), (view.start_beams, 1)):
        cache = start(memory, len(ids), ids.device)
        first = view.decode(ids[:, :beam], memory, cache)
        torch.testing.assert_close(first[:, 0], logits[:, 0])


def test_gates_given_to_a_pass_replace_the_default_ones() -> None:
    model, view, _ = gated_model()
    batch = make_inputs(model.config, "right padding").batch
    others = make_gates(model.config, seed=7)
    assert torch.equal(view(batch, probe=Probe(gates=others)), model(batch, probe=Probe(gates=others)))


def test_the_mode_and_the_precision_are_those_of_the_model() -> None:
    model, view, _ = gated_model()
    assert view.train() is view
    assert model.training
    assert view.eval() is view
    assert not model.training
    view.to(dtype=torch.float32)
    assert model.dtype == view.dtype == torch.float32


# Patches: states of the encoder are replaced at the chosen layer and positions, and nowhere else


def patched(layer: int, positions: tuple[int, ...], other: torch.Tensor = OTHER) -> ProbedModel:
    states = read_states(MODEL, other, layer)[0, list(positions)]
    return ProbedModel(MODEL, Probe(edit=StatePatch(layer, positions, states)))


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
    plain = patched(0, (1,))
    gated = ProbedModel(MODEL, Probe(gates=HALF, edit=plain.probe.edit))
    assert torch.equal(gated.encode(SOURCE).states, plain.encode(SOURCE, probe=Probe(gates=HALF)).states)
    assert not torch.equal(gated.encode(SOURCE).states, plain.encode(SOURCE).states)


def test_a_patched_model_has_no_trace() -> None:
    with pytest.raises(TraceError, match="a patched model has no trace"):
        patched(1, (1,)).trace(Batch(SOURCE, TARGET))
