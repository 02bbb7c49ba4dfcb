"""Every working in examples/ is marked with exactly the findings that its own first lines announce.

They were derived by hand; the sums are in the comments of the files.
"""

import re
from pathlib import Path

import pytest

from clearhead.check import Report, Scheme, check
from clearhead.check.classroom import mark_class
from clearhead.check.scheme_file import load_scheme

FOLDER = Path(__file__).parents[3] / "examples" / "workings"
SCHEME = FOLDER / "scheme.yaml"
ALONE = sorted(path for path in FOLDER.iterdir() if path.is_file() and path != SCHEME)
CLASS = sorted((FOLDER / "class").iterdir())
_FINDS = re.compile(r"finds: (?:nothing|([a-z ]+?)(?: \((.+)\))? in (\S+) ((?:r\d+c\d+ ?)+))", re.MULTILINE)


def announced(path: Path) -> list[tuple[str, str, str, tuple[tuple[int, int], ...]]]:
    """Return the findings that the first lines of a file announce: verdict, name, symbol and cells."""
    matches = _FINDS.findall(path.read_text(encoding="utf-8"))
    assert matches, f"{path.name} does not say 'finds: …'"
    cells = [tuple((int(i) - 1, int(j) - 1) for i, j in re.findall(r"r(\d+)c(\d+)", match[3])) for match in matches]
    return [(match[0], match[1], match[2], own) for match, own in zip(matches, cells, strict=True) if match[0]]


def findings(report: Report) -> list[tuple[str, str, str, tuple[tuple[int, int], ...]]]:
    """Return the findings of the marker, in the same form."""
    return [
        (finding.verdict.value, finding.name, report.lines[finding.line].symbol, tuple(sorted(finding.cells)))
        for finding in report.findings
    ]


def test_there_is_an_example_of_every_file_format_and_a_class_of_five() -> None:
    assert {path.suffix for path in ALONE} == {".yaml", ".md", ".csv"}
    assert [path.stem for path in CLASS] == ["asha", "ben", "chen", "dora", "emil"]


@pytest.mark.parametrize("path", [*ALONE, *CLASS], ids=lambda path: path.name)
def test_an_example_is_marked_with_the_findings_that_it_announces(path: Path) -> None:
    scheme = load_scheme(SCHEME) if path in CLASS else Scheme()
    (report,) = check(path, scheme.problem, scheme)
    assert findings(report) == announced(path), f"{path.name} announces other findings"
    assert report.exit_code == (1 if announced(path) else 0)
    assert report.is_fully_read, f"something in {path.name} could not be read"
    assert not any(note.kind == "unplaced" for note in report.notes), f"something in {path.name} was not placed"


def test_the_class_earns_the_marks_worked_by_hand() -> None:
    """Ten marks: Q, K, V one each, S and Z two, A three (M1 A2).

    Ben and Emil lose all of A to the misconception, and nothing below it. Chen and Dora lose half of one A mark: one of
    the two rows of S. Emil's V is not written, but his output needs it.
    """
    marked = mark_class(FOLDER / "class", load_scheme(SCHEME))
    earned = {result.student: (result.earned, result.out_of) for result in marked.results}
    assert earned == {"Asha": (10, 10), "Ben": (7, 10), "Chen": (9.5, 10), "Dora": (9.5, 10), "emil": (7, 10)}
    assert [slip.students for slip in marked.slips] == [("Ben", "emil"), ("Chen", "Dora")]
    assert [(pair.first, pair.second) for pair in marked.alike] == [("Chen", "Dora")]
    assert marked.exit_code == 1


def test_two_slips_cost_a_row_each_and_what_follows_earns_full_marks() -> None:
    """Seven lines of M1 A1: one of three rows of S and one of three rows of Z are lost, 14 - 2/3 = 13 1/3."""
    (report,) = check(FOLDER / "two-slips.yaml")
    assert (report.earned, report.out_of) == (pytest.approx(14 - 2 / 3), 14)
