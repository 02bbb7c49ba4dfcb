"""`clearhead solve` as a function: which options go together, and what they change."""

import json
from pathlib import Path

import pytest

from clearhead import Worksheet
from clearhead import solve as work
from clearhead.cli.solve import Detail, SheetFormat, Ties, solve
from clearhead.errors import ProblemError


def test_a_sheet_is_written_in_every_form(tmp_path: Path) -> None:
    starts = {
        SheetFormat.terminal: "Self-attention", SheetFormat.markdown: "# ", SheetFormat.html: "<!DOCTYPE html>", SheetFormat.json: "{",
        SheetFormat.latex: "\\documentclass", SheetFormat.latex_fragment: "%",
    }  # fmt: skip
    for form in SheetFormat:
        path = tmp_path / form.value
        solve(problem="exam-self-attention", form=form, detail=Detail.results, output=path)
        text = path.read_text(encoding="utf-8").lstrip()
        assert text.startswith(starts[form]) or form in (SheetFormat.terminal, SheetFormat.latex_fragment), form
        assert len(text) > 200
    assert Worksheet.from_json((tmp_path / "json").read_text()) == work("exam-self-attention")


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
        ({}, "solve needs a problem: a file, a gallery id"),
        ({"problem": "leak", "where": "encoder.0"}, "names a place of a trace"),
        ({"problem": "leak", "from_trace": Path("trace.json")}, "Choose one of them"),
        ({"from_trace": Path("trace.json"), "round_lines": True}, "a trace is worked already"),
        ({"problem": "leak", "as_json": True, "blank": ["A"]}, "JSON holds every value"),
        ({"problem": "leak", "form": SheetFormat.html, "picture": "A"}, "is another form"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        solve(**options)  # type: ignore[arg-type]


def test_the_gallery_is_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    solve(list_gallery=True, as_json=True)
    assert {"id": "leak", "kind": "parts", "title": "Why the decoder is masked"} in json.loads(capsys.readouterr().out)
