"""A step with fixed buffers gives the same search as a growing one, whatever its capacity. On a CPU it is not recorded."""

from typing import Any

import pytest
import torch

from clearhead.decoding.search.beam import beam_search, search_with
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_search import static_search
from clearhead.decoding.search.static_step import StaticStep, StaticStepper, StaticStepPool, StepShape, shape_bytes
from clearhead.model.gates import NO_GATES, Gates
from clearhead.model.probe import Probe
from clearhead.model.probed import ProbedModel
from tests.parity.models import make_gates
from tests.unit.decoding.toys import random_model, sources

KINDS: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm, tied": {"norm_place": "post", "tied": "three"},
    "rotary": {"positions": "rotary", "d_model": 24, "num_heads": 2},
    "learned": {"positions": "learned"},
    "starts from pad": {"start": "pad"},
}


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 4, "n_best": 4},
        {"beam": 5, "n_best": 2, "stopping": "first", "no_repeat": 2, "min_length": 3},
        {"beam": 40, "n_best": 3},  # wider than the vocabulary
    ],
)
@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_a_fixed_step_gives_the_same_search_as_a_growing_one(kind: str, options: dict[str, Any]) -> None:
    model = random_model(**KINDS[kind])
    source, limits = sources(model), [13, 11, 7, 5, 3]
    settings, constraints = SearchSettings(**options), [Constraints(prefix=(7, 5))] + [Constraints()] * 4
    right = beam_search(model, source, limits, settings, constraints)
    pool = StaticStepPool(model)
    for _ in range(2):  # the second time with the values that the first left in the buffers
        with pool.stepper(source, settings.beam, max(limits)) as stepper:
            outcomes = search_with(stepper, source, limits, settings, constraints)
        assert [[hypothesis.tokens for hypothesis in row] for row in outcomes] == [
            [hypothesis.tokens for hypothesis in row] for row in right
        ]
        for row, expected in zip(outcomes, right, strict=True):
            assert [hypothesis.score for hypothesis in row] == pytest.approx(
                [hypothesis.score for hypothesis in expected], abs=1e-10
            )


@torch.inference_mode()
def test_a_smaller_batch_is_not_affected_by_values_left_from_a_larger_one() -> None:
    model = random_model()
    pool, settings = StaticStepPool(model), SearchSettings(beam=3)
    for lengths, limit in (((17, 13, 11, 7, 5, 3, 2), 19), ((3, 2), 5), ((5, 1, 1), 7)):
        source = sources(model, lengths)
        limits = [limit] * len(lengths)
        with pool.stepper(source, 3, limit) as stepper:
            outcomes = search_with(stepper, source, limits, settings)
        right = beam_search(model, source, limits, settings)
        assert [row[0].tokens for row in outcomes] == [row[0].tokens for row in right]
    assert len(pool._free) == 1, "all of them fit one shape"


def test_shapes_are_rounded_up() -> None:
    source = torch.zeros(33, 65, dtype=torch.long)
    assert StepShape.holding(source, 4, 32) == StepShape(rows=64, beam=4, source=96, length=32)
    assert StepShape.holding(source[:1, :1], 1, 1) == StepShape(rows=8, beam=1, source=32, length=32)


@torch.inference_mode()
def test_a_step_in_use_is_not_given_to_another_search() -> None:
    model = random_model()
    pool, source = StaticStepPool(model), sources(model)
    with pool.stepper(source, 2, 7) as one, pool.stepper(source, 2, 7) as other:
        assert isinstance(one, StaticStepper)
        assert isinstance(other, StaticStepper)
        assert one.static is not other.static
    with pool.stepper(source, 2, 7) as again:
        assert isinstance(again, StaticStepper)
        assert again.static in (one.static, other.static)


@torch.inference_mode()
def test_the_least_recently_used_step_is_removed() -> None:
    model = random_model()
    source = sources(model)
    need = shape_bytes(StepShape.holding(source, 2, 7), model)
    pool = StaticStepPool(model, max_bytes=2 * need + need // 2)
    for beam in (2, 1, 2, 1):
        with pool.stepper(source, beam, 7):
            pass
    assert [step.shape.beam for step in pool._free] == [2, 1]
    with pool.stepper(source, 3, 7):
        pass
    assert [step.shape.beam for step in pool._free] == [1, 3]


@torch.inference_mode()
def test_a_fixed_step_computes_in_the_dtype_of_the_model() -> None:
    model = random_model().to(torch.bfloat16)
    step = StaticStep(model, StepShape(8, 2, 32, 32))
    step.start(model.encode(sources(model)))
    step.run()
    assert step.log_probs.dtype == torch.float32
    assert step.cache.blocks[0].own.k.dtype == torch.bfloat16
    assert bool(step.log_probs.isfinite().all())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: steps are recorded there only")
@torch.inference_mode()
def test_a_recorded_step_gives_the_same_search_as_one_that_is_not() -> None:
    model = random_model().cuda()
    source, limits, settings = sources(model).cuda(), [13, 11, 7, 5, 3], SearchSettings(beam=4, n_best=4)
    right = beam_search(model, source, limits, settings)
    pool = StaticStepPool(model)
    for _ in range(2):
        with pool.stepper(source, 4, 13) as stepper:
            outcomes = search_with(stepper, source, limits, settings)
        assert [[hypothesis.tokens for hypothesis in row] for row in outcomes] == [
            [hypothesis.tokens for hypothesis in row] for row in right
        ]


@torch.inference_mode()
def test_one_step_serves_any_gates_at_the_same_places_and_a_plain_search_gets_another() -> None:
    model = random_model()
    source, limits, settings = sources(model), [13, 11, 7, 5, 3], SearchSettings(beam=3, n_best=3)
    pool, steps, translations = StaticStepPool(model), [], []
    few = Gates({"decoder.0.cross_attention": torch.tensor([0.0, 1.0])})
    choices: list[Gates] = [make_gates(model.config), NO_GATES, make_gates(model.config, seed=1), few]
    for gates in choices:
        expected = beam_search(ProbedModel(model, Probe(gates=gates)), source, limits, settings)
        with pool.step(source, settings.beam, max(limits), gates) as step:
            outcomes = static_search(step, source, limits, settings)
            steps.append(step)
        with pool.stepper(source, settings.beam, max(limits), gates) as stepper:
            by_stepper = search_with(stepper, source, limits, settings)
        rows = [[hypothesis.tokens for hypothesis in row] for row in outcomes]
        assert rows == [[hypothesis.tokens for hypothesis in row] for row in expected]
        assert rows == [[hypothesis.tokens for hypothesis in row] for row in by_stepper]
        translations.append(rows)
    assert steps[0] is steps[2], "the numbers are copied into the same tensors"
    assert len({id(step) for step in steps}) == 3
    assert translations[0] != translations[1] != translations[2] != translations[0]
