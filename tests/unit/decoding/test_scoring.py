"""Scores of existing text: the same as in translation, for any batches, in order, for any length."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.decoding import scoring
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.scoring import ScoredTarget, Scorer, TextPair, open_scorer
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies

LINES = ["abc", "cab bag", "a", "fade a bed", "bead", "gab", "cafe", "deaf bee"]


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    """A tokeniser of a few letters that a small model can have in its vocabulary."""
    return train_vocabularies([(line, line) for line in LINES], TextConfig(kind="char", vocabulary=61))


def make_model(vocabularies: Vocabularies, seed: int = 2, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    target = vocabularies.target
    options: dict[str, Any] = {
        "source_vocabulary": vocabularies.source.size,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
        "d_model": 14,
        "num_heads": 2,
        "d_ff": 17,
        "max_length": 29,
        "tied": "none",
        "pad": target.pad,
        "bos": target.bos,
        "eos": target.eos,
        **changes,
    }
    model = Transformer(ModelConfig(**options)).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return model.eval()


@pytest.mark.parametrize("options", [{}, {"beam": 3, "n_best": 3}, {"temperature": 1.0}])
def test_a_score_equals_the_score_of_the_translation(vocabularies: Vocabularies, options: dict[str, Any]) -> None:
    model = make_model(vocabularies)
    scorer = Scorer(model, vocabularies)
    for translation in Translator(vocabularies, TorchEngine(model)).translate(
        LINES, SearchSettings(max_length=11, **options)
    ):
        pairs = [TextPair(translation.source, "", hypothesis.tokens) for hypothesis in translation.hypotheses]
        for scored, hypothesis in zip(scorer.score(pairs), translation.hypotheses, strict=True):
            assert scored.log_prob == pytest.approx(hypothesis.log_prob, abs=1e-9)
            assert scored.log_probs == pytest.approx(hypothesis.log_probs, abs=1e-9)
            assert scored.tokens == hypothesis.tokens


def test_text_gets_the_score_of_its_ids(vocabularies: Vocabularies) -> None:
    scorer = Scorer(make_model(vocabularies), vocabularies)
    ids = (*vocabularies.target.encode(["cab bag"])[0], vocabularies.target.eos)
    of_text, of_ids = scorer.score([TextPair("abc", "cab bag"), TextPair("abc", "", ids)])
    assert of_text.tokens == of_ids.tokens == ids
    assert of_text.log_probs == pytest.approx(of_ids.log_probs, abs=1e-12)


def test_batches_and_windows_change_nothing(vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Scorer(make_model(vocabularies), vocabularies)
    pairs = [TextPair(one, other) for one in LINES for other in LINES[::-1]]
    alone = [scored for pair in pairs for scored in scorer.score([pair])]
    monkeypatch.setattr(scoring, "SCORE_WINDOW", 13)
    monkeypatch.setattr(scoring, "_BATCH_TOKENS", 31)
    for one, together in zip(alone, scorer.score(iter(pairs)), strict=True):
        assert together.tokens == one.tokens
        assert together.log_probs == pytest.approx(one.log_probs, abs=1e-9)
    assert len({one.log_prob for one in alone}) == len(pairs)


def test_pairs_are_read_a_window_at_a_time(vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SCORE_WINDOW", 7)
    num_read = 0

    def endless() -> Iterator[TextPair]:
        nonlocal num_read
        while True:
            num_read += 1
            yield TextPair("abc", "cab")

    scores = Scorer(make_model(vocabularies), vocabularies).score(endless())
    for _ in range(8):
        next(scores)
    assert num_read == 14


def test_perplexity_is_computed_per_token() -> None:
    scored = ScoredTarget((5, 3), (math.log(0.5), math.log(0.125)))
    assert scored.log_prob == pytest.approx(math.log(1 / 16))
    assert scored.perplexity == pytest.approx(4.0)
    assert ScoredTarget((5,), (-1e6,)).perplexity == math.inf


def test_empty_lines_keep_their_place(vocabularies: Vocabularies) -> None:
    scorer = Scorer(make_model(vocabularies), vocabularies)
    nothing, ended, unasked = scorer.score([TextPair("", " "), TextPair("abc", ""), TextPair("", "abc")])
    assert (nothing.tokens, nothing.log_prob, nothing.perplexity) == ((), 0.0, None)
    assert ended.tokens == (vocabularies.target.eos,)
    assert ended.log_prob < 0
    assert len(unasked.tokens) > 3


def test_text_that_is_too_long_is_rejected_or_skipped_and_never_cut(vocabularies: Vocabularies) -> None:
    model = make_model(vocabularies)
    pairs = [TextPair("abc", "abc"), TextPair("abc", "ab" * 20), TextPair("ab" * 20, "abc"), TextPair("a", "a")]
    with pytest.raises(
        DataError, match=r"line 2: the target has 4[12] tokens \(including the end token\), but the model reads"
    ):
        list(Scorer(model, vocabularies).score(pairs))
    scores = list(Scorer(model, vocabularies, "skip").score(pairs))
    assert [scored.is_skipped for scored in scores] == [False, True, True, False]
    assert scores[3].log_prob < 0


def test_a_language_model_scores_text_without_a_source(vocabularies: Vocabularies) -> None:
    model = make_model(vocabularies, shape="decoder")
    scorer = Scorer(model, vocabularies)
    assert not scorer.has_source
    (scored,) = scorer.score([TextPair("", "abc")])
    ids = torch.tensor([scored.tokens])
    logits = model.decode(model.shifted(ids))
    assert scored.log_prob == pytest.approx(
        -torch.nn.functional.cross_entropy(logits[0], ids[0], reduction="sum").item()
    )


def test_a_run_is_opened_and_scores_as_it_translates(vocabularies: Vocabularies, tmp_path: Path) -> None:
    vocabularies.save(tmp_path)
    save_checkpoint(make_model(vocabularies).float(), tmp_path / "best")
    translator = Translator.load(tmp_path, engine="torch")
    texts = [translation.text for translation in translator.translate(LINES, SearchSettings(max_length=11))]
    scores = list(open_scorer(tmp_path).score(TextPair(*pair) for pair in zip(LINES, texts, strict=True)))
    assert all(scored.log_prob < 0 for scored in scores)
    save_checkpoint(make_model(vocabularies, shape="encoder", num_classes=3).float(), tmp_path / "other")
    with pytest.raises(ConfigError, match="a model of shape encoder generates no text"):
        open_scorer(tmp_path / "other")
