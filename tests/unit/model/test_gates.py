"""Gates as values: what they scale, how they are checked, and how recorded steps keep them in place."""

import re

import pytest
import torch

from clearhead.errors import ConfigError
from clearhead.model import Batch
from clearhead.model.gates import NO_GATES, Gates, check_gates, closed_gates, open_gates
from clearhead.model.heads import AttentionHead, attention_places
from clearhead.model.probe import Probe
from tests.parity.models import make_gates, make_model

CPU = torch.device("cpu")
CONFIG = make_model("encoder-decoder").config
OWN = "encoder.1.self_attention"


def test_gates_scale_the_heads_of_their_own_place_only() -> None:
    gates = Gates({OWN: torch.tensor([0.5, 3.0])}, {OWN: torch.tensor([1.0, 0.0])})
    x = torch.ones(3, 2, 5, 7)
    here, elsewhere = gates.at("encoder", 1).at("self_attention"), gates.at("encoder", 0).at("self_attention")
    assert here.scale_outputs(x)[:, :, 0, 0].tolist() == [[0.5, 3.0]] * 3
    assert here.scale_queries(x)[:, :, 0, 0].tolist() == [[1.0, 0.0]] * 3
    assert elsewhere.scale_outputs(x) is x
    assert elsewhere.scale_queries(x) is x
    assert elsewhere.of_head("outputs", 0, x.dtype) is None


def test_a_gate_per_sentence_scales_its_sentence() -> None:
    here = Gates({OWN: torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}).at(*OWN.split("."))
    assert here.scale_outputs(torch.ones(3, 2, 5, 7))[:, :, 4, 6].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    gate = here.of_head("outputs", 1, torch.float64)
    assert gate is not None
    assert gate.shape == (3, 1, 1)
    assert gate.dtype == torch.float64


def test_no_gates_return_what_they_get() -> None:
    x = torch.ones(3, 2, 5, 7)
    assert not NO_GATES.is_on
    assert not closed_gates(CONFIG, CPU).is_on
    assert NO_GATES.scale_outputs(x) is NO_GATES.scale_queries(x) is x


def test_open_gates_have_a_one_for_every_head_and_closed_gates_a_zero_for_the_chosen() -> None:
    opened = open_gates(CONFIG, CPU)
    assert list(opened.outputs) == attention_places(CONFIG)
    assert all(gate.tolist() == [1.0, 1.0] for gate in opened.outputs.values())
    closed = closed_gates(CONFIG, CPU, without=[AttentionHead(OWN, 1)], uniform=[AttentionHead(OWN, 0)])
    assert {where: gate.tolist() for where, gate in closed.outputs.items()} == {OWN: [1.0, 0.0]}
    assert {where: gate.tolist() for where, gate in closed.scores.items()} == {OWN: [0.0, 1.0]}


def test_overwriting_keeps_the_addresses_and_copies_the_numbers() -> None:
    own, other = make_gates(CONFIG, seed=1), make_gates(CONFIG, seed=2)
    kept = own.changed(torch.clone)
    addresses = [gate.data_ptr() for gate in kept.outputs.values()]
    assert not set(addresses) & {gate.data_ptr() for gate in own.outputs.values()}
    kept.overwrite(other)
    assert [gate.data_ptr() for gate in kept.outputs.values()] == addresses
    for where in other.outputs:
        assert torch.equal(kept.outputs[where], other.outputs[where])
        assert torch.equal(kept.scores[where], other.scores[where])


def test_only_gates_of_the_same_places_and_shapes_are_alike() -> None:
    gates = make_gates(CONFIG)
    assert gates.is_like(make_gates(CONFIG, seed=3))
    assert not gates.is_like(make_gates(CONFIG, 5))
    assert not gates.is_like(Gates({OWN: torch.ones(2)}))
    assert not gates.is_like(NO_GATES)


def test_gates_that_do_not_fit_the_model_are_rejected() -> None:
    model = make_model("encoder")
    batch = Batch(torch.tensor([[3, 4, 2]]))
    where = "decoder.0.cross_attention"
    message = f"there are gates for '{where}', but this model has no such attention. It has encoder.0.self_attention,"
    with pytest.raises(ConfigError, match=re.escape(message)):
        model.trace(batch, probe=Probe(gates=Gates({where: torch.ones(2)})))
    message = f"the gates of {OWN} have the shape (3,). Give one number per head, (2,) or (1, 2)."
    with pytest.raises(ConfigError, match=re.escape(message)):
        model.trace(batch, probe=Probe(gates=Gates({OWN: torch.ones(3)})))
    check_gates(Gates({OWN: torch.ones(1, 2)}), model.config, 1)
    check_gates(NO_GATES, model.config, 1)
