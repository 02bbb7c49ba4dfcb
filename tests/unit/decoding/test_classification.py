"""Classification: in order, the same for any batch, and lines that cannot be classified are refused or skipped."""

from pathlib import Path

import pytest
import torch

from clearhead.decoding import classification
from clearhead.decoding.classification import Classification, Classifier, open_classifier
from clearhead.errors import ConfigError, DataError
from clearhead.model import Batch
from tests.small_halves import (
    ARCHITECTURES,
    LABELS,
    LINES,
    make_classifier_run,
    make_writer_run,
    small_model,
    small_vocabularies,
)
from tests.small_run import make_run

TEXTS = [*LINES, "cat", "the old dog sees the small house and a fish", "book"]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def classifier(request: pytest.FixtureRequest) -> Classifier:
    vocabularies = small_vocabularies(LABELS)
    return Classifier(small_model(vocabularies, **ARCHITECTURES[request.param]), vocabularies)


def test_the_probabilities_are_those_of_the_model_alone(classifier: Classifier) -> None:
    outcomes = list(classifier.classify(TEXTS))
    assert [outcome.number for outcome in outcomes if outcome is not None] == list(range(1, len(TEXTS) + 1))
    for text, outcome in zip(TEXTS, outcomes, strict=True):
        assert outcome is not None
        ids = [*classifier.vocabularies.source.encode([text])[0], classifier.model.config.eos]
        expected = torch.softmax(classifier.model(Batch(torch.tensor([ids]), is_padded=False)), dim=-1)[0]
        assert outcome.text == text
        assert outcome.probabilities == pytest.approx(expected.tolist(), abs=1e-6)
        assert outcome.label == LABELS[int(expected.argmax())]


def test_neither_the_batch_nor_the_window_changes_a_probability(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(classifier.classify(TEXTS))
    monkeypatch.setattr(classification, "_BATCH_TOKENS", 7)
    small = list(classifier.classify(TEXTS, window=2))
    for one, other in zip(expected, small, strict=True):
        assert one is not None
        assert other is not None
        assert (one.number, one.label) == (other.number, other.label)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)


def test_of_two_equal_probabilities_the_first_label_is_chosen() -> None:
    assert Classification(1, "a", LABELS, (0.2, 0.4, 0.4)).label == "neutral"


def test_a_class_without_a_label_is_called_by_its_number() -> None:
    vocabularies = small_vocabularies(("one",))
    model = small_model(small_vocabularies(("one", "other")))
    assert Classifier(model, vocabularies).labels == ("one", "1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 2: the text is empty. Give at least one word, or skip such lines."),
        (" \t", "line 2: the text is empty"),
        ("cat " * 23, "line 2: the text has 24 tokens (including the end token), but the model reads at most 23."),
    ],
)
def test_a_line_that_cannot_be_classified_is_refused_or_skipped(
    classifier: Classifier, text: str, message: str
) -> None:
    if text.strip() and classifier.model.config.position_limit is None:
        assert len(list(classifier.classify(["cat", text]))) == 2  # a recurrent model reads texts of any length
        return
    with pytest.raises(DataError) as refused:
        list(classifier.classify(["cat", text]))
    assert str(refused.value).startswith(message)
    assert refused.value.options == {"on_fault": "skip"}
    skipping = Classifier(classifier.model, classifier.vocabularies, "skip")
    outcomes = list(skipping.classify(["cat", text, "dog"]))
    assert [outcome is None for outcome in outcomes] == [False, True, False]
    assert outcomes[2] is not None
    assert outcomes[2].number == 3


def test_only_a_classifier_is_opened(tmp_path: Path) -> None:
    opened = open_classifier(make_classifier_run(tmp_path / "classifier"))
    assert opened.labels == LABELS
    assert len(list(opened.classify(["cat"]))) == 1
    with pytest.raises(ConfigError, match="this model is a language model .shape decoder., so it has no labels"):
        open_classifier(make_writer_run(tmp_path / "writer"))
    with pytest.raises(ConfigError, match="this model translates .shape encoder-decoder., so it has no labels"):
        open_classifier(make_run(tmp_path / "translator"))
