"""QTI 1.2 for Canvas, read back with the standard library."""

import zipfile
from dataclasses import replace
from decimal import Decimal
from functools import cache
from html import unescape
from io import BytesIO
from xml.etree import ElementTree

from clearhead.quiz import QuizRequest
from clearhead.quiz.course.choice import choose_course_sheets
from clearhead.quiz.course.intervals import CourseSheet
from clearhead.quiz.course.qti import to_qti

QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
PACKAGE = "{http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1}"


@cache
def sheets() -> tuple[CourseSheet, ...]:
    return tuple(choose_course_sheets(QuizRequest("cross-attention", 2, 7), 3))


def files(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as package:
        assert package.testzip() is None
        return {name: package.read(name) for name in package.namelist()}


def items(content: bytes) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(content).iter(f"{QTI}item"))


def field(item: ElementTree.Element, label: str) -> str:
    fields = {
        entry.findtext(f"{QTI}fieldlabel"): entry.findtext(f"{QTI}fieldentry")
        for entry in item.iter(f"{QTI}qtimetadatafield")
    }
    return str(fields[label])


def test_the_manifest_lists_one_quiz_for_every_sheet() -> None:
    package = files(to_qti(sheets()))
    manifest = ElementTree.fromstring(package["imsmanifest.xml"])
    resources = list(manifest.iter(f"{PACKAGE}resource"))
    assert [resource.get("type") for resource in resources] == ["imsqti_xmlv1p2"] * 3
    assert {str(resource.get("href")) for resource in resources} == set(package) - {"imsmanifest.xml"}
    titles = [ElementTree.fromstring(package[str(resource.get("href"))])[0].get("title") for resource in resources]
    assert titles == [course.sheet.title for course in sheets()]


def test_every_cell_is_a_numerical_question_with_its_interval() -> None:
    package = files(to_qti(sheets()))
    for course, name in zip(sheets(), list(package)[1:], strict=True):
        first, *others = items(package[name])
        assert field(first, "question_type") == "text_only_question"
        assert len(others) == len(course.cells)
        for item, cell in zip(others, course.cells, strict=True):
            assert field(item, "question_type") == "numerical_question"
            assert field(item, "points_possible") == "1.0"
            low, high = item.find(f".//{QTI}vargte"), item.find(f".//{QTI}varlte")
            assert low is not None
            assert high is not None
            assert (Decimal(str(low.text)), Decimal(str(high.text))) == (cell.low, cell.high)
            response = item.find(f".//{QTI}response_str")
            assert response is not None
            assert low.get("respident") == high.get("respident") == response.get("ident")


def test_the_feedback_of_a_question_is_its_worked_line() -> None:
    course, content = sheets()[0], list(files(to_qti(sheets())).values())[1]
    cell, item = course.cells[0], items(content)[1]
    feedback = item.find(f"{QTI}itemfeedback")
    shown = item.find(f".//{QTI}displayfeedback")
    assert feedback is not None
    assert shown is not None
    assert feedback.get("ident") == shown.get("linkrefid")
    text = unescape("".join(feedback.itertext()))
    assert str(course.sheet.key_view.steps[cell.index].cell_line(cell.row, cell.column)) in text


def test_identifiers_are_unique_and_the_same_sheets_give_the_same_bytes() -> None:
    content = to_qti(sheets())
    assert content == to_qti(sheets())
    names = [
        str(item.get("ident")) for name, text in files(content).items() if "/" in name for item in items(text)
    ]  # fmt: skip
    assert len(set(names)) == len(names) == sum(len(course.cells) + 1 for course in sheets())
    assert all(name.isalnum() and name[0].isalpha() for name in names)


def test_a_decimal_comma_is_for_readers_and_intervals_have_a_point() -> None:
    text = list(files(to_qti(sheets(), has_decimal_comma=True)).values())[1]
    first, second, *_ = items(text)
    assert "√2 = 1,4142" in "".join(first.itertext())
    low = second.find(f".//{QTI}vargte")
    assert low is not None
    assert "," not in str(low.text)


def test_texts_of_a_sheet_cannot_break_the_file() -> None:
    course = sheets()[0]
    nasty = '<img src=x onerror=alert(1)> & "quotes" ]]> \x07'
    worksheet = replace(course.sheet.worksheet, title=nasty)
    broken = replace(course, sheet=replace(course.sheet, instructions=(nasty,), worksheet=worksheet))
    text = list(files(to_qti([broken])).values())[1]
    root = ElementTree.fromstring(text)
    assert root[0].get("title") == nasty.replace("\x07", "\ufffd")
    html = "".join(items(text)[0].itertext())
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot; ]]&gt; \ufffd" in html
    assert "<img" not in html
