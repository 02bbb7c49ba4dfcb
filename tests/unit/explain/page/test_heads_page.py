"""The page of a report on heads without a browser: self-contained, with every number in its table."""

import json
import re

from clearhead.explain.page.heads_page import heads_page
from tests.unit.explain.page.report_by_hand import report


def rows_of(page: str) -> list[list[str]]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", body)]


def test_the_table_has_every_head_and_leaves_empty_what_was_not_measured() -> None:
    page = heads_page(report(), "en-de")
    rows = rows_of(page)
    assert len(rows) == 8
    assert rows[1] == [
        "encoder.0.self_attention.head.1", "previous token", "0.35", "−1", "0.95", "0.20", "0.10", "–", "0.0800",
        "+0.3000", "0.001", "+0.1000", "−2.50", "0.001",
    ]  # fmt: skip
    assert rows[4][6:8] == ["–", "–"], "self-attention of a decoder has neither an end token nor an alignment"
    assert "8 heads in 4 attention layers · measured on 7 sentences · loss 1.5000 nats per token · BLEU 41.50" in page


def test_columns_that_were_not_measured_are_left_out() -> None:
    page = heads_page(report(has_bleu=False), "en-de")
    assert "Δ BLEU" not in page.partition("<script")[0]
    assert {len(row) for row in rows_of(page)} == {12}


def test_the_page_is_self_contained_and_names_are_text() -> None:
    page = heads_page(report(), "<b>en</b>")
    assert "&lt;b&gt;en&lt;/b&gt;" in page
    assert "<b>en" not in page
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", page)
    assert "default-src 'none'" in page
    assert len(page.encode()) < 100_000


def test_the_data_of_the_page_are_those_of_the_json() -> None:
    (text,) = re.findall(
        r'<script type="application/json" id="report">(.*?)</script>', heads_page(report(), "m"), re.DOTALL
    )
    data = json.loads(text)
    assert data.pop("significant") == 0.05
    assert data == json.loads(json.dumps(report().to_dict()))
