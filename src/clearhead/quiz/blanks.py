"""Choose the cells to fill in, as patterns that `SheetView` hides.

Difficulty 1 asks for one line; the others ask for all lines. `row` leaves one row of every line blank. `hard` leaves
only the lines blank that take more than sums of products: softmax, norms, positions, activations, and the output.
"""

from clearhead.quiz.chance import Chance
from clearhead.quiz.request import QuizRequest
from clearhead.quiz.tidy import is_copied
from clearhead.steps import Record
from clearhead.worksheet.worksheet import Worksheet

HARD_STEPS = frozenset(
    {
        *("softmax", "divide", "mix", "exponentiate", "variance", "deviation", "normalise", "rms_normalise"),
        *("root_mean_square", "activate", "position", "angle", "rotate", "kernel", "cosine", "length", "idf"),
        *("loss", "gradient", "convolve"),
    }
)
_NOT_ASKED = frozenset({"choose", "embed", "one_hot", "count", "pick"})  # read off, not calculated


def choose_blanks(request: QuizRequest, sheet: Worksheet, chance: Chance) -> tuple[str, ...]:
    """Return the patterns of the cells to fill in."""
    records = list(sheet.trace)
    records_asked = [
        record for record in records if not is_copied(record) and record.step.name not in _NOT_ASKED
    ] or records
    if request.blanks == "hard":
        records_asked = [record for record in records_asked if record.step.name in HARD_STEPS] or records_asked[-1:]
    if request.difficulty == 1:
        records_asked = [chance.choose(records_asked)]
    if request.blanks == "row":
        row = chance.below(max(len(record.value) for record in records_asked))
        return tuple(f"{line_name(record)}[{min(row, len(record.value) - 1) + 1}, *]" for record in records_asked)
    if request.blanks == "all" and request.difficulty > 1:
        records_asked = records
    return tuple(line_name(record) for record in records_asked)


def line_name(record: Record) -> str:
    """Return the name of a line with the part of the model that it is in: `self_attention.query:Q`."""
    return f"{record.where}:{record.symbol}" if record.where else record.symbol
