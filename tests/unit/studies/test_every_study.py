"""What holds for every study: a contract, a round trip, a picture, progress, a place in the guide and in the verb."""

import json
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clearhead.studies import STUDIES, Experiment, find_study, run_study
from clearhead.studies.experiment import format_cell
from clearhead.studies.picture import save_picture
from tests.unit.studies.tiny import TINY, measured

ROOT = Path(__file__).parents[3]
FAST = [name for name, study in STUDIES.items() if not study.trains_models]
TIMED = ("cost", "length-cost", "readers", "teacher-forcing")  # times differ from run to run
REPEATABLE = [name for name in FAST if name not in TIMED]
NO_TORCH = """
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture(params=STUDIES)
def result(request: pytest.FixtureRequest) -> Experiment:
    """Each study, run once in a process of the tests."""
    return measured(request.param)


def clearhead(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process; fail there if torch is loaded."""
    code = (
        f"import sys\n{before}\nimport clearhead.cli.main as command\n"
        f"sys.argv = ['clearhead', *{list(arguments)!r}]\n"
        "try:\n    command.main()\nfinally:\n    assert 'torch' not in sys.modules\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_can_be_found_run_and_drawn(name: str) -> None:
    module, study = find_study(name), STUDIES[name]
    assert module.__name__ == f"clearhead.studies.{name.replace('-', '_')}"
    assert study.title
    assert study.duration[0].isdigit() == study.trains_models
    assert study.trains_models == (name in TINY)
    assert not study.trains_models or is_dataclass(module.SMALL)
    assert hasattr(module, "PANELS") != hasattr(module, "draw")


def test_a_result_is_complete(result: Experiment) -> None:
    assert result.title == STUDIES[result.name].title
    assert result.claim.endswith(".")
    assert result.finding.endswith(".") or (STUDIES[result.name].trains_models and not result.finding)
    assert "\n" not in result.claim + result.finding
    for table in result.tables:
        assert table.rows
        assert len(set(table.columns)) == len(table.columns)
        for row in table.rows:
            assert len(row) == len(table.columns)
            assert {type(cell) for cell in row} <= {int, float, str}
            assert all(np.isfinite(cell) for cell in row if not isinstance(cell, str))


def test_json_loads_back_equal(result: Experiment) -> None:
    again = Experiment.from_json(result.to_json())
    assert again == result
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in TIMED])
def test_the_same_seed_gives_the_same_numbers(name: str) -> None:
    assert run_study(name, sizes=TINY.get(name)) == measured(name)


@pytest.mark.parametrize("name", ["variance", "order", "leak", "score-scaling", "no-mask", "stability"])
def test_another_seed_gives_other_numbers(name: str) -> None:
    assert run_study(name, 17, sizes=TINY.get(name)).tables != measured(name).tables


def test_a_study_shows_its_progress() -> None:
    calls = []
    run_study(
        "teacher-forcing",
        sizes=TINY["teacher-forcing"],
        show=lambda part, num_done, total: calls.append((part, num_done, total)),
    )
    assert ("training token by token", 4, 4) in calls
    assert all(0 < num_done <= total for _, num_done, total in calls)


def test_a_picture_is_written_as_svg_and_png(result: Experiment, tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "picture.PNG"):
        save_picture(result, tmp_path / name)
    vector = (tmp_path / "one.svg").read_bytes()
    assert ElementTree.fromstring(vector).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in vector
    assert vector == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "picture.PNG").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("name", STUDIES)
def test_the_guide_shows_the_command_and_the_plot(name: str) -> None:
    guide = "studies" if STUDIES[name].trains_models else "experiments"
    page = (ROOT / "docs" / "guide" / f"{guide}.md").read_text(encoding="utf-8")
    # tests/integration/test_docs.py runs those that train no models
    assert f"$ clearhead experiment {name} --picture {name}.svg\n" in page
    assert f"(../pictures/{guide}/{name}.svg)" in page
    assert (ROOT / "docs" / "pictures" / guide / f"{name}.svg").stat().st_size < 120_000


