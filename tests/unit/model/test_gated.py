"""A model seen through gates is the model with these gates in every pass, and leaves the model as it is."""

from typing import Any

import pytest
import torch

from clearhead.model import SequenceModel
from clearhead.model.gated import GatedModel
from tests.parity.models import make_gates, make_inputs, make_model
from tests.unit.model.test_protocol import members_of


def gated_model(shape: str = "encoder-decoder") -> tuple[Any, GatedModel, Any]:
    model = make_model(shape, 5)
    gates = make_gates(model.config)
    return model, GatedModel(model, gates), gates


def test_it_has_every_member_of_the_protocol() -> None:
    model, view, _ = gated_model()
    assert isinstance(view, SequenceModel)
    for name in ("config", "device", "dtype", "training", "can_translate", "can_classify", "can_continue_text"):
        assert getattr(view, name) == getattr(model, name), name
    assert (view.has_cross_attention, view.can_record_steps) == (model.has_cross_attention, model.can_record_steps)
    assert members_of(SequenceModel) <= {*dir(view)}


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_a_pass_is_that_of_the_model_with_the_gates(shape: str) -> None:
    model, view, gates = gated_model(shape)
    batch = make_inputs(model.config, "right padding").batch
    assert torch.equal(view(batch), model(batch, gates=gates))
    assert not torch.allclose(view(batch), model(batch))
    logits, trace = view.trace(batch)
    assert torch.equal(logits, model.trace(batch, gates=gates)[0])
    assert trace.find("multiply", "*.gate")


def test_encoding_and_decoding_use_the_gates() -> None:
    model, view, gates = gated_model()
    batch = make_inputs(model.config, "right padding").batch
    memory, expected = view.encode(batch.source), model.encode(batch.source, gates=gates)
    assert torch.equal(memory.states, expected.states)
    ids = view.shifted(batch.target)
    logits = model.decode(ids, expected, gates=gates)
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
    assert torch.equal(view(batch, gates=others), model(batch, gates=others))


def test_the_mode_and_the_precision_are_those_of_the_model() -> None:
    model, view, _ = gated_model()
    assert view.train() is view
    assert model.training
    assert view.eval() is view
    assert not model.training
    view.to(dtype=torch.float32)
    assert model.dtype == view.dtype == torch.float32
