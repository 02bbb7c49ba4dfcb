"""The numbers of a report as cells of a table and as CSV, written by hand for two heads."""

from dataclasses import replace

import pytest

from clearhead.cli.heads import HeadColumn
from clearhead.evaluation.scores import Score
from clearhead.explain.head_kind import HeadStatistics
from clearhead.explain.head_report import HeadLinks, HeadReport, HeadRow, MeasuredChange
from clearhead.explain.head_tables import SORT_COLUMNS, head_table, sorted_rows, to_csv
from clearhead.model.heads import AttentionHead

OWN, CROSS = AttentionHead("decoder.0.self_attention", 0), AttentionHead("decoder.0.cross_attention", 0)
ROWS = (
    HeadRow(HeadStatistics(OWN, 7, 0.756, -1, 0.9, 0.25, None), 0.0123, MeasuredChange(0.5, 0.25), 0.125),
    HeadRow(
        HeadStatistics(CROSS, 9, 0.5, 2, 0.333, 0.1, 0.05), 0.5, MeasuredChange(-0.01, 1.0), 0.0, HeadLinks(12.34, True)
    ),
)
REPORT = HeadReport(ROWS, Score("loss", 1.5, "unit:token"), {"importance": "by gradient", "loss_p_value": "ar:40"})


def test_a_table_has_a_row_for_every_head_and_leaves_empty_what_does_not_exist() -> None:
    table = head_table(REPORT)
    assert table.title == "2 attention heads"
    assert table.columns == (
        "head", "kind", "confidence", "offset", "first", "end", "AER %", "importance", "Δ loss", "p", "Δ loss alone",
    )  # fmt: skip
    assert table.rows == (
        (
            str(OWN),
            "previous token",
            "0.76",
            "-1 (90 %)*",
            "0.25",
            "",
            "",
            "0.0123",
            "+0.5000",
            "0.250",
            "+0.1250 best",
        ),
        (
            str(CROSS),
            "alignment",
            "0.50",
            "+2 (33 %)",
            "0.10",
            "0.05",
            "12.3",
            "0.5000",
            "-0.0100",
            "1.000",
            "+0.0000 best",
        ),
    )
    assert table.notes[-1] == "p: ar:40"
    assert "unchanged loss 1.5000 (unit:token)" in table.notes[-2]


def test_bleu_has_its_own_columns_and_note() -> None:
    rows = tuple(replace(row, bleu=MeasuredChange(-1.234, 0.04)) for row in ROWS)
    table = head_table(replace(REPORT, rows=rows, bleu=Score("BLEU", 41.5, "nrefs:1")))
    assert table.columns[-2:] == ("Δ BLEU", "p")
    assert table.rows[0][-2:] == ("-1.23", "0.040")
    assert table.notes[-1] == "Δ BLEU: change if the head is removed; unchanged 41.50 (nrefs:1)"


def test_without_cross_attention_there_is_no_column_of_alignments() -> None:
    assert "AER %" not in head_table(replace(REPORT, rows=ROWS[:1])).columns


@pytest.mark.parametrize("column", ["confidence", "offset", "first", "loss", "head"])
def test_the_largest_value_comes_first(column: str) -> None:
    assert [row.head for row in sorted_rows(REPORT, column)] == [OWN, CROSS]


@pytest.mark.parametrize("column", ["end", "aer", "importance", "alone", "kind"])
def test_the_smallest_error_comes_first_and_what_was_not_measured_last(column: str) -> None:
    assert [row.head for row in sorted_rows(REPORT, column)] == [CROSS, OWN]


def test_the_first_rows_of_a_sorted_table() -> None:
    rows = sorted_rows(REPORT, "aer", 1)
    table = head_table(REPORT, rows)
    assert table.title == "1 of 2 attention heads"
    assert [row[0] for row in table.rows] == [str(CROSS)]
    assert "AER %" in table.columns
    assert to_csv(rows).count("\n") == 2


def test_the_command_sorts_by_every_column() -> None:
    assert tuple(HeadColumn) == SORT_COLUMNS


def test_csv_has_all_digits() -> None:
    heading, own, cross = to_csv(ROWS).splitlines()
    assert heading.startswith(
        "head,num_queries,confidence,offset,offset_share,first_share,end_share,diagonal_share,"
        "near_share,spread,kind,is_positional,"
    )
    assert own.startswith(
        "decoder.0.self_attention.head.0,7,0.756,-1,0.9,0.25,,,,,previous token,True,0.0123,0.5,0.25,0.125,,"
    )
    assert ",12.34,True," in cross