@pytest.mark.parametrize("name", FAST)
def test_the_plot_of_the_guide_is_what_is_drawn_today(name: str, tmp_path: Path) -> None:
    shown = ROOT / "docs" / "pictures" / "experiments" / f"{name}.svg"
    assert shown.stat().st_size < 60_000
    if name in REPEATABLE:
        save_picture(measured(name), tmp_path / "now.svg")
        assert labels(shown) == labels(tmp_path / "now.svg"), f"run: python docs/make_experiments.py {name}"


def labels(svg: Path) -> list[str]:
    """All texts of a plot: its titles, axes, ticks and legends."""
    texts = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(text.itertext()).strip() for text in texts)


def test_the_verb_lists_the_studies_without_torch() -> None:
    for arguments in (("experiment",), ("experiment", "--list")):
        done = clearhead(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(name in done.stdout for name in STUDIES)
    listed = json.loads(clearhead("experiment", "--list", "--json").stdout)
    assert [entry["name"] for entry in listed] == [*STUDIES]
    assert {entry["name"]: entry["duration"] for entry in listed}["teacher-forcing"] == "30 s"


def test_the_verb_prints_the_claim_the_table_and_the_finding() -> None:
    done = clearhead("experiment", "norms")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Claim: Padding with zeros changes" in done.stdout
    assert "6.708" in done.stdout
    assert "Finding: With 100 padding rows" in done.stdout


@pytest.mark.parametrize("name", REPEATABLE)
def test_the_verb_prints_numbers_completely(name: str) -> None:
    done = clearhead("experiment", name, before="import os; os.environ['COLUMNS'] = '40'")
    lines = [[word.strip() for word in line.split("│")] for line in done.stdout.splitlines() if "│" in line]
    rows = [[format_cell(cell) for cell in row] for table in measured(name).tables for row in table.rows]
    assert lines == rows


def test_the_verb_gives_every_number_as_json() -> None:
    done = clearhead("experiment", "order", "--seed", "3", "--json")
    assert Experiment.from_json(done.stdout) == run_study("order", 3)


def test_the_verb_draws_and_prints_the_file_name(tmp_path: Path) -> None:
    done = clearhead("experiment", "static", "--json", "--picture", str(tmp_path / "slide.svg"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["experiment"] == "static"
    assert done.stderr == f"Wrote {tmp_path / 'slide.svg'}.\n"
    assert ElementTree.parse(tmp_path / "slide.svg")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("experiment", "teacher-forced"),
            "'teacher-forced' is not an experiment. Did you mean 'teacher-forcing'?",
        ),
        (("experiment", "lek"), "'lek' is not an experiment. Did you mean 'leak'?"),
        (
            ("experiment", "norms", "--picture", "slide.pdf"),
            "slide.pdf: .pdf is not the suffix of a format that can be written here.",
        ),
        (
            ("experiment", "norms", "--picture", "/no/such/folder/slide.svg"),
            "the folder of /no/such/folder/slide.svg does not exist",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    done = clearhead(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_without_torch_the_error_is_one_sentence() -> None:
    done = clearhead("experiment", "teacher-forcing", before=NO_TORCH)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clearhead: the experiment teacher-forcing needs torch, which is not installed. "
        "Run pip install '.[train]' in a clone of clearhead.\n"
    )


def test_without_matplotlib_the_error_has_the_install_command_and_tables_still_work(tmp_path: Path) -> None:
    blocked = "sys.modules['matplotlib'] = None"
    done = clearhead("experiment", "norms", "--picture", str(tmp_path / "slide.svg"), before=blocked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clearhead: a picture needs matplotlib, which is not installed. "
        "Run pip install '.[plots]' in a clone of clearhead.\n"
    )
    assert not list(tmp_path.iterdir())
    assert clearhead("experiment", "norms", before=blocked).returncode == 0


def test_matplotlib_is_loaded_for_a_picture_only() -> None:
    code = (
        "import sys, clearhead.studies as s, clearhead.studies.picture\n"
        "[s.run_study(name) for name in ('norms', 'static', 'order')]\n"
        "sys.exit(str({'matplotlib', 'torch'} & set(sys.modules)) if {'matplotlib', 'torch'} & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
