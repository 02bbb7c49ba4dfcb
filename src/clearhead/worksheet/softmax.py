"""Write a softmax: in one line, or with the lines of its exponentials and their sum if the problem shows them."""

from clearhead.steps.vocabulary import EXPONENTIATE, ROW_SUM, SHIFT, SOFTMAX
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.pen import Pen


def work_softmax(pen: Pen, scores: Array, *, symbol: str = "", sub: str = "", base: float | None = None) -> Array:
    """Write the weights of each row of scores; `sub` is the subscript of the symbols, such as the number of a head."""
    symbol = f"{symbol or SOFTMAX.symbol_in(pen.layout)}{sub}"
    if not pen.show & {"exponentials", "shifted-exponentials"}:
        return pen.work(SOFTMAX, symbol=symbol, scores=scores, base=base)
    exponents = scores
    if "shifted-exponentials" in pen.show:
        exponents = pen.work(SHIFT, symbol=f"{SHIFT.symbol}{sub}", scores=scores)
    exponentials = pen.work(EXPONENTIATE, symbol=f"{EXPONENTIATE.symbol}{sub}", scores=exponents, base=base)
    total = pen.work(ROW_SUM, symbol=f"{ROW_SUM.symbol}{sub}", x=exponentials)
    return pen.work(SOFTMAX, symbol=symbol, scores=scores, exponentials=exponentials, total=total)
