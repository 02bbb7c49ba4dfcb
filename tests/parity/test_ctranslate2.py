"""CTranslate2 compared with torch: the same tokens for greedy search and beams, and the same scores to a stated tolerance."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.decoding.engines.ctranslate2_engine import CTranslate2Engine
from clearhead.decoding.engines.engine import Request
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.formats.ctranslate2 import Storage, convert
from clearhead.model import Transformer
from tests.unit.decoding.toys import random_model

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
TOLERANCE = 2e-4  # of a score in float32: sums of tens of logarithms, in another order
KINDS: dict[str, dict[str, Any]] = {
    "pre-norm, pairs, untied": {},
    "post-norm, blocks, tied": {"norm_place": "post", "sinusoids": "blocks", "tied": "three"},
    "pre-norm, blocks, two tied": {"sinusoids": "blocks", "tied": "two", "target_vocabulary": 37},
    "post-norm, pairs, untied": {"norm_place": "post"},
    "as MarianMT": {
        "norm_place": "post", "sinusoids": "blocks", "tied": "three", "has_output_bias": True, "start": "pad",
        "pad": 29, "eos": 0, "activation": "silu", "max_length": 61,
    },
    "a last norm after post-norm": {"norm_place": "post", "has_last_norm": True, "activation": "gelu"},
    "no last norm after pre-norm": {"has_last_norm": False, "has_output_bias": True},
    "learned positions, no biases": {"positions": "learned", "has_bias": False},
    "RMS norm, gated": {"encoder_norm": "rms", "decoder_norm": "rms", "is_gated": True, "activation": "silu", "has_output_bias": True},
    "embeddings not scaled, few blocks": {"scale_embedding": False, "encoder_blocks": 1, "decoder_blocks": 3},
    "coarse epsilon, starts from eos": {"epsilon": 1e-2, "start": "eos"},
}  # fmt: skip


def toy(**changes: Any) -> Transformer:
    """Return a random model in float32 that would hardly ever write padding or bos, with some translations that end and some that reach the limit."""
    for likely in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 8.0, 10.0):
        model = random_model(spread=0.3, **{"max_length": 61, **changes}).float()
        with torch.no_grad():
            prefer_the_end(model, likely)
        outcomes = TorchEngine(model).translate(requests(model), SearchSettings(beam=4, n_best=4, stopping="first"))
        ended = [hypothesis.has_ended for hypotheses in outcomes for hypothesis in hypotheses]
        if 4 < sum(ended) < 24 and len({hypothesis.tokens for hypotheses in outcomes for hypothesis in hypotheses}) > 9:
            return model
    raise AssertionError("no model like that")


def prefer_the_end(model: Transformer, likely: float) -> None:
    """Make padding and bos so unlikely that their probability makes no difference, and eos likely."""
    never, eos, decoder = list(model.config.never_written), model.config.eos, model.decoder
    assert decoder is not None
    if model.output.bias is not None:
        model.output.bias[never] = -50
        model.output.bias[eos] += likely
        return
    norm = decoder.last_norm or model.decoder_blocks[-1].residuals[-1].norm
    norm.gain[0], norm.shift[0] = 0, 1  # the first number of every state is 1
    model.output.weight[never] = 0
    model.output.weight[never, 0] = -50
    model.output.weight[eos, 0] = likely


def requests(model: Transformer, seed: int = 3) -> list[Request]:
    random = torch.Generator().manual_seed(seed)
    config = model.config
    low, high = 3, min(config.source_vocabulary, 29)
    rows = [torch.randint(low, high, (length,), generator=random).tolist() for length in (1, 11, 2, 7, 7, 5, 3)]
    return [Request((*row, config.eos), 2 * len(row) + 3, number=n) for n, row in enumerate(rows)]


def engines(model: Transformer, folder: Path, storage: Storage = "float32") -> tuple[TorchEngine, CTranslate2Engine]:
    convert(model, folder, storage)
    return TorchEngine(model), CTranslate2Engine(folder, model.config, storage, num_threads=1)


@pytest.mark.parametrize("alpha", [1.0, 0.0, 0.6])
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_scores_are_those_of_torch(kind: str, beam: int, alpha: float, tmp_path: Path) -> None:
    model = toy(**KINDS[kind])
    ours, theirs = engines(model, tmp_path)
    settings = SearchSettings(beam=beam, n_best=beam, length_penalty=alpha, stopping="first", batch_tokens=37)
    right, outcomes = (engine.translate(requests(model), settings) for engine in (ours, theirs))
    assert [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in outcomes] == [
        [hypothesis.tokens for hypothesis in hypotheses] for hypotheses in right
    ]
    for hypotheses, expected in zip(outcomes, right, strict=True):
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [hypothesis.score for hypothesis in expected], abs=TOLERANCE
        )
        assert [hypothesis.log_prob for hypothesis in hypotheses] == pytest.approx(
            [hypothesis.log_prob for hypothesis in expected], abs=1e-3
        )
        assert [hypothesis.has_ended for hypothesis in hypotheses] == [hypothesis.has_ended for hypothesis in expected]


@pytest.mark.parametrize("storage", ["int8", "float16"])
def test_lower_precision_changes_scores_only_a_little(storage: Storage, tmp_path: Path) -> None:
    model = toy(has_output_bias=True)
    ours, theirs = engines(model, tmp_path, storage)
    right, outcomes = (engine.translate(requests(model), SearchSettings()) for engine in (ours, theirs))
    same = [
        hypotheses[0].tokens[:2] == expected[0].tokens[:2] for hypotheses, expected in zip(outcomes, right, strict=True)
    ]
    assert sum(same) >= 5
    assert [hypotheses[0].score for hypotheses in outcomes] == pytest.approx(
        [hypotheses[0].score for hypotheses in right], abs=0.5
    )


@pytest.mark.parametrize("storage", ["float32", "int8", "float16"])
def test_padding_and_bos_are_never_written(storage: Storage, tmp_path: Path) -> None:
    model = random_model(spread=0.3, has_output_bias=True, max_length=61).float()
    never = {model.config.pad, model.config.bos}
    with torch.no_grad():
        model.output.bias[list(never)] = 30
    _, theirs = engines(model, tmp_path, storage)
    outcomes = theirs.translate(requests(model), SearchSettings(beam=3, n_best=3, stopping="first"))
    assert not any(never & {*hypothesis.tokens} for hypotheses in outcomes for hypothesis in hypotheses)


def test_a_sentence_gets_the_same_translation_in_any_batch(tmp_path: Path) -> None:
    model = toy()
    _, theirs = engines(model, tmp_path)
    settings = SearchSettings(beam=4, n_best=2, stopping="first")
    together = theirs.translate(requests(model), settings)
    alone = [theirs.translate([request], settings)[0] for request in requests(model)]
    assert [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in together] == [
        [hypothesis.tokens for hypothesis in hypotheses] for hypotheses in alone
    ]


def test_a_greedy_search_without_scores_writes_the_same(tmp_path: Path) -> None:
    model = toy()
    _, engine = engines(model, tmp_path)
    scored_requests = requests(model)
    with_scores = engine.translate(scored_requests, SearchSettings())
    without = engine.translate([replace(request, has_score=False) for request in scored_requests], SearchSettings())
    assert [hypotheses[0].tokens for hypotheses in without] == [hypotheses[0].tokens for hypotheses in with_scores]
    assert all(math.isnan(hypotheses[0].score) for hypotheses in without)
    assert all(math.isfinite(hypotheses[0].score) for hypotheses in with_scores)
    beam = engine.translate([replace(request, has_score=False) for request in scored_requests], SearchSettings(beam=3))
    assert all(math.isfinite(hypotheses[0].score) for hypotheses in beam), "a beam cannot do without"


@pytest.mark.parametrize(
    ("options", "constraints", "reason"),
    [
        ({"beam": 3, "stopping": "proved"}, NO_CONSTRAINTS, "it stops a beam search by the rule 'first', not 'proved'"),
        ({"temperature": 1.0}, NO_CONSTRAINTS, "it draws different random numbers"),
        ({}, Constraints(prefix=(5,)), "it does not support constraints"),
    ],
)
def test_unsupported_settings_are_rejected_and_not_replaced(
    tmp_path: Path, options: dict[str, Any], constraints: Constraints, reason: str
) -> None:
    model = toy()
    _, engine = engines(model, tmp_path)
    constrained = [replace(request, constraints=constraints) for request in requests(model)]
    message = f"the engine ctranslate2 cannot do this search: {reason}. Load the model with engine='torch'."
    with pytest.raises(ConfigError, match=re.escape(message)):
        engine.translate(constrained, SearchSettings(**options))
