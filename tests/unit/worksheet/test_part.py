"""A part of a sheet is a sheet: the same numbers, a complete chain, and inputs from outside given under a sensible symbol."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from clearhead import Rounding, Worksheet, solve
from clearhead.check import mark_worksheet
from clearhead.errors import ProblemError
from clearhead.steps import Trace
from clearhead.worksheet.part import is_under, load_sheet, part_of_sheet, places_of
from clearhead.worksheet.pen import in_rows
from tests.conftest import ROOT, SHIPPED

HEADS = str(ROOT / "examples" / "multi-head-attention.yaml")
MODEL = str(ROOT / "examples" / "transformer.yaml")


def assert_chain(sheet: Worksheet) -> None:
    value_ids = {id(entry.value) for entry in sheet.trace.givens.values()}
    for record in sheet.trace:
        for value in record.inputs.values():
            for element in value if isinstance(value, tuple) else (value,):
                assert not isinstance(element, np.ndarray) or id(element) in value_ids, (record.where, record.symbol)
        value_ids.add(id(record.value))


def text_of(sheet: Worksheet) -> str:
    text = StringIO()
    sheet.show("products", Console(file=text, highlight=False, width=200))
    return text.getvalue()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_place_of_every_shipped_sheet_opens_with_a_complete_chain(
    name: str, all_sheets: dict[str, Worksheet]
) -> None:
    sheet = all_sheets[name]
    for place in places_of(sheet.trace)[:25]:
        part = part_of_sheet(sheet, place)
        assert_chain(part)
        records = [record for record in sheet.trace if is_under(record.where, place)]
        assert [(r.where, r.symbol, r.value.tolist()) for r in part.trace] == [
            (r.where, r.symbol, r.value.tolist()) for r in records
        ]
        assert Worksheet.from_json(part.to_json()) == part
        report = mark_worksheet(part)
        assert report.earned == report.out_of > 0, place


def test_a_head_starts_from_the_matrices_it_takes_its_share_of() -> None:
    sheet = solve(HEADS)
    part = part_of_sheet(sheet, "self_attention.head.1")
    assert [entry.symbol for entry in part.trace.givens.values()] == ["Q", "K", "V"]
    assert part.title == f"{sheet.title} (Self-attention · Head 2)"
    assert {record.where.partition("head.1")[1] for record in part.trace} == {"head.1"}
    shown = text_of(part)
    assert "Self-attention · Head 2" in shown
    assert "Q₂ = head 2 of 2 of Q" in shown
    assert "A₂ = softmax of each row of S′₂" in shown


def test_names_of_rows_reach_what_is_now_given() -> None:
    problem = {"kind": "multi-head-attention", "tokens": ["she", "went"], "X": [[1, 2], [0, 3]], "num_heads": 2}
    same = [[1, 0], [0, 1]]
    part = part_of_sheet(solve({**problem, "W_Q": same, "W_K": same, "W_V": same}), "self_attention.head.0")
    assert {entry.symbol: entry.rows for entry in part.trace.givens.values()} == dict.fromkeys(
        ("Q", "K", "V"), ("she", "went")
    )


def test_a_value_of_the_other_half_is_labelled_with_its_origin() -> None:
    sheet = solve(MODEL)
    place = next(r.where for r in sheet.trace if "cross_attention" in r.where).partition(".cross_attention")[0]
    part = part_of_sheet(sheet, f"{place}.cross_attention")
    symbols = [entry.symbol for entry in part.trace.givens.values()]
    assert sum(symbol.endswith("(encoder)") for symbol in symbols) == 1, symbols
    assert "(encoder)" in text_of(part)
    assert part.to_latex("products")
    assert part.to_html("products")


def test_a_value_from_outside_has_a_different_symbol_than_a_line_of_the_part() -> None:
    table = {"kind": "add-and-norm", "X": [[1, 2]], "Y": [[3, 5]], "norm": "layer"}
    sheet = solve(table)
    assert [record.symbol for record in sheet.trace] == ["R", "μ", "σ²", "N"]
    records = [replace(record, symbol="R", where="add_and_norm.last") for record in sheet.trace.records[-1:]]
    trace = Trace()
    trace.givens, trace.records = sheet.trace.givens, [*sheet.trace.records[:-1], *records]
    part = part_of_sheet(replace(sheet, trace=trace), "add_and_norm.last")
    assert [entry.symbol for entry in part.trace.givens.values()] == ["R (before)", "μ", "σ²"]
    assert "R = (R (before) - μ) / √(σ² + 0.00001)" in text_of(part)


def test_patterns_take_several_places() -> None:
    sheet = solve(HEADS)
    part = part_of_sheet(sheet, "self_attention.head.*")
    assert {record.where.split(".")[2] for record in part.trace} == {"0", "1"}
    assert part_of_sheet(part, "self_attention.head.1").trace == part_of_sheet(sheet, "self_attention.head.1").trace


def test_a_part_of_a_sheet_in_columns_stays_in_columns() -> None:
    sheet = solve(str(ROOT / "examples" / "self-attention-columns.yaml"))
    place = sheet.trace[-1].where
    part = part_of_sheet(sheet, place)
    assert part.layout == "columns"
    assert part.answer.tolist() == sheet.answer.tolist()
    assert_chain(part)
    assert in_rows(part.trace).records[-1].value.tolist() == in_rows(sheet.trace).records[-1].value.tolist()


def test_a_part_of_several_problems_has_its_own_answer() -> None:
    sheet = solve("bank")
    part = part_of_sheet(sheet, "part.1")
    assert len(sheet.answers) > 1
    assert [answer.tolist() for answer in part.answers] == [sheet.answers[1].tolist()]


def test_rounding_and_notes_go_with_the_part() -> None:
    sheet = solve(HEADS, Rounding(lines="rounded", decimals=2))
    noted = replace(sheet, warnings=("a note of the whole", "self_attention.output: elsewhere"))
    part = part_of_sheet(noted, "self_attention.head.0")
    assert part.rounding == sheet.rounding
    assert part.warnings == ("a note of the whole",)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("self_attention.head.9", "there is no part 'self_attention.head.9' in this trace. Did you mean 'self_attention.head.0'? Parts in self_attention.head: self_attention.head.0, self_attention.head.1."),
        ("self_atention", "there is no part 'self_atention' in this trace. Did you mean 'self_attention'? Parts: self_attention."),
        ("zzz", "there is no part 'zzz' in this trace. Parts: self_attention."),
        ("", "there is no part '' in this trace. Parts: self_attention."),
    ],
)  # fmt: skip
def test_the_error_for_an_unknown_place_lists_the_known_ones(where: str, sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        part_of_sheet(solve(HEADS), where)
    assert str(wrong.value).replace("head.1'?", "head.0'?") == sentence


def test_a_file_without_a_trace_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text('{"clearhead": 2}')
    for name, sentence in (("no.json", "is not a trace file"), ("none.json", "cannot be read: No such file")):
        with pytest.raises(ProblemError, match=sentence):
            load_sheet(tmp_path / name)
    solve(HEADS).save(tmp_path / "sheet.json")
    assert load_sheet(tmp_path / "sheet.json") == solve(HEADS)


DAMAGES: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "a name that is a list": (("given", 0, "rows", 0), [[1]], "rows is not a list of texts"),
    "names that are a text": (("given", 0, "rows"), "ab", "rows is not a list of texts"),
    "a symbol that is a number": (("records", 0, "symbol"), 5, "symbol is not a text"),
    "a place that is null": (("records", 0, "where"), None, "where is not a text"),
    "too few names": (("given", 0, "rows"), ["a"], "X has too few names of rows or columns"),
    "a title that is a number": (("title",), 5, "its kind, title or warnings are not text"),
    "a scale by nothing": (
        ("records", 4),
        {"step": "scale", "where": "", "symbol": "S", "value": [[1]], "inputs": {"scores": {"record": 3}}},
        "cannot be computed from its inputs",
    ),
    "a single number": (("records", 3, "value"), -1, "has another shape than the result of its inputs"),
    "a given number": (("given", 0, "value"), True, "cannot be computed from its inputs"),
    "an input that is missing": (("records", 3, "inputs"), {}, "cannot be computed from its inputs"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_trace_is_an_error_in_one_sentence(tmp_path: Path, damage: str) -> None:
    data = json.loads(solve(HEADS).to_json())
    (*path, last), value, sentence = DAMAGES[damage]
    place: Any = data
    for key in path:
        place = place[key]
    place[last] = value
    (tmp_path / "sheet.json").write_text(json.dumps(data))
    with pytest.raises(ProblemError, match=rf"sheet.json is not a trace file \(.*{sentence}.*\)\. Write one with"):
        load_sheet(tmp_path / "sheet.json")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(300 * 2**20)
    with pytest.raises(ProblemError, match="has 300 MiB; a trace can have at most 256. Save only a part of it"):
        load_sheet(tmp_path / "huge.json")


def test_precision_is_written_only_where_it_is_not_float64() -> None:
    sheet = solve(HEADS)
    assert b"precision" not in sheet.to_json()
    coarse = replace(sheet, precision="float32")
    assert Worksheet.from_json(coarse.to_json()) == coarse
    assert Worksheet.from_json(sheet.to_json()).precision == "float64"
