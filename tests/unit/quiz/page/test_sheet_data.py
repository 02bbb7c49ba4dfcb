"""What a practice page tells its script: every step with its inputs, the printed cells, and no answer."""

import json
from dataclasses import replace

import numpy as np
import pytest

from clearhead import Worksheet
from clearhead.check.graph import FromRecord, Graph
from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, QuizSheet, draw_sheet
from clearhead.quiz.page.sheet_data import ACTIVATIONS, NUMERIC_INPUTS, check_step, script_data
from clearhead.steps import STEPS, Record
from clearhead.worksheet import reference


def practice_sheet(kind: str = "self-attention", difficulty: int = 2, **options: str) -> QuizSheet:
    return draw_sheet(QuizRequest(kind, difficulty, 7, **options))


def test_the_script_knows_every_step_and_no_other() -> None:
    assert set(NUMERIC_INPUTS) == set(STEPS)
    for name, inputs in NUMERIC_INPUTS.items():
        assert set(inputs) <= {step_input.name for step_input in STEPS[name].inputs}
    assert set(ACTIVATIONS) == set(reference.ACTIVATIONS)


def test_every_input_that_is_computed_anywhere_is_one_that_the_script_computes_with(
    all_sheets: dict[str, Worksheet],
) -> None:
    for sheet in all_sheets.values():
        graph = Graph(sheet)
        for record, sources in zip(graph.records, graph.sources, strict=True):
            check_step(record, sources)


def test_the_data_has_the_printed_digits_and_no_result_of_a_blank_cell() -> None:
    sheet = practice_sheet()
    data = script_data(sheet)
    assert [record["symbol"] for record in data["records"]] == ["Q", "K", "V", "S", "S′", "A", "Z"]
    assert all(text is None for record in data["records"] for row in record["shown"] for text in row)
    text = json.dumps(data)
    for step in sheet.key_view.steps:
        for cell in np.ndindex(step.matrix.value.shape):
            digits = step.matrix.digits.text(*cell)
            assert len(digits) < 5 or f'"{digits}"' not in text, "no text of the data is an answer"


def test_a_sheet_with_one_row_to_fill_in_has_the_other_rows_printed() -> None:
    data = script_data(practice_sheet(blanks="row"))
    printed = [[text is not None for row in record["shown"] for text in row] for record in data["records"]]
    assert all(any(cells) and not all(cells) for cells in printed)


def test_a_sum_names_the_cells_that_the_student_typed() -> None:
    data = script_data(practice_sheet())
    scores, weights = data["records"][3], data["records"][5]
    assert scores["sums"]["0,1"] == "{0:0,0}×{1:1,0} + {0:0,1}×{1:1,1}"
    assert weights["sums"]["0,0"].startswith("e^{4:0,0} / (e^{4:0,0} + ")


def test_a_step_that_the_script_does_not_know_is_refused_with_a_sentence() -> None:
    record = Graph(practice_sheet().worksheet).records[0]
    other = Record(replace(record.step, name="convolve_twice"), record.where, record.inputs, record.value, "Q")
    with pytest.raises(QuizError, match="the step 'convolve_twice' cannot be marked in a page. Write this sheet in"):
        check_step(other, {})


def test_a_computed_input_that_must_be_given_is_refused_with_a_sentence() -> None:
    record = Graph(practice_sheet().worksheet).records[4]
    with pytest.raises(QuizError, match="the input 'root_of' of the step 'scale' is calculated"):
        check_step(record, {"root_of": FromRecord(0)})


def test_an_activation_that_the_script_does_not_know_is_refused_with_a_sentence() -> None:
    record = next(
        line for line in Graph(practice_sheet("feed-forward").worksheet).records if line.step.name == "activate"
    )
    other = Record(record.step, record.where, {**record.inputs, "function": "mish"}, record.value, "F")
    with pytest.raises(QuizError, match="the activation 'mish' cannot be marked in a page"):
        check_step(other, {})
