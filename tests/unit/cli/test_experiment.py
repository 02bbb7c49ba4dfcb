"""`clearhead experiment` as a function: what it lists and prints, and its errors."""

import json

import pytest

from clearhead.cli.experiment import experiment
from clearhead.errors import ClearheadError
from clearhead.experiments import EXPERIMENTS, Experiment
from clearhead.studies import STUDIES


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    experiment(as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [*EXPERIMENTS, *STUDIES]
    experiment("norms", list_all=True)
    text = capsys.readouterr().out
    assert all(name in text for name in (*EXPERIMENTS, *STUDIES))


def test_every_number_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    experiment("norms", seed=5, as_json=True)
    assert Experiment.from_json(capsys.readouterr().out) == EXPERIMENTS["norms"].run(5)


def test_a_table_has_its_claim_its_finding_and_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    experiment("norms", seed=5)
    text = capsys.readouterr().out
    assert text.index("Claim: ") < text.index("Finding: ") < text.index("Seed 5.")


def test_an_unknown_name_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(ClearheadError, match="'nroms' is not an experiment"):
        experiment("nroms")
