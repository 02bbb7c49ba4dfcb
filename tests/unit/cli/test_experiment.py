"""`clearhead experiment` as a function: what it lists and prints, and its errors."""

import json

import pytest

from clearhead.cli.experiment import experiment
from clearhead.errors import ClearheadError
from clearhead.studies import STUDIES, Experiment, find_study, run_study


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    experiment(as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [*STUDIES]
    experiment("norms", list_all=True)
    text = capsys.readouterr().out
    assert all(name in text for name in STUDIES)


def test_every_number_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    experiment("norms", seed=5, as_json=True)
    assert Experiment.from_json(capsys.readouterr().out) == run_study("norms", 5)


def test_a_table_has_its_claim_its_finding_and_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    experiment("norms", seed=5)
    text = capsys.readouterr().out
    assert text.index("Claim: ") < text.index("Finding: ") < text.index("Seed 5.")


def test_a_result_without_a_finding_prints_no_empty_line_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measurement = find_study("norms").run(0)._replace(finding="")
    monkeypatch.setattr(find_study("norms"), "run", lambda seed: measurement)
    experiment("norms")
    assert "Finding" not in capsys.readouterr().out


def test_an_unknown_name_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(ClearheadError, match="'nroms' is not an experiment"):
        experiment("nroms")
