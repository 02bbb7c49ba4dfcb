"""`clearhead solve` as a function: which options go together, and what they change."""

import json
from pathlib import Path

import pytest

from clearhead import Worksheet
from clearhead import solve as work
from clearhead.cli.solve import Detail, SheetFormat, Ties, solve
from clearhead.errors import ProblemError


def test_a_sheet_is_written_in_every_format(tmp_path: Path) -> None:
    starts = {
        SheetFormat.terminal: "Self-attention", SheetFormat.markdown: "# ", SheetFormat.html: "<!DOCTYPE html>", SheetFormat.json: "{",
        SheetFormat.latex: "\\documentclass", SheetFormat.latex_fragment: "%", SheetFormat.csv: "problem,exam-self-attention",
        SheetFormat.xlsx: "PK", SheetFormat.notebook: "{",
    }  # fmt: skip
    for form in SheetFormat:
        path = tmp_path / form.value
        solve(problem="exam-self-attention", form=form, detail=Detail.results, output=path)
        text = path.read_bytes().decode("latin-1" if form is SheetFormat.xlsx else "utf-8").lstrip()
        assert text.startswith(starts[form]) or form in (SheetFormat.terminal, SheetFormat.latex_fragment), form
        assert len(text) > 200
    assert Worksheet.from_json((tmp_path / "json").read_text()) == work("exam-self-attention")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("sheet.html", "<!DOCTYPE html>"),
        ("sheet.HTM", "<!DOCTYPE html>"),
        ("sheet.md", "# Why"),
        ("sheet.tex", "\\documentclass"),
        ("sheet.json", "{"),
        ("sheet.csv", "problem,"),
        ("sheet.ipynb", "{"),
        ("sheet.txt", "Why"),
        ("sheet", "Why"),
    ],
)
def test_the_suffix_of_the_output_file_chooses_the_format(tmp_path: Path, name: str, start: str) -> None:
    solve(problem="leak", output=tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_an_explicit_format_is_written_under_a_suffix_that_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sheet.v2"
    solve(problem="leak", output=path, form=SheetFormat.markdown)
    assert path.read_text(encoding="utf-8").startswith("# Why")
    solve(problem="leak", output=path, as_json=True)
    assert path.read_text(encoding="utf-8").startswith("{")
    solve(problem="lets-go-encoder", output=tmp_path / "a.svg", picture="A")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")


def test_rounding_on_the_command_line_beats_the_problem(tmp_path: Path) -> None:
    solve(
        problem="seq2seq-dot",
        as_json=True,
        decimals=3,
        round_lines=True,
        ties=Ties.even,
        output=tmp_path / "sheet.json",
    )
    rounding = json.loads((tmp_path / "sheet.json").read_text())["rounding"]
    assert (rounding["decimals"], rounding["lines"], rounding["ties"]) == (3, "rounded", "half-even")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "solve needs an exercise: a problem file, a gallery id"),
        ({"problem": "leak", "where": "encoder.0"}, "selects a part of a trace"),
        ({"problem": "leak", "from_trace": Path("trace.json")}, "Give only one of them"),
        ({"from_trace": Path("trace.json"), "round_lines": True}, "its numbers are already calculated"),
        ({"problem": "leak", "as_json": True, "blank": ["A"]}, "JSON, which contains every value"),
        ({"problem": "leak", "output": Path("a.svg")}, "Choose the matrix to draw with --picture"),
        ({"problem": "leak", "form": SheetFormat.html, "picture": "A"}, "contradicts --format html"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        solve(**options)  # type: ignore[arg-type]


def test_the_gallery_is_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    solve(list_gallery=True, as_json=True)
    assert {"id": "leak", "kind": "parts", "title": "Why the decoder is masked"} in json.loads(capsys.readouterr().out)
