"""The timeline of a run: where it is in its schedule, what to expect when, and warnings about long warm-ups."""

from typing import Any

import pytest

from clearhead.training.config import RunConfig
from clearhead.training.plan_report import length_warnings
from clearhead.training.progress import log_line
from clearhead.training.timeline import Timeline, duration
from tests.unit.training.configs import LEAST
from tests.unit.training.runs import merged


def warnings_of(total: int, warm_up: int) -> list[str]:
    return length_warnings(timeline(total, training={"warm_up": warm_up}).config.training, total)


def timeline(total: int, **changes: Any) -> Timeline:
    valid = {"data": {"valid": {"built_in": "reverse"}}}
    return Timeline(RunConfig.model_validate(merged(merged(LEAST, valid), changes)), total)


@pytest.mark.parametrize(
    ("schedule", "step", "text"),
    [
        ("cosine", 1, "warm-up 1/4,000"),
        ("cosine", 300, "warm-up 300/4,000"),
        ("cosine", 4000, "warm-up 4,000/4,000"),
        ("cosine", 4001, "cosine 0 %"),
        ("cosine", 4000 + 1051, "cosine 21 %"),
        ("linear", 8999, "linear 99 %"),
        ("linear", 9000, "linear 100 %"),
        ("inverse_sqrt", 4001, "inverse_sqrt"),
        ("constant", 4001, "constant"),
    ],
)
def test_the_phase_is_the_place_in_the_warm_up_or_the_schedule(schedule: str, step: int, text: str) -> None:
    assert timeline(9000, training={"schedule": schedule, "warm_up": 4000}).phase(step) == text


def test_a_run_without_a_warm_up_starts_with_its_schedule() -> None:
    assert timeline(7, training={"schedule": "linear", "warm_up": 0}).phase(1) == "linear 14 %"


def test_expectations_name_the_first_validation_and_the_end_of_the_warm_up() -> None:
    plan = timeline(9000, training={"warm_up": 4000}, validation={"every": 500})
    assert plan.expectations(50, 0.09) == [
        "First validation after update 500, in about 40 s.",
        "The learning rate rises until update 4,000, in about 6 min: expect poor translations until then.",
    ]


def test_expectations_of_a_resumed_run_after_its_warm_up() -> None:
    plan = timeline(9000, training={"warm_up": 4000}, validation={"every": 500})
    assert plan.expectations(5049, 2.0) == [
        "Next validation after update 5,500, in about 15 min.",
        "The warm-up is over. The validation scores will show when translations become useful.",
    ]


def test_without_a_validation_set_the_next_checkpoint_is_named() -> None:
    plan = timeline(90, data={"valid": None}, training={"warm_up": 7, "checkpoint_every": 40}, task="language-model")
    assert plan.expectations(83, 1.0) == [
        "No validation set (data.valid). Next checkpoint to try after update 90, in about 7 s.",
        "The warm-up is over. The checkpoints will show when predictions become useful.",
    ]
    assert plan.expectations(5, 1.0)[0].endswith("after update 40, in about 35 s.")


def test_a_model_that_is_fine_tuned_is_useful_from_the_start() -> None:
    plan = timeline(90, training={"warm_up": 70, "init_from": "models/opus"}, validation={"every": 20})
    assert plan.expectations(10, 1.0) == ["First validation after update 20, in about 10 s."]


def test_a_run_shorter_than_its_warm_up_is_warned_about() -> None:
    plan = timeline(1400, training={"warm_up": 4000, "rate": 0.002})
    assert length_warnings(plan.config.training, plan.total) == [
        "Warning: the run (1,400 updates) is shorter than its warm-up (4,000 updates).",
        "The learning rate will only reach 35 % of training.rate, and the model will learn little.",
        "Lower training.warm_up or train longer.",
    ]
    assert plan.expectations(50, 1.0)[1] == (
        "The learning rate rises until the end of the run: expect poor translations."
    )


def test_a_warm_up_of_more_than_half_of_the_run_is_warned_about() -> None:
    assert warnings_of(1400, 701) == [
        "Warning: the warm-up takes 701 of 1,400 updates, more than half of the run.",
        "The model will learn little. Lower training.warm_up or train longer.",
    ]
    assert warnings_of(1400, 700) == []


def test_a_config_that_shows_nothing_for_long_is_warned_about() -> None:
    plan = timeline(1400, training={"warm_up": 4}, validation={"every": 500})
    warning = "Warning: this config is slow on this device, and shows no score for a long time. If you give"
    assert warning in plan.expectations(50, 3.0)
    assert warning not in plan.expectations(50, 1.0)


def test_nothing_is_expected_after_the_last_update() -> None:
    assert timeline(90).expectations(90, 1.0) == []


@pytest.mark.parametrize("every", [1, 3, 5, 11, 13])
@pytest.mark.parametrize("after", [0, 1, 5, 7, 23])
def test_validations_are_predicted_as_the_loop_makes_them(every: int, after: int) -> None:
    total = 11
    plan = timeline(total, validation={"every": every, "after": after})
    judged = [step for step in range(1, total + 1) if (step >= after and step % every == 0) or step == total]
    for step in range(total + 1):
        later = [judged_step for judged_step in judged if judged_step > step]
        assert plan.next_validation(step) == (later[0] if later else None)
        assert plan.num_validations(step) == len(later)


@pytest.mark.parametrize("task", ["translate", "classify", "language-model"])
@pytest.mark.parametrize("warm_up", [0, 400, 67_890, 98_765])
@pytest.mark.parametrize("total", [54_321, 98_766, 234_567])
def test_every_message_fits_100_columns(task: str, warm_up: int, total: int) -> None:
    plan = timeline(total, task=task, training={"warm_up": warm_up, "rate": 0.002}, validation={"every": 50_000})
    assert [
        line
        for line in [*length_warnings(plan.config.training, plan.total), *plan.expectations(50, 1.23)]
        if len(line) > 100
    ] == []


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "linear", "constant"])
@pytest.mark.parametrize("step", [9_876, 123_456])
def test_every_log_line_fits_100_columns(schedule: str, step: int) -> None:
    plan = timeline(234_567, training={"schedule": schedule, "warm_up": 9_876})
    values = {"loss": 12.3456, "rate": 1.2345e-05, "gradient": 1.2, "epoch": 3, "tokens_per_second": 234_567.8}
    lines = [log_line(step, 234_567, values, plan.phase(step), 123_456.0)]
    lines.append(
        log_line(
            123_456, 234_567, {"valid/loss": 1.2345, "valid/bleu": 31.25, "valid/chrf": 51.25, "valid/exact": 7.125}
        )
    )
    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (40, "40 s"),
        (89, "89 s"),
        (90, "2 min"),
        (540, "9 min"),
        (9000, "2.5 h"),
        (133_200, "37 h"),
        (267_840, "3.1 days"),
    ],
)
def test_a_duration_is_rounded(seconds: float, text: str) -> None:
    assert duration(seconds) == text
