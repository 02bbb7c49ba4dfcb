"""Statistics of the training text: measured on a sample, stored beside the tokeniser, and absent for other models."""

from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.text import statistics as statistics_module
from clearhead.text.config import TextConfig
from clearhead.text.statistics import TextSample, TextStatistics, measure_text, percentiles
from clearhead.text.tokeniser import Tokeniser
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, PAIRS


@pytest.fixture(scope="module")
def tokeniser() -> Tokeniser:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=331, byte_fallback=True), ("de",)).source


def test_lengths_pieces_and_sentences_are_measured(tokeniser: Tokeniser) -> None:
    texts = [">>de<< the cat. a dog.", ">>de<< the cat zzz"]
    statistics = measure_text(texts, tokeniser, "en")
    assert statistics.source_language == "en"
    assert statistics.several_sentences == 0.5
    lengths = [len(row) for row in tokeniser.encode(texts)]
    assert statistics.source_tokens == percentiles(lengths)
    assert statistics.word_pieces is not None
    assert statistics.word_pieces["99.9"] == pytest.approx(4, abs=0.1)  # a space and three bytes


def test_words_are_found_in_ids_without_the_tag(tokeniser: Tokeniser) -> None:
    ids = tokeniser.encode([">>de<< the cat sees"])[0]
    assert [tokeniser.decode([ids[start:end]])[0] for start, end in tokeniser.word_spans(ids)] == ["the", "cat", "sees"]
    assert tokeniser.word_spans([]) == []


@pytest.mark.parametrize(("share", "is_split"), [(None, True), (0.0, True), (0.2, True), (0.3, False), (1.0, False)])
def test_lines_are_split_unless_the_model_was_trained_on_lines_of_several_sentences(
    share: float | None, is_split: bool
) -> None:
    assert TextStatistics(several_sentences=share).splits_lines is is_split


def test_they_are_the_same_after_saving_and_may_be_missing(tmp_path: Path) -> None:
    assert TextStatistics.load(tmp_path) == TextStatistics()
    (tmp_path / "tokeniser").mkdir()
    statistics = TextStatistics(source_language="es", several_sentences=0.25, log_probs={"1": -2.5, "50": -0.5})
    statistics.save(tmp_path)
    assert TextStatistics.load(tmp_path) == statistics
    (tmp_path / "tokeniser" / "statistics.json").write_text('{"format": 2}')
    with pytest.raises(CheckpointError, match=r"statistics\.json is damaged, or was written by another version"):
        TextStatistics.load(tmp_path)


def test_a_sample_is_uniform_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_module, "_SAMPLE_SIZE", 200)
    samples = [TextSample(), TextSample()]
    for sample in samples:
        for start in range(0, 2000, 100):
            sample.add(str(number) for number in range(start, start + 100))
    assert samples[0].texts == samples[1].texts
    assert len(set(samples[0].texts)) == 200
    assert 70 < sum(int(text) < 1000 for text in samples[0].texts) < 130


def test_a_short_text_is_its_own_sample() -> None:
    sample = TextSample()
    sample.add(ENGLISH)
    assert sample.texts == ENGLISH
    assert percentiles([]) is None
