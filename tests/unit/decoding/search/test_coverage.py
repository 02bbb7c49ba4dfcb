"""The coverage penalty equals that of the attention of the finished translation, and reorders translations."""

import math

import pytest
import torch

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.coverage import CoverageStepper
from clearhead.decoding.search.hypothesis import normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.model import build_model
from clearhead.model.config import read_config
from tests.unit.decoding.toys import random_model, sources


@torch.inference_mode()
def test_the_coverage_penalty_is_that_of_the_attention_of_the_finished_translation() -> None:
    model = random_model(36)
    source = sources(model, (7, 4))
    settings = SearchSettings(beam=3, n_best=3, coverage_penalty=0.4, length_penalty=0.6, stopping="proved")
    outcomes = beam_search(model, source, [9, 9], settings)
    for row, hypotheses in zip(source, outcomes, strict=True):
        alone = row[row != model.config.pad]
        for hypothesis in hypotheses:
            weights = cross_attention(model, alone, [hypothesis.tokens])[0].rows(Head(1), is_shifted=False)
            log_coverage = sum(math.log(min(attention, 1.0)) for attention in weights.sum(dim=0).tolist())
            expected = normalised(hypothesis.log_prob, len(hypothesis.tokens), 0.6) + 0.4 * log_coverage
            assert hypothesis.score == pytest.approx(expected, abs=1e-6)
    assert isinstance(CoverageStepper(model, source, 0.4).penalties(), torch.Tensor)


@torch.inference_mode()
def test_coverage_reorders_translations() -> None:
    model = random_model(20)
    source = sources(model)
    both = [SearchSettings(beam=4, coverage_penalty=weight, stopping="proved") for weight in (0.0, 5.0)]
    plain, covered = (beam_search(model, source, [11] * 5, settings) for settings in both)
    assert [hypotheses[0].tokens for hypotheses in plain] != [hypotheses[0].tokens for hypotheses in covered]


@torch.inference_mode()
@pytest.mark.parametrize("attention", ["scaled", "none"])
def test_a_recurrent_model_needs_attention_for_it(attention: str) -> None:
    sizes = {"source_vocabulary": 13, "encoder_blocks": 1, "decoder_blocks": 2, "d_model": 6}
    config = read_config({"architecture": "recurrent", "attention": attention, **sizes})
    model, settings = build_model(config).eval(), SearchSettings(beam=2, coverage_penalty=0.2)
    source = torch.tensor([[5, 7, 2]])
    if attention == "none":
        with pytest.raises(ConfigError, match="the coverage penalty needs attention to the source, and this model has"):
            beam_search(model, source, [4], settings)
    else:
        assert math.isfinite(beam_search(model, source, [4], settings)[0][0].score)
