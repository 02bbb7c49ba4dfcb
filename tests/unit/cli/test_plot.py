"""`clearhead plot`: where the picture is written, what is printed, and errors with the option to change."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.cli.plot import PlotAxis
from clearhead.explain.curves import AXES
from tests.command import run
from tests.unit.explain.logs import unvalidated_run, validated_run

pytest.importorskip("matplotlib", reason="curves are drawn by matplotlib")


def test_the_axes_are_those_of_the_library() -> None:
    assert tuple(axis.value for axis in PlotAxis) == AXES


def test_the_picture_of_one_run_is_in_its_folder(tmp_path: Path) -> None:
    place = validated_run(tmp_path / "run")
    done = run("plot", str(place))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Wrote {place}/curves.svg.\n")
    assert (place / "curves.svg").read_text().startswith("<?xml")


def test_the_picture_of_several_runs_is_in_this_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        validated_run(tmp_path / name)
    done = run("plot", "a", "b", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "Wrote curves.svg.\n")
    assert (tmp_path / "curves.svg").is_file()
    assert not (tmp_path / "a" / "curves.svg").exists()


def test_json_prints_the_points_and_draws_only_with_an_output(tmp_path: Path) -> None:
    place = validated_run(tmp_path / "run")
    done = run("plot", str(place), "--json", "--metric", "bleu", "--x", "seconds")
    (points,) = json.loads(done.stdout)["runs"]
    assert points["metrics"] == {"valid/bleu": {"x": [23.0, 63.0], "y": [3.0, 17.0]}}
    assert not (place / "curves.svg").exists()
    run("plot", str(place), "--json", "-o", str(tmp_path / "x.svg"))
    assert (tmp_path / "x.svg").is_file()


def test_no_file_of_a_run_is_overwritten(tmp_path: Path) -> None:
    place = validated_run(tmp_path / "run")
    link = tmp_path / "x.svg"
    link.symlink_to(place / "metrics.jsonl")
    done = run("plot", str(place), "-o", str(link))
    assert done.returncode == 2
    assert "metrics.jsonl, which belongs to the model or its run, and the output would overwrite it." in done.stderr


def test_an_svg_can_be_printed(tmp_path: Path) -> None:
    done = run("plot", str(validated_run(tmp_path / "run")), "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")


def test_runs_without_a_named_metric_are_reported(tmp_path: Path) -> None:
    places = [str(validated_run(tmp_path / "a")), str(unvalidated_run(tmp_path / "b"))]
    output = ["-o", str(tmp_path / "x.svg")]
    done = run("plot", *places, "--metric", "bleu", *output)
    assert done.stderr == f"clearhead: b has no valid/bleu.\nWrote {tmp_path}/x.svg.\n"
    assert run("plot", *places, *output).stderr == f"Wrote {tmp_path}/x.svg.\n"


def test_errors_are_one_sentence_with_the_option(tmp_path: Path) -> None:
    place = str(unvalidated_run(tmp_path / "run"))
    cases = {
        ("--metric", "bleu"): "so there is no valid/bleu to draw. Choices: epoch, loss (--metric).",
        ("--x", "epochs"): "Choose updates or seconds (--x).",
        ("-o", "x.pdf"): "Use a name that ends in .svg or .png (--output).",
        ("-o", str(tmp_path / "no" / "x.svg")): "does not exist. Create it first (--output).",
    }
    for options, end in cases.items():
        done = run("plot", place, *options)
        assert done.returncode == 2
        assert done.stderr.rstrip().endswith(end)
        assert done.stderr.count("\n") == 1
    assert run("plot", str(tmp_path / "nowhere")).returncode == 2


@pytest.mark.parametrize(("options", "heavy"), [((), {"torch"}), (("--json",), {"torch", "matplotlib"})])
def test_curves_need_no_torch_and_their_points_no_matplotlib(
    tmp_path: Path, options: tuple[str, ...], heavy: set[str]
) -> None:
    place = validated_run(tmp_path / "run")
    code = (
        "import sys, clearhead.cli.main as m\n"
        f"sys.argv = ['clearhead', 'plot', {str(place)!r}, *{options!r}]\n"
        "try:\n    m.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"heavy = {heavy!r} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (place / "curves.svg").is_file() == (not options)


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = validated_run(tmp_path / "run")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", str(place))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clearhead: a picture of curves needs matplotlib, which is not installed. Run pip install '.[plots]' in a "
        "clone of clearhead. The points as JSON need no other package (--json).\n"
    )
    assert run("plot", str(place), "--json").returncode == 0
