"""Hard-Concrete gates against their formulas, and learning which heads a model needs."""

import math
import re
from dataclasses import replace

import pytest
import torch

from clearhead.errors import ConfigError
from clearhead.explain.gate_training import GateTraining, learn_gates, remove_closed
from clearhead.explain.hard_concrete import LearntGates, final_gates, probability_open, sample
from clearhead.explain.token_pairs import TokenPair
from clearhead.model.gates import Gates
from clearhead.model.heads import every_head
from tests.parity.models import make_inputs, make_model, run
from tests.tolerances import assert_close

CPU = torch.device("cpu")
PAIRS = [TokenPair((3, 5, 7, 2), (4, 6, 2)), TokenPair((8, 2), (9, 3, 2)), TokenPair((4, 4, 2), (5, 2))]


def random(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("log_alpha", [-2.0, 0.0, 1.5])
def test_the_probability_of_an_open_gate_is_that_of_the_samples(log_alpha: float) -> None:
    z = sample(torch.full((200_000,), log_alpha), random())
    expected = 1 / (1 + math.exp(-(log_alpha - 0.33 * math.log(0.1 / 1.1))))
    assert float(probability_open(torch.tensor(log_alpha))) == pytest.approx(expected, rel=1e-5)
    assert float((z > 0).float().mean()) == pytest.approx(expected, abs=0.005)
    assert 0 <= float(z.min()) <= float(z.max()) <= 1


def test_samples_are_often_exactly_0_or_1() -> None:
    z = sample(torch.zeros(10_000), random())
    assert (z == 0).float().mean() > 0.2
    assert (z == 1).float().mean() > 0.2


def test_a_gate_can_be_exactly_0_or_1_after_training() -> None:
    assert final_gates(torch.tensor([-9.0, -2.5, 2.5, 9.0])).tolist() == [0, 0, 1, 1]
    assert float(final_gates(torch.tensor(0.0))) == pytest.approx(0.5)


def test_the_gradient_reaches_log_alpha_through_the_loss_and_through_the_penalty() -> None:
    model = make_model("encoder-decoder", 0, torch.float32)
    gates = LearntGates(model.config, CPU)
    assert gates.num_gates == len(every_head(model.config))
    batch = make_inputs(model.config, "right padding").batch
    with torch.no_grad():
        for log_alpha in gates.log_alpha:
            log_alpha.fill_(0.0)
    loss = model.loss(batch, gates=gates.sample(random())).total
    gradients = torch.cat(torch.autograd.grad(loss, list(gates.log_alpha)))
    assert gradients.isfinite().all()
    assert (gradients != 0).any()
    penalty = torch.cat(torch.autograd.grad(gates.expected_open(), list(gates.log_alpha)))
    p = probability_open(torch.tensor(0.0))
    assert penalty.tolist() == pytest.approx([float(p * (1 - p))] * gates.num_gates)


def test_learning_is_deterministic_and_a_larger_penalty_closes_more_heads() -> None:
    model = make_model("encoder-decoder", 0, torch.float32)
    training = GateTraining(penalty=1e-3, num_updates=60, gate_rate=0.3)
    open_heads = {}
    for penalty in (1e-3, 50.0):
        _, gates = learn_gates(model, PAIRS, replace(training, penalty=penalty))
        open_heads[penalty] = sum(int((gate > 0).sum()) for gate in gates.outputs.values())
    assert open_heads[50.0] == 0 < open_heads[1e-3]
    first, second = (learn_gates(model, PAIRS, training) for _ in range(2))
    assert all(torch.equal(*pair) for pair in zip(first[0].parameters(), second[0].parameters(), strict=True))
    assert all(torch.equal(first[1].outputs[where], second[1].outputs[where]) for where in first[1].outputs)
    _, other = learn_gates(model, PAIRS, replace(training, seed=2))
    assert any(not torch.equal(first[1].outputs[where], other.outputs[where]) for where in other.outputs)


def test_a_model_without_closed_heads_is_the_gated_model() -> None:
    model = make_model("encoder-decoder", 0)
    inputs = make_inputs(model.config, "right padding")
    values = ([0.0, 0.7], [0.0, 0.0], [1.0, 0.0], [0.3, 1.0], [1.0, 1.0], [0.0, 0.4])
    gates = Gates(
        {where: torch.tensor(v) for where, v in zip(LearntGates(model.config, CPU).places, values, strict=True)}
    )
    smaller = remove_closed(model, gates)
    assert len(every_head(smaller.config)) == 7
    assert_close(run(smaller, inputs).detach(), run(model, replace(inputs, gates=gates)).detach(), "float32")


def test_a_penalty_of_0_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=re.escape("0 is not a penalty on heads. Give a number above 0, such as 0.1.")
    ):
        GateTraining(penalty=0)
