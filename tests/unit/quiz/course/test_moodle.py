"""Moodle XML, read back by a parser of this file that knows only the documented cloze syntax."""

import re
from dataclasses import replace
from decimal import Decimal
from functools import cache
from xml.etree import ElementTree

import pytest

from clearhead.quiz import QuizRequest
from clearhead.quiz.course.choice import choose_course_sheets
from clearhead.quiz.course.fragments import Fragments
from clearhead.quiz.course.intervals import CellInterval, CourseSheet
from clearhead.quiz.course.moodle import cloze_gap, to_moodle

GAP = re.compile(r"\{(\d+):NUMERICAL:(=[^{}#\\/\"]+)\}")
ANSWER = re.compile(r"=(-?\d+(?:\.\d+)?):(\d+(?:\.\d+)?)")


@cache
def sheets(kind: str = "self-attention", difficulty: int = 2) -> tuple[CourseSheet, ...]:
    return tuple(choose_course_sheets(QuizRequest(kind, difficulty, 7), 3))


def questions(text: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(text)
    assert root.tag == "quiz"
    assert [question.get("type") for question in root] == ["category", *["cloze"] * (len(root) - 1)]
    return list(root)[1:]


def texts(question: ElementTree.Element, name: str) -> str:
    element = question.find(f"{name}/text")
    assert element is not None
    assert element.text is not None
    return element.text


def read_gap(gap: str) -> tuple[Decimal, Decimal, Decimal]:
    """Return the first right answer, and the least and greatest number that a gap accepts."""
    answers = [ANSWER.fullmatch(part) for part in gap.split("~")]
    numbers = [(Decimal(answer[1]), Decimal(answer[2])) for answer in answers if answer is not None]
    assert len(numbers) == len(answers)
    lows, highs = [value - slack for value, slack in numbers], [value + slack for value, slack in numbers]
    return numbers[0][0], min(lows), max(highs)


@pytest.mark.parametrize(("kind", "difficulty"), [("self-attention", 2), ("masked-self-attention", 3), ("softmax", 1)])
def test_every_cell_is_a_gap_with_its_interval(kind: str, difficulty: int) -> None:
    courses = sheets(kind, difficulty)
    for course, question in zip(courses, questions(to_moodle(courses)), strict=True):
        assert texts(question, "name") == course.sheet.number
        assert question.findtext("idnumber") == course.sheet.number
        gaps = GAP.findall(texts(question, "questiontext"))
        assert [grade for grade, _ in gaps] == ["1"] * len(course.cells)
        for (_, gap), cell in zip(gaps, course.cells, strict=True):
            assert read_gap(gap) == (Decimal(cell.key), cell.low, cell.high)


def test_the_text_outside_the_gaps_has_no_brace() -> None:
    for question in questions(to_moodle(sheets())):
        assert not set("{}") & set(GAP.sub("", texts(question, "questiontext")))


def test_the_feedback_has_the_worked_line_of_every_cell() -> None:
    course = sheets()[0]
    feedback = texts(questions(to_moodle(sheets()))[0], "generalfeedback")
    assert feedback.count("<li>") == len(course.cells)
    step = course.sheet.key_view.steps[0]
    assert f"{step.cell_line(0, 0)}" in feedback
    assert course.sheet.number in feedback


def test_the_question_states_the_rounding_and_the_root() -> None:
    text = texts(questions(to_moodle(sheets()))[0], "questiontext")
    for sentence in (*sheets()[0].sheet.instructions, *sheets()[0].rules.sentences(7)):
        assert sentence in text


def test_a_decimal_comma_is_for_readers_and_intervals_have_a_point() -> None:
    courses = sheets()
    text = texts(questions(to_moodle(courses, has_decimal_comma=True))[0], "questiontext")
    gaps = GAP.findall(text)
    assert [read_gap(gap)[1] for _, gap in gaps] == [cell.low for cell in courses[0].cells]
    assert re.findall(r"\d\.\d", GAP.sub("", text)) == []
    assert "√2 = 1,4142" in text


def test_the_key_is_the_first_answer_of_a_gap_that_is_off_centre() -> None:
    cell = CellInterval("Z", "mix", 0, 0, 0, "-0.42", Decimal("-0.43"), Decimal("-0.4196"), 2)
    assert cloze_gap(cell) == "{1:NUMERICAL:=-0.42:0~=-0.4248:0.0052}"
    centred = replace(cell, low=Decimal("-0.43"), high=Decimal("-0.41"))
    assert cloze_gap(centred) == "{1:NUMERICAL:=-0.42:0.01}"


def test_texts_of_a_sheet_cannot_break_the_file() -> None:
    course = sheets()[0]
    nasty = "}{1:NUMERICAL:=1} ]]> <script>&amp; \\ ~ # / \" ' \x00\x1b\ud800"
    broken = replace(course, sheet=replace(course.sheet, instructions=(nasty,)))
    text = texts(questions(to_moodle([broken]))[0], "questiontext")
    assert len(GAP.findall(text)) == len(course.cells)
    assert (
        "&#125;&#123;1:NUMERICAL:=1&#125; ]]&gt; &lt;script&gt;&amp;amp; &#92; ~ # / &quot; &#x27; \ufffd\ufffd\ufffd"
        in text
    )


def test_decimals_of_text_without_numbers_stay() -> None:
    fragments = Fragments(sheets()[0], has_decimal_comma=True)
    assert fragments.numbers("encoder.0: 0.5 and -1.25. End.") == "encoder.0: 0,5 and -1,25. End."
