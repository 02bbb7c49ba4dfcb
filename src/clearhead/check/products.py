"""Which product of a sum went wrong: a term left out, with the wrong sign, ten times too large, or a wrong factor."""

from dataclasses import dataclass

from clearhead.check.compare import Comparison
from clearhead.check.statement import Judged
from clearhead.check.sums import StudentShow
from clearhead.steps import Record
from clearhead.worksheet.expression import Expression, Negative, Product, Sum, evaluate, write
from clearhead.worksheet.working import WORKINGS

_MAX_TERMS = 64


@dataclass(frozen=True)
class FailingProduct:
    """The slip in words, and the sum as the student must have done it."""

    name: str
    student_sum: str


def failing_product(comparison: Comparison, judged: Judged, row: int, column: int) -> FailingProduct | None:
    """Find the one term of the cell's sum whose slip explains the digits; None if none or several do."""
    terms = _terms(comparison, judged, row, column)
    if terms is None:
        return None
    value, unit = float(judged.statement.value[row, column]), float(judged.statement.unit[row, column])
    gap = value - sum(number for _, number in terms)
    reach = max(unit / 2, 1e-9 * max(1.0, abs(value))) * (1 + 1e-9)
    found: list[FailingProduct] = []
    for place, (term, number) in enumerate(terms):
        if abs(number) <= 2 * reach:
            continue
        shown = write(term)
        for name, change, instead in (
            (f"the term {shown} is left out", -number, None),
            (f"the term {shown} has the wrong sign", -2 * number, Negative(term)),
            (f"the term {shown} is ten times too large", 9 * number, None),
            (f"the term {shown} is ten times too small", -0.9 * number, None),
            (f"the term {shown} is counted twice", number, None),
        ):
            if abs(gap - change) <= reach and abs(change) > 2 * reach:
                kept: list[Expression] = [each for other, (each, _) in enumerate(terms) if other != place]
                if "twice" in name:
                    kept[place:place] = [term, term]
                elif instead is not None:
                    kept.insert(place, instead)
                total = judged.statement.texts[row][column]
                student = f"{write(Sum(tuple(kept)))} = {total}" if kept and "ten times" not in name else ""
                found.append(FailingProduct(name, student))
    return found[0] if len(found) == 1 else None


def _terms(comparison: Comparison, judged: Judged, row: int, column: int) -> list[tuple[Expression, float]] | None:
    index = judged.statement.node
    record = comparison.graph.records[index]
    show = StudentShow(comparison)
    own = Record(record.step, record.where, show.inputs(index), record.value, record.symbol)
    expression = WORKINGS[record.step.name](own, row, column, show)
    if not isinstance(expression, Sum) or expression.left_out or not 2 <= len(expression.terms) <= _MAX_TERMS:
        return None
    terms: list[tuple[Expression, float]] = []
    for term in expression.terms:
        number = evaluate(term)
        if number is None or not isinstance(term, Product):
            return None
        terms.append((term, float(number)))
    return terms
