"""CTranslate2 compared with torch: the same tokens for greedy search and beams, and the same scores to a stated tolerance."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.decoding.engines.ctranslate2_engine import CTranslate2Engine
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.formats.arrays import arrays_of
from clearhead.formats.ctranslate2 import Storage, convert
from clearhead.model import Transformer
from tests.parity.engine_models import KINDS, requests, toy
from tests.unit.decoding.toys import random_model

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
TOLERANCE = 2e-4  # of a score in float32: sums of tens of logarithms, in another order


def engines(model: Transformer, folder: Path, storage: Storage = "float32") -> tuple[TorchEngine, CTranslate2Engine]:
    convert(arrays_of(model), folder, storage)
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
