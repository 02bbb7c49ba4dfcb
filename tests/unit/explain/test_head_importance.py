"""Importance by gradient against finite differences, and losses without heads against the changed matrix."""

import pytest
import torch

from clearhead.explain.head_importance import head_importance, losses_alone, losses_without
from clearhead.explain.token_pairs import TokenPair, batch_of
from clearhead.model import Transformer
from clearhead.model.gates import NO_GATES, Gates, closed_gates
from clearhead.model.heads import every_head
from clearhead.model.probe import Probe
from tests.parity.models import make_model
from tests.parity.test_model_gates import without_rows

PAIRS = [
    TokenPair((3, 4, 5, 2), (6, 7, 2)),
    TokenPair((7, 8, 2), (9, 3, 4, 5, 2)),
    TokenPair((5, 2), (3, 2)),
]
CPU = torch.device("cpu")


def loss_of(model: Transformer, pair: TokenPair, gates: Gates = NO_GATES) -> float:
    """Return the loss per token of one sentence."""
    return float(model.loss(batch_of([pair], model.config, CPU), probe=Probe(gates=gates)).mean.detach())


@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_importance_is_the_mean_absolute_difference_of_the_loss_for_a_small_change(shape: str) -> None:
    model, step = make_model(shape, 5), 1e-5
    importance = head_importance(model, PAIRS)
    assert [*importance] == every_head(model.config)
    for head, value in importance.items():
        slopes = []
        for pair in PAIRS:
            losses = []
            for change in (step, -step):
                gate = torch.ones(2, dtype=torch.float64)
                gate[head.number] += change
                losses.append(loss_of(model, pair, Gates({head.where: gate})))
            slopes.append(abs(losses[0] - losses[1]) / (2 * step))
        assert value == pytest.approx(sum(slopes) / len(PAIRS), rel=1e-4, abs=1e-9), head


@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_losses_without_a_head_are_those_of_the_matrix_without_its_rows(shape: str) -> None:
    model = make_model(shape, 5)
    losses = losses_without(model, PAIRS)
    assert [*losses] == [None, *every_head(model.config)]
    for head, row in losses.items():
        changed = model if head is None else without_rows(model, head)
        expected = [changed.loss(batch_of([pair], model.config, CPU)) for pair in PAIRS]
        assert row.totals.tolist() == pytest.approx([float(loss.total.detach()) for loss in expected])
        assert row.num_tokens.tolist() == [int(loss.num_tokens) for loss in expected]
        assert row.mean == pytest.approx(row.totals.sum() / row.num_tokens.sum())
    assert len({row.mean for row in losses.values()}) == len(losses), "every head matters in a random model"


def test_a_head_alone_has_no_others_beside_it() -> None:
    model = make_model("encoder-decoder", 0)
    losses = losses_alone(model, PAIRS)
    for head, row in losses.items():
        if head is not None:
            others = [other for other in every_head(model.config) if other.where == head.where and other != head]
            gates = closed_gates(model.config, CPU, without=others)
            expected = [loss_of(model, pair, gates) * len(pair.target) for pair in PAIRS]
            assert row.totals.tolist() == pytest.approx(expected)


def test_no_parameter_gets_a_gradient_and_the_mode_is_restored() -> None:
    model = make_model("encoder-decoder", 0).train()
    head_importance(model, PAIRS)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
