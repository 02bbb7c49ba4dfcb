"""Filters remove the pairs that they describe, and every pair is counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from clearhead.data.clean import CleaningReport, Filter, report_table
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import open_corpus, read_texts
from tests.unit.data.files import aligned, read, write

SOURCE = "one\none two three\none two three four five\none\n\none two\n"
TARGET = "eins\neins zwei drei\nfünf\neins\nleer\neins zwei\n"


@pytest.mark.parametrize(
    ("changes", "lines", "left_out"),
    [
        ({}, [1, 2, 3, 4, 6], {"empty side": 1}),
        ({"max_words": 3}, [1, 2, 4, 6], {"over max_words": 1, "empty side": 1}),
        ({"max_ratio": 4.9}, [1, 2, 4, 6], {"over max_ratio": 1, "empty side": 1}),
        ({"max_ratio": 5}, [1, 2, 3, 4, 6], {"empty side": 1}),
        ({"deduplicate": True}, [1, 2, 3, 6], {"seen before": 1, "empty side": 1}),
        ({"max_pairs": 3}, [1, 2, 3], {}),
        (
            {"max_pairs": 5, "max_words": 1, "deduplicate": True},
            [1],
            {"over max_words": 2, "seen before": 1, "empty side": 1},
        ),
    ],
)
def test_each_filter_removes_its_pairs_and_counts_them(
    tmp_path: Path, changes: dict[str, Any], lines: list[int], left_out: dict[str, int]
) -> None:
    pairs, report = read(aligned(tmp_path, SOURCE, TARGET), **changes)
    assert [pair.line for pair in pairs] == lines
    assert report.num_dropped == left_out
    assert report.num_read == report.num_kept + sum(left_out.values())
    assert report.num_kept == len(lines)


def test_the_longer_side_decides(tmp_path: Path) -> None:
    _, report = read(aligned(tmp_path, "a\na\n", "b\nb b b\n"), max_words=2)
    assert report.examples == {"over max_words": f"{tmp_path}/train.en:2"}
    _, report = read(aligned(tmp_path, "a\na\n", "b\nb b b\n"), max_ratio=2)
    assert report.num_dropped == {"over max_ratio": 1}


def test_a_label_is_not_measured_against_its_text(tmp_path: Path) -> None:
    pairs, _ = read(aligned(tmp_path, "one two three four five\n", "good\n"), "classify", max_ratio=2)
    assert len(pairs) == 1


def test_a_language_tag_comes_before_the_source_and_is_not_counted(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "one two\n", "eins zwei\n", language="de")
    assert read(corpus, max_words=2)[0] == [(">>de<< one two", "eins zwei", 1)]


def test_duplicates_are_found_across_corpora_but_not_across_languages(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "OK\nyes\n", "OK\nja\n", language="de")
    other = corpus.model_copy(update={"language": "nl"})
    data = DataConfig(train=(corpus, other), deduplicate=True)
    keep = Filter(data)
    assert len(list(open_corpus(corpus, data, pair_filter=keep))) == 2
    assert len(list(open_corpus(other, data, pair_filter=keep))) == 2
    texts = list(read_texts([corpus, other], data))
    assert texts == [(">>de<< OK", "OK"), (">>de<< yes", "ja"), (">>nl<< OK", "OK"), (">>nl<< yes", "ja")]
    plain = corpus.model_copy(update={"language": None})
    more = CorpusConfig(tsv=write(tmp_path / "a.tsv", "OK\tOK\nno\tnein\n"))
    assert list(read_texts([plain, more], data)) == [("OK", "OK"), ("yes", "ja"), ("no", "nein")]


def test_the_report_is_printed_as_a_table_and_restored_from_plain_data(tmp_path: Path) -> None:
    _, report = read(aligned(tmp_path, "\ufeffone\r\n" + "\n" * 1003, "eins\n" + "leer\n" * 1003))
    name = f"{tmp_path}/train.en"
    assert report_table([report]) == (
        f"{name} + {tmp_path}/train.de: 1,004 pairs read, 1 kept\n"
        f"  1,003 dropped: empty side (first: {name}:2)\n"
        "  a byte order mark at the start was removed\n"
        "  1 lines ended in a carriage return, which was removed"
    )
    data = TypeAdapter(CleaningReport).dump_json(report, by_alias=True)
    assert json.loads(data)["left_out"] == {"empty side": 1003}
    assert TypeAdapter(CleaningReport).validate_json(data, strict=True) == report
