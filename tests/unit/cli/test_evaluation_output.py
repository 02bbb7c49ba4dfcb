"""What `clearhead evaluate` prints for alignments alone, in every format."""

import json

import pytest

from clearhead.cli.evaluation_output import Form, show, waiting
from clearhead.evaluation.scores import Score

AER = Score("AER", 200 / 7, "gold:sure+possible", is_higher_better=False)


def test_json_has_every_number_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    show(None, [("ours", AER)], Form.json)
    (alignment,) = json.loads(capsys.readouterr().out)["alignments"]
    assert (alignment["links"], alignment["value"], alignment["signature"]) == ("ours", 200 / 7, AER.signature)


def test_a_table_in_markdown_has_a_column_for_each_heading(capsys: pytest.CaptureFixture[str]) -> None:
    show(None, [("ours", AER), ("theirs", AER)], Form.markdown)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1
    assert any(row.startswith("| ours | 28.57") for row in rows)


def test_a_long_name_is_not_cut_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    name = "a-system-with-a-long-name" * 3
    show(None, [(name, AER)], Form.terminal)
    text = capsys.readouterr().out
    assert name in text
    assert "28.57" in text


def test_there_is_no_progress_indicator_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting():
        pass
    assert capsys.readouterr().err == ""
