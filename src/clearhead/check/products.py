"""Find the wrong product in a sum: a missing term, a wrong sign, a factor of ten, or a wrong factor."""

from dataclasses import dataclass

from clearhead.check.comparison import SheetComparison
from clearhead.check.statement import JudgedStatement
from clearhead.check.sums import StudentShow
from clearhead.steps import Record
from clearhead.worksheet.expression import Expression, Negative, Product, Sum, evaluate, write
from clearhead.worksheet.working import WORKINGS

_MAX_TERMS = 64


@dataclass(frozen=True)
class FailingProduct:
    """The slip in words, and the sum as the student must have calculated it."""

    name: str
    student_sum: str


def failing_product(
    comparison: SheetComparison, judged: JudgedStatement, row: int, column: int
) -> FailingProduct | None:
    """Return the one slip in a term of the cell's sum that explains the digits.

    None if none or several do, or if a term has a number that was never written.
    """
    terms = _terms(comparison, judged, row, column)
    if terms is None:
        return None
    value, unit = float(judged.statement.value[row, column]), float(judged.statement.unit[row, column])
    gap = value - sum(number for _, number in terms)
    reach = max(unit / 2, 1e-9 * max(1.0, abs(value))) * (1 + 1e-9)
    explanations: list[FailingProduct] = []
    for place, (term, number) in enumerate(terms):
        if abs(number) <= 2 * reach:
            continue
        for slip in _term_slips(term, number):
            if abs(gap - slip.change) <= reach and abs(slip.change) > 2 * reach:
                student_sum = ""
                if slip.instead is not None:
                    before, after = ([other for other, _ in part] for part in (terms[:place], terms[place + 1 :]))
                    student_terms = (*before, *slip.instead, *after)
                    total = judged.statement.texts[row][column]
                    student_sum = f"{write(Sum(student_terms))} = {total}"
                explanations.append(FailingProduct(f"as if the term {write(term)} {slip.name}", student_sum))
    return explanations[0] if len(explanations) == 1 else None


@dataclass(frozen=True)
class _TermSlip:
    """A slip in one term of a sum: its effect on the sum, and the terms that the student used instead.

    `instead` is None where the slip is inside the product, so that the student's own sum cannot be shown.
    """

    name: str
    change: float
    instead: tuple[Expression, ...] | None


def _term_slips(term: Expression, number: float) -> tuple[_TermSlip, ...]:
    """Return the known slips for a term of this value."""
    return (
        _TermSlip("were missing", -number, ()),
        _TermSlip("had the other sign", -2 * number, (Negative(term),)),
        _TermSlip("were ten times larger", 9 * number, None),
        _TermSlip("were ten times smaller", -0.9 * number, None),
        _TermSlip("were counted twice", number, (term, term)),
    )


def _terms(
    comparison: SheetComparison, judged: JudgedStatement, row: int, column: int
) -> list[tuple[Expression, float]] | None:
    index = judged.statement.node
    record = comparison.graph.records[index]
    show = StudentShow(comparison)
    own = Record(record.step, record.where, show.inputs(index), record.value, record.symbol)
    expression = WORKINGS[record.step.name](own, row, column, show)
    if show.has_unwritten:
        return None
    if not isinstance(expression, Sum) or expression.left_out or not 2 <= len(expression.terms) <= _MAX_TERMS:
        return None
    terms: list[tuple[Expression, float]] = []
    for term in expression.terms:
        number = evaluate(term)
        if number is None or not isinstance(term, Product):
            return None
        terms.append((term, float(number)))
    return terms
