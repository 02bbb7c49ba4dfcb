"""Which words carried a label: by leaving each out, and by the gradient, checked against finite differences."""

import math

import pytest
import torch

from clearhead.decoding.classification import Classifier
from clearhead.errors import DataError
from clearhead.explain.label_words import LabelExplainer, gradient_input
from clearhead.explain.opening import LoadedModel
from clearhead.explain.sentence import explain
from clearhead.model import Batch
from tests.small_halves import ARCHITECTURES, LABELS, LINES, small_model, small_vocabularies

TEXT = LINES[0]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def classifier(request: pytest.FixtureRequest) -> Classifier:
    vocabularies = small_vocabularies(LABELS)
    return Classifier(small_model(vocabularies, **ARCHITECTURES[request.param]), vocabularies)


def test_leaving_out_is_the_change_of_log_p(classifier: Classifier) -> None:
    words = TEXT.split()
    outcome = next(iter(classifier.classify([TEXT])))
    assert outcome is not None
    explained = LabelExplainer.of(classifier).explain(outcome)
    assert explained.words == tuple(words)
    assert explained.label == outcome.label
    shorter = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    for text, difference in zip(shorter, explained.leave_out, strict=True):
        other = next(iter(classifier.classify([text])))
        assert other is not None
        log_ratio = torch.tensor(outcome.probabilities[outcome.best] / other.probabilities[outcome.best]).log()
        assert difference == pytest.approx(float(log_ratio), abs=1e-4)


def test_the_gradient_is_that_of_finite_differences(classifier: Classifier) -> None:
    """If every word is different, scaling a row of the embedding changes log P by gradient · row."""
    double = LabelExplainer.of(classifier).classifier
    ids = double.encode([LINES[1]])[0]
    assert len(set(ids)) == len(ids)
    gradients = gradient_input(double.model, ids, 2)
    table = dict(double.model.named_parameters())["encoder.embedding.weight"]  # type: ignore[attr-defined]
    step = 1e-6
    for place, number in enumerate(ids):
        values = []
        for scale in (1 - step, 1 + step):
            with torch.no_grad():
                row = table[number].clone()
                table[number] *= scale
                values.append(torch.log_softmax(double.model(Batch(torch.tensor([ids]))), dim=-1)[0, 2])
                table[number] = row
        assert float(gradients[place]) == pytest.approx(float(values[1] - values[0]) / (2 * step), abs=1e-6)


def test_an_unknown_word_is_left_out_as_a_word_of_its_own(classifier: Classifier) -> None:
    outcomes = list(classifier.classify(["the zebra cat", "the cat", "zebra cat"]))
    assert outcomes[0] is not None
    assert outcomes[0].unknown_words == ("zebra",)
    explained = LabelExplainer.of(classifier).explain(outcomes[0])
    assert explained.words == ("the", "zebra", "cat")
    best = outcomes[0].best
    without = [outcome.probabilities[best] for outcome in outcomes if outcome is not None]
    assert explained.leave_out[1] == pytest.approx(math.log(without[0] / without[1]), abs=1e-4)
    assert explained.leave_out[0] == pytest.approx(math.log(without[0] / without[2]), abs=1e-4)


def test_the_page_of_an_explanation_has_the_same_numbers() -> None:
    vocabularies = small_vocabularies(LABELS)
    classifier = Classifier(small_model(vocabularies), vocabularies)
    outcome = next(iter(classifier.classify([TEXT])))
    assert outcome is not None
    words = LabelExplainer.of(classifier).explain(outcome)
    explanation = explain(LoadedModel(classifier.model, classifier.vocabularies), TEXT)
    by_word = explanation.contributions.by_word
    assert list(words.leave_out) == pytest.approx(by_word["leave_out"][0].tolist(), abs=1e-9)
    assert list(words.gradient_input) == pytest.approx(by_word["gradient_input"][0].tolist(), abs=1e-9)


def test_the_classifier_is_not_changed_and_long_texts_are_refused() -> None:
    vocabularies = small_vocabularies(LABELS)
    classifier = Classifier(small_model(vocabularies, max_length=199), vocabularies)
    explainer = LabelExplainer.of(classifier)
    assert classifier.model.dtype == torch.float32
    outcome = next(iter(classifier.classify(["cat " * 150])))
    assert outcome is not None
    with pytest.raises(DataError, match="the text has 150 tokens, but an explanation shows at most 128"):
        explainer.explain(outcome)
