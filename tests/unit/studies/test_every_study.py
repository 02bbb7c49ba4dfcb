"""What holds for every study: a contract, a round trip, a picture, progress, a place in the guide and in the verb."""

import json
from dataclasses import is_dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clearhead.experiments import EXPERIMENTS, Experiment
from clearhead.experiments.picture import save_picture
from clearhead.studies import STUDIES, find_study
from tests.unit.experiments.test_every_experiment import clearhead
from tests.unit.studies.tiny import TINY, measured, run_tiny

ROOT = Path(__file__).parents[3]
NO_TORCH = """
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, Blocker())
"""
TIMED = {"length-cost", "readers", "teacher-forcing"}  # times differ from run to run


@pytest.fixture(params=STUDIES)
def result(request: pytest.FixtureRequest) -> Experiment:
    """Each study, run once in a process of the tests."""
    return measured(request.param)


def test_no_study_has_the_name_of_an_experiment() -> None:
    assert not set(STUDIES) & set(EXPERIMENTS)
    assert set(TINY) == set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_can_be_found_run_and_drawn(name: str) -> None:
    module = find_study(name)
    assert name == module.NAME
    assert STUDIES[name].title
    assert STUDIES[name].duration[0].isdigit()
    assert is_dataclass(module.SMALL)
    assert hasattr(module, "PANELS") != hasattr(module, "draw")


def test_a_result_is_complete(result: Experiment) -> None:
    assert result.title == STUDIES[result.name].title
    assert result.claim.endswith(".")
    assert result.finding.endswith(".") or not result.finding
    assert "\n" not in result.claim + result.finding
    for table in result.tables:
        assert table.rows
        assert len(set(table.columns)) == len(table.columns)
        for row in table.rows:
            assert len(row) == len(table.columns)
            assert {type(cell) for cell in row} <= {int, float, str}
            assert all(np.isfinite(cell) for cell in row if not isinstance(cell, str))


def test_json_loads_back_equal(result: Experiment) -> None:
    assert Experiment.from_json(result.to_json()) == result


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in TIMED])
def test_the_same_seed_gives_the_same_numbers(name: str) -> None:
    assert run_tiny(name, 0) == measured(name)


@pytest.mark.parametrize("name", ["score-scaling", "no-mask", "stability"])
def test_another_seed_gives_other_numbers(name: str) -> None:
    assert run_tiny(name, 17).tables != measured(name).tables


def test_a_study_shows_its_progress() -> None:
    calls = []
    find_study("teacher-forcing").run(
        0, TINY["teacher-forcing"], lambda part, num_done, total: calls.append((part, num_done, total))
    )
    assert ("training token by token", 4, 4) in calls
    assert all(0 < num_done <= total for _, num_done, total in calls)


def test_a_picture_is_written_as_svg_and_png(result: Experiment, tmp_path: Path) -> None:
    module = find_study(result.name)
    for name in ("one.svg", "two.svg", "picture.png"):
        save_picture(result, tmp_path / name, module)
    assert ElementTree.parse(tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", STUDIES)
def test_the_guide_shows_the_command_and_the_plot(name: str) -> None:
    page = (ROOT / "docs" / "guide" / "studies.md").read_text(encoding="utf-8")
    assert f"$ clearhead experiment {name} --picture {name}.svg\n" in page
    assert f"(../pictures/studies/{name}.svg)" in page
    assert (ROOT / "docs" / "pictures" / "studies" / f"{name}.svg").stat().st_size < 120_000


def test_the_verb_lists_the_studies_without_torch() -> None:
    listed = json.loads(clearhead("experiment", "--list", "--json").stdout)
    assert [entry["name"] for entry in listed] == [*EXPERIMENTS, *STUDIES]
    assert {entry["name"]: entry["duration"] for entry in listed}["teacher-forcing"] == "30 s"


def test_without_torch_the_error_is_one_sentence() -> None:
    done = clearhead("experiment", "teacher-forcing", before=NO_TORCH)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clearhead: the experiment teacher-forcing needs torch, which is not installed. "
        "Run pip install '.[train]' in a clone of clearhead.\n"
    )


def test_an_unknown_name_gets_a_close_match_among_the_studies() -> None:
    done = clearhead("experiment", "teacher-forced")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'teacher-forced' is not an experiment. Did you mean 'teacher-forcing'?" in done.stderr
