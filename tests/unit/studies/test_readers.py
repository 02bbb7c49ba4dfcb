"""Readers: recurrent, convolutional and Transformer models on sentences of several lengths."""

from dataclasses import replace

import pytest
import torch

from clearhead.model import Batch, build_model
from clearhead.studies import run_study
from clearhead.studies.readers import SMALL, right_words
from clearhead.studies.variants import VARIANTS, matched_config
from tests.unit.studies.tiny import TINY, measured


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
    import clearhead.studies.learning as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "greedy", lambda model, source, length: written)
        words, sentences = right_words(model, Batch(target, target))
        assert (words, sentences) == (0.8, 0.0)  # 4 of 5 words
        patch.setattr(module, "greedy", lambda model, source, length: target[:, :3])
        assert right_words(model, Batch(target, target)) == (1.0, 0.5)  # the first one has no end


def test_variants_can_be_chosen() -> None:
    result = run_study("readers", sizes=replace(TINY["readers"], variants=("convolutional",)))
    assert result.tables[0].column("variant") == ("convolutional",)
