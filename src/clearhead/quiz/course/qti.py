"""Sheets as QTI 1.2 for Canvas: a zip with one quiz for each sheet, and one numerical question for each cell."""

import zipfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from io import BytesIO

from clearhead.quiz.course.fragments import Fragments, without_controls
from clearhead.quiz.course.intervals import CellInterval, CourseSheet

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
_PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of every file, so that the same sheets give the same bytes
_FEEDBACK = "general_fb"
_RESPONSE = "response1"


def to_qti(sheets: Sequence[CourseSheet], *, has_decimal_comma: bool = False) -> bytes:
    """Return the sheets as a zip with QTI 1.2, the same bytes for the same sheets.

    Intervals are written with a decimal point, as Canvas stores them; everything that students read has the decimal
    sign that is wanted.
    """
    files: dict[str, str] = {}
    for course in sheets:
        name = _identifier(course.sheet.number)
        files[f"{name}/{name}.xml"] = _quiz(course, Fragments(course, has_decimal_comma=has_decimal_comma), name)
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as package:
        for path, text in {"imsmanifest.xml": _manifest(files), **files}.items():
            entry = zipfile.ZipInfo(path, _EARLIEST)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            package.writestr(entry, text.encode())
    return content.getvalue()


def _identifier(*parts: object) -> str:
    """Return a name that XML allows as an identifier, always the same for the same parts."""
    return "g" + sha256("|".join(map(str, parts)).encode()).hexdigest()[:31]


def _manifest(files: Mapping[str, str]) -> str:
    resources = "".join(
        f'<resource identifier="{path.partition("/")[0]}" type="imsqti_xmlv1p2" href="{path}">'
        f'<file href="{path}"/></resource>\n'
        for path in files
    )
    return (
        f'{_XML}<manifest identifier="{_identifier("manifest", *files)}" xmlns="{_PACKAGE}">\n'
        "<metadata><schema>IMS Content</schema><schemaversion>1.1.3</schemaversion></metadata>\n"
        f"<organizations/>\n<resources>\n{resources}</resources>\n</manifest>\n"
    )


def _quiz(course: CourseSheet, fragments: Fragments, name: str) -> str:
    items = [_sheet_item(course, fragments)]
    items += [_cell_item(course, fragments, cell) for cell in course.cells]
    title = _attribute(fragments.numbers(course.sheet.title))
    return (
        f'{_XML}<questestinterop xmlns="{_QTI}">\n<assessment ident="{name}" title="{title}">\n'
        f'<section ident="root_section">\n{"".join(items)}</section>\n</assessment>\n</questestinterop>\n'
    )


def _sheet_item(course: CourseSheet, fragments: Fragments) -> str:
    """Return the sheet as text without a question."""
    return (
        f'<item ident="{_identifier(course.sheet.number, "sheet")}" title="{_attribute(course.sheet.number)}">\n'
        f"{_metadata('text_only_question', 0)}"
        f"<presentation>{_material(fragments.question(lambda cell: '…'))}</presentation>\n</item>\n"
    )


def _cell_item(course: CourseSheet, fragments: Fragments, cell: CellInterval) -> str:
    place = (course.sheet.number, cell.line, cell.row, cell.column)
    question = f"<p>{fragments.heading(cell.index)}</p>\n<p>{fragments.place(cell)}:</p>"
    title = _attribute(f"{cell.line} {cell.row + 1} {cell.column + 1}")
    bounds = (
        f'<vargte respident="{_RESPONSE}">{cell.low:f}</vargte><varlte respident="{_RESPONSE}">{cell.high:f}</varlte>'
    )
    return (
        f'<item ident="{_identifier(*place)}" title="{title}">\n{_metadata("numerical_question", 1)}'
        f'<presentation>{_material(question)}<response_str ident="{_RESPONSE}" rcardinality="Single">'
        '<render_fib fibtype="Decimal"><response_label ident="answer1"/></render_fib></response_str></presentation>\n'
        "<resprocessing>\n"
        '<outcomes><decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/></outcomes>\n'
        '<respcondition continue="Yes"><conditionvar><other/></conditionvar>'
        f'<displayfeedback feedbacktype="Response" linkrefid="{_FEEDBACK}"/></respcondition>\n'
        f'<respcondition continue="No"><conditionvar>{bounds}</conditionvar>'
        '<setvar action="Set" varname="SCORE">100</setvar></respcondition>\n</resprocessing>\n'
        f'<itemfeedback ident="{_FEEDBACK}"><flow_mat>{_material(f"<p>{fragments.worked_cell(cell)}</p>")}</flow_mat>'
        "</itemfeedback>\n</item>\n"
    )


def _metadata(question_type: str, points: int) -> str:
    fields = {"question_type": question_type, "points_possible": f"{points:.1f}"}
    entries = "".join(
        f"<qtimetadatafield><fieldlabel>{label}</fieldlabel><fieldentry>{entry}</fieldentry></qtimetadatafield>"
        for label, entry in fields.items()
    )
    return f"<itemmetadata><qtimetadata>{entries}</qtimetadata></itemmetadata>\n"


def _material(html: str) -> str:
    return f'<material><mattext texttype="text/html">{escape(html, quote=False)}</mattext></material>'


def _attribute(text: str) -> str:
    return escape(without_controls(text))
