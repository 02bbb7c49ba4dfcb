"""What the methods must satisfy: finite differences, norms worked by hand, and rank correlations."""

import numpy as np
import pytest
import torch

from clearhead.decoding.translator import Translator
from clearhead.explain import Explanation, LoadedModel
from clearhead.explain.contributions import attention_norms, disagreement, gradients, rank_correlation
from clearhead.explain.opening import double_copy
from clearhead.explain.traced_pass import AttentionStack
from clearhead.model import Transformer
from clearhead.model.batch import Batch
from tests.small_halves import ARCHITECTURES, LABELS, LINES, small_model, small_vocabularies

STEP = 1e-6


def log_probs(model: Transformer, source: list[int] | None, target: list[int]) -> torch.Tensor:
    rows = [None if ids is None else torch.tensor([ids]) for ids in (source, target)]
    with torch.no_grad():
        logits = model(Batch(rows[0], rows[1]))[0]
    return torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(target)[:, None])[:, 0]


def test_gradient_times_input_is_the_slope_of_log_p_if_an_embedding_grows(
    german: Translator, explanation: Explanation
) -> None:
    """d log P / d a at a = 1, where the embedding of one source token is multiplied by a."""
    assert explanation.source is not None
    assert explanation.target is not None
    model = double_copy(german.model)
    source, target = list(explanation.source.ids), list(explanation.target.ids)
    values = gradients(model, source, target)
    assert model.encoder is not None
    table = model.encoder.embedding.weight
    for position in (1, 3):
        token = source[position]
        assert source.count(token) == 1
        own = table[token].clone()
        sides = []
        for factor in (1 + STEP, 1 - STEP):
            with torch.no_grad():
                table[token] = own * factor
            sides.append(log_probs(model, source, target))
        with torch.no_grad():
            table[token] = own
        slope = (sides[0] - sides[1]) / (2 * STEP)
        assert values[:, position] == pytest.approx(slope.numpy(), abs=1e-6)


def test_the_gradient_of_a_language_model_is_by_its_inputs(language_model: LoadedModel) -> None:
    model = double_copy(language_model.model)
    target = [11, 12, 13, 14]
    values = gradients(model, None, target)
    assert model.decoder is not None
    table = model.decoder.embedding.weight
    own = table[11].clone()
    sides = []
    for factor in (1 + STEP, 1 - STEP):
        with torch.no_grad():
            table[11] = own * factor
        sides.append(log_probs(model, None, target))
    slope = (sides[0] - sides[1]) / (2 * STEP)
    assert values[:, 1] == pytest.approx(slope.numpy(), abs=1e-6)  # input 0 is the start token
    assert values[0, 1] == 0


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_gradient_of_a_class_is_that_of_finite_differences(name: str) -> None:
    """If every word is different, scaling a row of the embedding changes log P by gradient · row."""
    vocabularies = small_vocabularies(LABELS)
    model = double_copy(small_model(vocabularies, **ARCHITECTURES[name]))
    ids = [*vocabularies.source.encode([LINES[1]])[0], model.config.eos]
    assert len(set(ids)) == len(ids)
    (values,) = gradients(model, ids, [2])
    table = model.get_parameter("encoder.embedding.weight")
    for place, number in enumerate(ids):
        own = table[number].detach().clone()
        sides = []
        for factor in (1 + STEP, 1 - STEP):
            with torch.no_grad():
                table[number] = own * factor
                sides.append(torch.log_softmax(model(Batch(torch.tensor([ids]))), dim=-1)[0, 2])
        with torch.no_grad():
            table[number] = own
        assert values[place] == pytest.approx(float(sides[0] - sides[1]) / (2 * STEP), abs=1e-6)


def test_a_repeated_word_has_a_gradient_for_each_place(german: Translator) -> None:
    model = double_copy(german.model)
    eos = model.config.eos
    values = gradients(model, [20, 20, eos], [21, eos])
    assert abs(values[0, 0] - values[0, 1]) > 1e-9


def test_attention_norms_worked_by_hand() -> None:
    """One layer, two heads of width 1, W_O = 2 I. Token 0: (¼ · 4, ½ · 0) · 2 = (2, 0); token 1: (¾ · 0, ½ · 6) · 2."""
    weights = np.array([[[[0.25, 0.75]], [[0.5, 0.5]]]])  # (1, 2, 1, 2)
    v = np.array([[[[4.0], [0.0]], [[0.0], [6.0]]]])  # (1, 2, 2, 1)
    nothing = np.zeros((1, 2, 1, 1))
    stack = AttentionStack("cross", (0,), weights, nothing, nothing, v, weights, nothing, 2 * np.eye(2)[None])
    assert attention_norms(stack).tolist() == [[[pytest.approx(2 / 8), pytest.approx(6 / 8)]]]


def test_the_shares_of_attention_norms_sum_to_1(explanation: Explanation) -> None:
    values = explanation.contributions.by_token["attention_norm"]
    assert (values >= 0).all()
    assert values.sum(axis=1) == pytest.approx(1.0)


def test_rank_correlation_worked_by_hand() -> None:
    """Ranks 0 1 2 3 and 1 0 2 3: 1 - 6 · 2 / (4 · 15) = 0.8. Ties have the mean of their ranks."""
    assert rank_correlation(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 4])) == pytest.approx(0.8)
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1.0)
    assert rank_correlation(np.array([1.0, 1, 2]), np.array([1.0, 1, 5])) == pytest.approx(1.0)
    assert rank_correlation(np.array([1.0, 1, 1]), np.array([1.0, 2, 3])) is None


def test_methods_that_name_different_words_are_disputed() -> None:
    same = disagreement({"attention_norm": np.array([0.1, 0.9]), "leave_out": np.array([0.5, -4.0])})
    assert not same.is_disputed
    assert same.top == {"attention_norm": 1, "leave_out": 1}
    other = disagreement({"attention_norm": np.array([0.1, 0.9]), "leave_out": np.array([-5.0, 4.0])})
    assert other.is_disputed
    assert other.agreement == {"attention_norm/leave_out": pytest.approx(-1.0)}
