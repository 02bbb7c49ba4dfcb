"""Names of root errors: a slip of the pen, swapped numbers, a wrong product, a misconception."""

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.diagnose import RootError, diagnose
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.verdict import Verdict
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import working
from tests.unit.check.test_rules import ATTENTION, with_lines


def roots_of(lines: dict[str, str]) -> list[RootError]:
    graph = Graph(solve(parse_problem(ATTENTION), Rounding()))
    placing = Placer(graph, working(ATTENTION, lines)).place()
    return diagnose(compare(SheetInput(graph, placing.statements, placing.copies)))


def test_a_faultless_working_has_no_root_error():
    assert roots_of(with_lines()) == []


def test_swapped_digits_of_a_calculated_number_are_a_slip():
    """softmax(1, 2) = 0.27, 0.73; 0.37 for 0.73. A weight is not copied from anywhere."""
    (root,) = roots_of({"S": "1 2 / 3 1", "A": "0.27 0.37 / 0.88 0.12"})
    assert (root.verdict, root.name, root.cells) == (Verdict.SLIP, "as if two digits were swapped", ((0, 1),))


def test_two_swapped_rows_are_one_root_error():
    (root,) = roots_of({"S": "1 2 / 3 1", "A": "0.88 0.12 / 0.27 0.73"})
    assert (root.verdict, root.name) == (Verdict.TRANSCRIPTION, "two rows exchanged")
    assert root.cells == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_a_misconception_covers_all_cells_that_it_explains():
    """Divided by the sum without e: 1/3, 2/3 and 3/4, 1/4."""
    (root,) = roots_of({"S": "1 2 / 3 1", "A": "0.33 0.67 / 0.75 0.25"})
    assert (root.verdict, root.name) == (Verdict.MISCONCEPTION, "no exp (divided by the sum)")
    assert len(root.cells) == 4


def test_the_wrong_product_of_a_weighted_sum_is_named_with_the_students_sum():
    """0.27×1 + 0.73×3 = 2.46; without its first term 2.19."""
    (root,) = roots_of({"V": "1 2 / 3 4", "A": "0.27 0.73 / 0.88 0.12", "Z": "2.19 3.46 / 1.24 2.24"})
    assert (root.verdict, root.name) == (Verdict.SLIP, "as if the term 0.27×1 were missing")
    assert root.student_sum == "0.73×3 = 2.19"
