"""The curves of runs: one curve for a run that was resumed, named metrics, and clear errors."""

from pathlib import Path

import pytest

from clearhead.errors import RunError
from clearhead.explain.curves import CurvePoint, check_axis, choose_metrics, curves_data, read_runs
from tests.unit.explain.logs import START, log_line, unvalidated_run, validated_run, write_run


def test_the_points_of_a_run_have_updates_seconds_and_epochs(tmp_path: Path) -> None:
    (run,) = read_runs([validated_run(tmp_path / "first")])
    assert run.name == "first"
    # the last change of the epoch, to 2, is halfway between the updates 20 and 30
    assert run.curves["valid/bleu"] == (
        CurvePoint(10, 23.0, pytest.approx(10 / 12.5), 3.0),
        CurvePoint(30, 63.0, pytest.approx(30 / 12.5), 17.0),
    )
    assert [point.value for point in run.curves["loss"]] == [5.0, 3.0, 2.0]
    assert not {"time", "step"} & set(run.curves)


def test_a_resumed_run_gives_one_curve_without_the_pause(tmp_path: Path) -> None:
    lines = [log_line(1, 10, loss=3.0), log_line(2, 20, loss=2.0), log_line(3, 1007, loss=1.0)]
    (run,) = read_runs([write_run(tmp_path / "run", lines, starts=(START, START + 1000))])
    assert [point.seconds for point in run.curves["loss"]] == [10.0, 20.0, 27.0]


def test_updates_that_were_computed_again_are_counted_once(tmp_path: Path) -> None:
    steps = [(1, 5.0), (2, 4.0), (3, 3.9), (2, 3.0), (3, 2.0), (3, 1.0)]
    lines = [log_line(step, second, loss=loss) for second, (step, loss) in enumerate(steps)]
    (run,) = read_runs([write_run(tmp_path / "run", lines)])
    assert [(point.updates, point.value) for point in run.curves["loss"]] == [(1, 5.0), (2, 3.0), (3, 1.0)]


def test_seconds_count_from_the_first_line_if_the_start_is_unknown(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [log_line(1, 50, loss=3.0), log_line(2, 61, loss=2.0), {"step": 3, "loss": 1.0}])
    (run / "environment.json").write_text('{"sessions": [{"time": "yesterday"}]}')
    (curves,) = read_runs([run])
    assert [point.seconds for point in curves.curves["loss"]] == [0.0, 11.0, 11.0]


def test_numbers_that_cannot_be_drawn_are_gaps_and_other_values_are_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [log_line(1, 1, loss=None), log_line(2, 2, loss=2.0)])
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "loss": NaN}\n{"step": 4, "loss": 1e999}\n{"step": 5, "loss": ' + "9" * 400 + "}\n")
        file.write('{"step": 6, "loss": "low", "note": [1]}\n{"step": 7, "lo')
    (curves,) = read_runs([run])
    assert [(point.updates, point.value) for point in curves.curves["loss"]] == [
        (1, None), (2, 2.0), (3, None), (4, None), (5, None),
    ]  # fmt: skip
    assert set(curves.curves) == {"loss"}


def test_runs_of_the_same_name_are_named_by_their_paths(tmp_path: Path) -> None:
    places = [
        validated_run(tmp_path / "a" / "run"),
        validated_run(tmp_path / "b" / "run"),
        validated_run(tmp_path / "c"),
    ]
    runs = read_runs([*places, places[2]])
    assert [run.name for run in runs] == [str(places[0]), str(places[1]), "c"]


def test_the_usual_metrics_are_drawn_or_the_named_ones(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    assert choose_metrics(runs) == ["loss", "valid/loss", "valid/bleu", "rate", "tokens_per_second"]
    assert choose_metrics(runs, ["bleu", "loss", "valid/bleu"]) == ["valid/bleu", "loss"]
    assert choose_metrics(read_runs([write_run(tmp_path / "c", [log_line(1, 1, odd=1.0)])])) == ["odd"]


def test_an_unknown_metric_is_refused_with_the_choices(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a")])
    with pytest.raises(RunError) as wrong:
        choose_metrics(runs, ["blue"])
    assert str(wrong.value) == (
        "'blue' is not a metric of this run. Did you mean 'bleu'? Choices: epoch, loss, rate, tokens_per_second, "
        "valid/bleu, valid/loss."
    )


def test_a_run_without_validations_has_no_validation_metric(tmp_path: Path) -> None:
    place = unvalidated_run(tmp_path / "plain")
    with pytest.raises(RunError) as wrong:
        choose_metrics(read_runs([place]), ["bleu"])
    assert str(wrong.value) == (
        f"{place} has no validations (yet), so there is no valid/bleu to draw. Choices: epoch, loss."
    )


def test_epochs_need_a_completed_one(tmp_path: Path) -> None:
    runs = read_runs([unvalidated_run(tmp_path / "short")])
    check_axis(runs, "updates")
    with pytest.raises(RunError, match=r"short has not completed its first epoch.*Choose updates or seconds\."):
        check_axis(runs, "epochs")


def test_the_data_has_every_point(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    assert curves_data(runs, ["valid/bleu", "loss"], "seconds") == {
        "x": "seconds",
        "runs": [
            {
                "name": "a",
                "run": str(tmp_path / "a"),
                "metrics": {
                    "valid/bleu": {"x": [23.0, 63.0], "y": [3.0, 17.0]},
                    "loss": {"x": [20.0, 40.0, 60.0], "y": [5.0, 3.0, 2.0]},
                },
            },
            {"name": "b", "run": str(tmp_path / "b"), "metrics": {"loss": {"x": [1.0, 2.0], "y": [7.0, 6.0]}}},
        ],
    }


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    validated_run(tmp_path / "runs" / "seed-1")
    for name in ("started", "silent"):
        write_run(tmp_path / name, [])
    (tmp_path / "started" / "metrics.jsonl").unlink()
    (tmp_path / "started" / "config.yaml").write_text("")
    messages = {
        "nowhere": "nowhere does not exist. Give the folder of a run, as metrics.jsonl is in it.",
        "file": "file is a file, not a run folder. Give the folder of a run, as metrics.jsonl is in it.",
        "runs": "runs is not a run folder: it has no metrics.jsonl. It contains runs: seed-1.",
        "started": "started has no metrics.jsonl: nothing has been logged yet, so there are no curves.",
        "silent": "metrics.jsonl contains no numbers (yet), so there are no curves.",
    }
    for name, message in messages.items():
        with pytest.raises(RunError) as wrong:
            read_runs([tmp_path / name])
        assert str(wrong.value).endswith(message)


def test_a_picture_has_at_most_twenty_runs(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="21 runs are too many for one picture. Give at most 20"):
        read_runs([tmp_path / str(number) for number in range(21)])
