"""From a comparison to a report: lines in their order, cells affected by an error, and lines that were not written."""

import numpy as np

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.graph import Graph
from clearhead.check.marks import LineScheme, Scheme
from clearhead.check.placing import Placer
from clearhead.check.render.html import to_html
from clearhead.check.render.words import beside_marks
from clearhead.check.report import Report
from clearhead.check.report_writer import ComparedWorking, ReportWriter
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import working
from tests.unit.check.test_rules import ATTENTION, with_lines


def compared(lines: dict[str, str]) -> ComparedWorking:
    graph = Graph(solve(parse_problem(ATTENTION), Rounding()))
    placing = Placer(graph, working(ATTENTION, lines)).place()
    shapes = frozenset(wrong_shape.node for wrong_shape in placing.misshapen)
    return ComparedWorking(graph, placing, compare(SheetInput(graph, placing.statements, placing.copies, blind=shapes)))


def written_report(lines: dict[str, str], scheme: Scheme | None = None) -> Report:
    with np.errstate(all="ignore"):
        return ReportWriter(working(ATTENTION, lines), compared(lines), scheme or Scheme()).report()


def test_a_line_of_a_wrong_shape_counts_with_all_its_cells():
    """A 2 × 2 line written as one row of three counts as four cells that follow from nothing."""
    lines = {"S": "1 2 3"}
    assert compared(lines).num_wrong == 4
    report = written_report(lines)
    assert report.num_misshapen == 1
    assert report.lines[0].marks.because == "wrong shape"


def test_cells_affected_by_an_error_name_it():
    """S[1, 1] = 5 instead of 1: the weights of row 1 follow from it (softmax(5, 2) = 0.95, 0.05), those of row 2 do not."""
    report = written_report(with_lines(S="5 2 / 3 1", A="0.95 0.05 / 0.88 0.12", Z="1.09 2.09 / 1.24 2.24"))
    (finding,) = report.findings
    weights = next(line for line in report.lines if line.symbol == "A")
    assert [[cell.findings for cell in row if cell] for row in weights.cells] == [[(0,), (0,)], [(), ()]]
    assert [report.lines[index].symbol for index in finding.below] == ["A", "Z"]


def test_an_unwritten_line_of_the_scheme_is_missing_and_has_no_wrong_shape():
    scheme = Scheme(lines={"S": LineScheme(M=1, A=1), "Z": LineScheme(M=1, A=2)})
    report = written_report({"Q": "1 2 / 3 1", "A": "0.27 0.73 / 0.88 0.12"}, scheme)
    missing = {line.symbol: line for line in report.lines if line.is_missing}
    assert set(missing) == {"S", "Z"}
    assert [line.symbol for line in report.lines] == ["Q", "S", "A", "Z"], "where they belong"
    assert missing["S"].marks.earned == 2, "the weights imply the scores"
    assert (missing["Z"].marks.earned, missing["Z"].marks.because) == (0, "not written")
    assert report.num_misshapen == 0
    assert b"is_missing" not in report.to_json()


def test_rows_written_separately_are_one_line_of_the_report():
    report = written_report({"A[1]": "0.27 0.73", "A[2]": "0.88 0.12"})
    assert [(line.symbol, line.name, len(line.marked)) for line in report.lines] == [("A", "A[1], A[2]", 4)]


def test_steps_that_were_not_handed_in_are_named_beside_the_marks_unless_the_scheme_requires_them():
    lines = {"Q": with_lines()["Q"]}
    report = written_report(lines)
    assert (report.earned, report.out_of) == (2, 2)
    assert report.not_written[:2] == ("K", "V")
    assert "Q" not in report.not_written
    sentence = f"Not handed in: {', '.join(report.not_written[:-1])} and {report.not_written[-1]}."
    assert beside_marks(report) == [f"{sentence} The marks count only what was handed in."]
    header = to_html([report]).partition("</header>")[0]
    assert sentence in header
    assert "K" not in written_report(lines, Scheme(lines={"K": LineScheme()})).not_written
    assert written_report(with_lines()).not_written == ()
