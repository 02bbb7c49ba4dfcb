"""Sheets as Moodle XML: one cloze question for each sheet, with a numerical gap for every blank cell."""

from collections.abc import Sequence
from decimal import Decimal

from clearhead.quiz.course.fragments import Fragments
from clearhead.quiz.course.intervals import CellInterval, CourseSheet

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
_CATEGORY = "$course$/top/clearhead"


def to_moodle(sheets: Sequence[CourseSheet], *, has_decimal_comma: bool = False) -> str:
    """Return the sheets as Moodle XML, in a category for their kind and difficulty.

    Intervals are written with a decimal point, as Moodle stores them; everything that students read has the decimal
    sign that is wanted.
    """
    parts, category = [], ""
    for course in sheets:
        request = course.sheet.request
        own = f"{_CATEGORY}/{request.kind} {request.difficulty}"
        if own != category:
            category = own
            parts.append(f'<question type="category"><category><text>{own}</text></category></question>\n')
        parts.append(_question(course, Fragments(course, has_decimal_comma=has_decimal_comma)))
    return _HEAD + "".join(parts) + "</quiz>\n"


def _question(course: CourseSheet, fragments: Fragments) -> str:
    name = fragments.text(course.sheet.number)
    return (
        '<question type="cloze">\n'
        f"<name><text>{name}</text></name>\n"
        f'<questiontext format="html"><text>{_cdata(fragments.question(cloze_gap))}</text></questiontext>\n'
        f'<generalfeedback format="html"><text>{_cdata(fragments.worked())}</text></generalfeedback>\n'
        "<penalty>0.3333333</penalty>\n<hidden>0</hidden>\n"
        f"<idnumber>{name}</idnumber>\n"
        "</question>\n"
    )


def cloze_gap(cell: CellInterval) -> str:
    """Return the gap of a cell: the key comes first, because Moodle shows the first answer as the right one."""
    if cell.centre == Decimal(cell.key):
        return f"{{1:NUMERICAL:={cell.key}:{cell.tolerance:f}}}"
    return f"{{1:NUMERICAL:={cell.key}:0~={cell.centre:f}:{cell.tolerance:f}}}"


def _cdata(html: str) -> str:
    """Return HTML as a CDATA section. Escaped text has no `>`, so the end of a section cannot occur in it."""
    return f"<![CDATA[{html}]]>"
