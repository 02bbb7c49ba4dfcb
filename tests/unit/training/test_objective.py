"""The training objective by hand: teacher forcing, label smoothing and R-Drop."""

import math

import pytest
import torch

from clearhead.model import Batch
from clearhead.training.objective import objective
from tests.tolerances import assert_close
from tests.unit.training.models import EOS, PAD, VOCABULARY, settings, tiny_batch, tiny_model


@torch.no_grad()
def test_the_loss_of_a_token_is_minus_the_logarithm_of_what_the_right_words_before_it_give() -> None:
    model = tiny_model().double().eval()
    batch = tiny_batch(3)
    assert batch.source is not None
    assert batch.target is not None
    by_hand, count = 0.0, 0
    for source, target in zip(batch.source, batch.target, strict=True):
        right = [int(token) for token in target if token != PAD]
        for at, token in enumerate(right):  # token by token: the decoder has read nothing but the right words before
            prefix = torch.tensor([[model.config.start_id, *right[:at]]])
            logits = model.decode(prefix, model.encode(source[source != PAD][None]))[0, -1]
            by_hand -= float(logits.log_softmax(dim=-1)[token])
            count += 1
    loss = objective(model, batch, settings())
    assert int(loss.num_tokens) == count
    assert float(loss.total) == pytest.approx(by_hand, rel=1e-10)


def test_changing_a_word_changes_no_logit_up_to_it() -> None:
    model = tiny_model().double().eval()
    source = torch.tensor([[3, 4, 5, EOS]])
    one, other = (Batch(source, torch.tensor([[3, 4, word, 6, EOS]])) for word in (5, 7))
    assert torch.equal(model(one)[0, :3], model(other)[0, :3])
    assert not torch.allclose(model(one)[0, 3], model(other)[0, 3])


@pytest.mark.parametrize("smoothing", [0.1, 0.3])
@torch.no_grad()
def test_smoothing_gives_every_token_a_small_probability(smoothing: float) -> None:
    model = tiny_model().double().eval()
    batch = tiny_batch(3)
    assert batch.target is not None
    logs = model(batch).log_softmax(dim=-1)
    # -(1 - ε) log p(right) - ε/V Σ log p(any), over the tokens that are no padding
    right = logs.gather(-1, batch.target[..., None]).squeeze(-1)
    by_hand = -((1 - smoothing) * right + smoothing / VOCABULARY * logs.sum(dim=-1))
    expected = by_hand[batch.target != PAD].sum()
    assert_close(objective(model, batch, settings(label_smoothing=smoothing)).total.detach(), expected.detach())


@torch.no_grad()
def test_r_drop_by_hand() -> None:
    model = tiny_model(dropout=0.3).double()
    batch = tiny_batch(5)
    assert batch.target is not None
    torch.manual_seed(7)
    loss = objective(model, batch, settings(r_drop=2.0, label_smoothing=0.1))
    torch.manual_seed(7)
    twice = batch.changed(lambda tensor: torch.cat((tensor, tensor)))
    logs = model(twice).log_softmax(dim=-1)
    entropy, apart = 0.0, 0.0
    for row in range(5):
        for at, token in enumerate(batch.target[row].tolist()):
            if token == PAD:
                continue
            one, other = logs[row, at], logs[row + 5, at]
            entropy += sum(
                -0.9 * float(log_probs[token]) - 0.1 / VOCABULARY * float(log_probs.sum()) for log_probs in (one, other)
            )
            for p, q in ((one, other), (other, one)):
                apart += float((p.exp() * (p - q)).sum())  # KL(P‖Q)
    assert apart > 0.01, "dropout does nothing here"
    assert float(loss.total) == pytest.approx(entropy / 2 + 2.0 * apart / 4, rel=1e-10)
    assert int(loss.num_tokens) == int((batch.target != PAD).sum())


@torch.no_grad()
def test_r_drop_without_dropout_is_the_plain_loss() -> None:
    model = tiny_model().double()
    batch = tiny_batch(5)
    plain = objective(model, batch, settings(label_smoothing=0.1))
    dropped = objective(model, batch, settings(label_smoothing=0.1, r_drop=5.0))
    assert_close(dropped.total.detach(), plain.total.detach())
    assert int(dropped.num_tokens) == int(plain.num_tokens)


@torch.no_grad()
def test_r_drop_of_a_classifier_ignores_rows_without_a_label() -> None:
    model = tiny_model(shape="encoder", num_classes=3, dropout=0.3).double()
    batch = tiny_batch(5)._replace(target=None, labels=torch.tensor([0, 2, 1, -100, -100]))
    torch.manual_seed(3)
    loss = objective(model, batch, settings(r_drop=1.0))
    torch.manual_seed(3)
    logs = model(batch.changed(lambda tensor: torch.cat((tensor, tensor)))).log_softmax(dim=-1)
    by_hand = 0.0
    for row, label in enumerate((0, 2, 1)):
        one, other = logs[row], logs[row + 5]
        by_hand -= float(one[label] + other[label]) / 2
        by_hand += float((one.exp() * (one - other)).sum() + (other.exp() * (other - one)).sum()) / 4
    assert int(loss.num_tokens) == 3
    assert float(loss.total) == pytest.approx(by_hand, rel=1e-10)


@torch.no_grad()
def test_a_perfect_model_has_no_loss_and_a_blind_one_the_logarithm_of_its_vocabulary() -> None:
    model = tiny_model()
    model.output.weight.zero_()
    loss = objective(model, tiny_batch(3), settings())
    assert float(loss.mean) == pytest.approx(math.log(VOCABULARY), rel=1e-6)
