"""Readers: recurrent, convolutional and Transformer models on sentences of several lengths."""

from dataclasses import replace

import pytest
import torch

from clearhead.model import Batch, build_model
from clearhead.studies.learning import LearningCurve
from clearhead.studies.readers import SMALL, ReaderResult, describe, right_words, run
from clearhead.studies.variants import VARIANTS, matched_config
from tests.unit.studies.tiny import TINY, measured


def result_of(name: str, words: tuple[float, ...], seconds: float) -> ReaderResult:
    return ReaderResult(name, 7, LearningCurve([1.0], [seconds]), 1000, words, words)


def test_every_variant_is_in_both_tables() -> None:
    summary, by_length = measured("readers").tables
    titles = tuple(VARIANTS[name].title for name in SMALL.variants)
    assert len(titles) == 7
    assert summary.column("variant") == by_length.column("variant") == titles
    assert by_length.columns == ("variant", "2 words", "3 words")


def test_words_count_at_their_place_and_the_end_only_for_sentences() -> None:
    config = matched_config(
        VARIANTS["transformer"], {"source_vocabulary": 11, "encoder_blocks": 1, "decoder_blocks": 1}, 16
    )
    model = build_model(config).eval()
    written = torch.full((2, 4), 5)
    target = torch.tensor([[5, 5, 5, 2], [5, 7, 2, 0]])
    import clearhead.studies.readers as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "greedy", lambda model, source, length: written)
        words, sentences = right_words(model, Batch(target, target))
        assert (words, sentences) == (0.8, 0.0)  # 4 of 5 words
        patch.setattr(module, "greedy", lambda model, source, length: target[:, :3])
        assert right_words(model, Batch(target, target)) == (1.0, 0.5)  # the first one has no end


def test_the_finding_follows_the_numbers() -> None:
    falling = result_of("recurrent-no-attention", (1.0, 0.25), 2.0)
    steady = result_of("recurrent-no-attention", (1.0, 0.95), 2.0)
    transformer = result_of("transformer", (1.0, 0.99), 1.0)
    finding = describe({"recurrent-no-attention": falling, "transformer": transformer}, (4, 24))
    assert "the share of right words falls: 1.00 for 4 words and 0.25 for 24" in finding
    assert "for 24 words: Transformer 0.99." in finding
    assert "fastest in training is Transformer (1,000 tokens/s), the slowest recurrent, no attention (500" in finding
    assert "does not fall" in describe({"recurrent-no-attention": steady}, (4, 24))


def test_variants_can_be_chosen() -> None:
    result = run(0, replace(TINY["readers"], variants=("convolutional",)))
    assert result.tables[0].column("variant") == ("convolutional",)
    assert "Without attention" not in result.finding
