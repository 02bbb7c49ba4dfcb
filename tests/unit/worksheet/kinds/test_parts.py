"""Several problems on one sheet."""

from clearhead import load_problem, solve
from clearhead.worksheet.kinds.parts import PartsProblem, part_data
from tests.unit.worksheet.random_models import small_model


def test_two_models_fit_on_one_sheet() -> None:
    part = small_model(max_length=1)
    sheet = solve({"parts": [part | {"title": "a"}, part | {"title": "b", "choose": "sample"}]})
    assert len(sheet.answers) == 2
    assert sheet.warnings[0].startswith("part.0: generated: ")


def test_a_part_has_the_layout_and_rounding_of_its_sheet_and_its_own_other_settings() -> None:
    sheet = {"kind": "parts", "title": "all", "layout": "columns", "rounding": {"decimals": 2}}
    part = part_data(sheet, {"kind": "positions", "title": "one"})
    assert part == {"layout": "columns", "rounding": {"decimals": 2}, "kind": "positions", "title": "one"}
    assert part_data({"title": "all"}, {"kind": "positions"}) == {"kind": "positions"}


def test_parts_are_worked_one_after_the_other() -> None:
    parts = [{"kind": "positions", "formula": "count", "positions": [n], "d_model": 1} for n in (3, 5)]
    assert isinstance(load_problem({"parts": parts}), PartsProblem)
    sheet = solve({"parts": parts})
    assert [answer.tolist() for answer in sheet.answers] == [[[3.0]], [[5.0]]]
    assert sheet.titles == ("positions", "positions")
