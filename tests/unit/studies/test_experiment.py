"""An experiment's result: numbers as a reader sees them, columns by name."""

from clearhead.studies import ResultTable
from clearhead.studies.experiment import format_cell


def test_a_number_is_shown_short_and_noise_is_named() -> None:
    cells = (0.0, 1.0, 1234.5, 2048, 1 / 3, 3e-17, -2e-13, 1.33e-7, "word")
    expected = ["0", "1", "1,234", "2,048", "0.3333", "< 1e-12", "< 1e-12", "1.33e-07", "word"]
    assert [format_cell(cell) for cell in cells] == expected


def test_a_column_is_found_by_its_name() -> None:
    assert ResultTable("t", ("a", "b"), ((1, 2.5), (3, 4.5))).column("b") == (2.5, 4.5)
