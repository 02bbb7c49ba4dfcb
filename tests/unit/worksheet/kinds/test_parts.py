"""Several problems on one sheet."""

from clearhead import solve
from tests.unit.worksheet.random_models import small_model


def test_two_models_fit_on_one_sheet() -> None:
    part = small_model(max_length=1)
    sheet = solve({"parts": [part | {"title": "a"}, part | {"title": "b", "choose": "sample"}]})
    assert len(sheet.answers) == 2
    assert sheet.warnings[0].startswith("part.0: generated: ")
