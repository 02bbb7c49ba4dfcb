"""Files in many states, read line by line: what can be corrected is counted, the rest is reported with file and line."""

import gzip
import lzma
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from clearhead.data.config import CorpusConfig
from clearhead.errors import ConfigError, DataError
from clearhead.files import lines as lines_module
from tests.unit.data.files import aligned, read, write


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_two_aligned_files_are_read_compressed_or_not(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"a.en{suffix}", "one\ntwo\nthree\n")
    target = write(tmp_path / f"a.de{suffix}", "eins\nzwei\ndrei")
    pairs, report = read(CorpusConfig(source=source, target=target))
    assert pairs == [("one", "eins", 1), ("two", "zwei", 2), ("three", "drei", 3)]
    assert (report.num_read, report.num_kept, report.num_dropped) == (3, 3, {})
    assert report.corpus == f"{source} + {target}"


def test_a_line_ends_at_a_line_feed_and_nowhere_else(tmp_path: Path) -> None:
    odd = "a\u2028b\x0bc\x0cd\x85e\rf"
    pairs, report = read(aligned(tmp_path, f"{odd}\nnext\n", "x\ny\n"))
    assert [pair.source for pair in pairs] == [odd, "next"]
    assert report.num_carriage_returns == 0


def test_carriage_returns_and_a_byte_order_mark_are_removed_and_counted(tmp_path: Path) -> None:
    pairs, report = read(aligned(tmp_path, b"\xef\xbb\xbfone\r\ntwo\r\n", "eins\nzwei\r\n"))
    assert pairs == [("one", "eins", 1), ("two", "zwei", 2)]
    assert (report.num_byte_order_marks, report.num_carriage_returns) == (1, 3)


def test_a_byte_order_mark_further_on_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "_BLOCK", 4)  # so that the mark is at the start of a block
    pairs, report = read(aligned(tmp_path, "abc\n\ufeffd\n", "x\ny\n"))
    assert [pair.source for pair in pairs] == ["abc", "\ufeffd"]
    assert report.num_byte_order_marks == 0


def test_lines_are_numbered_correctly_across_blocks(tmp_path: Path) -> None:
    lines = [f"{number} {'x' * (number % 257)}" for number in range(20_011)]
    assert sum(map(len, lines)) > 2 * 2**20
    text = "\n".join(lines)
    pairs, _ = read(aligned(tmp_path, text, text + "\n"))
    assert [pair.source for pair in pairs] == [pair.target for pair in pairs] == lines
    assert [pair.line for pair in pairs] == list(range(1, 20_012))


@pytest.mark.parametrize(
    ("source", "target", "counts"),
    [
        ("a\nb\nc\n", "x\ny\n", "3 lines, but {} has 2"),
        ("a\n", "x\ny\nz", "1 lines, but {} has 3"),
        ("", "x\n", "0 lines, but {} has 1"),
    ],
)
@pytest.mark.parametrize("on_fault", ["refuse", "skip"])
def test_files_of_different_lengths_are_always_refused(
    tmp_path: Path, source: str, target: str, counts: str, on_fault: str
) -> None:
    corpus = aligned(tmp_path, source, target)
    with pytest.raises(DataError) as caught:
        read(corpus, on_fault=on_fault)
    assert str(caught.value) == (
        f"{corpus.source}: {counts.format(corpus.target)}. Each line must be the translation of the same line in the other file: "
        "find the first line that does not match."
    )


BAD = [
    (b"one\ntw\xe9\nthree\n", "{}:2: not UTF-8: byte 0xe9 at byte 3. Convert the file to UTF-8."),
    (b"one\nt\x00o\nthree\n", "{}:2: a NUL byte at byte 2. Give a text file in UTF-8: this one is binary or UTF-16."),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_a_line_that_is_not_text_is_rejected_with_its_file_and_number(
    tmp_path: Path, content: bytes, message: str
) -> None:
    corpus = aligned(tmp_path, content, "1\r\n2\n3\n")
    with pytest.raises(DataError) as caught:
        read(corpus)
    advice = "\nCorrect them, or set data.on_fault: skip to skip such lines."
    assert str(caught.value) == message.format(corpus.source) + advice


@pytest.mark.parametrize(("content", "reason"), [(BAD[0][0], "invalid UTF-8"), (BAD[1][0], "NUL byte")])
def test_a_line_that_is_not_text_is_counted_if_faults_are_skipped(tmp_path: Path, content: bytes, reason: str) -> None:
    corpus = aligned(tmp_path, content.replace(b"three", b"three\r"), "1\n2\n3\n")
    pairs, report = read(corpus, on_fault="skip")
    assert [pair.line for pair in pairs] == [1, 3]
    assert pairs[1].source == "three"
    assert report.num_dropped == {reason: 1}
    assert report.examples == {reason: f"{corpus.source}:2"}
    assert (report.num_read, report.num_kept, report.num_carriage_returns) == (3, 2, 1)


def test_a_line_that_is_faulty_on_both_sides_is_one_skipped_pair(tmp_path: Path) -> None:
    pairs, report = read(aligned(tmp_path, b"a\n\xff\n", b"x\n\x00\n"), on_fault="skip")
    assert (len(pairs), report.num_read, report.num_kept) == (1, 2, 1)


def test_the_first_twenty_faults_are_reported_and_the_others_counted(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, b"\xff\n" * 1023, "x\n" * 1023)
    with pytest.raises(DataError) as caught:
        read(corpus)
    lines = str(caught.value).split("\n")
    assert len(lines) == 22
    assert lines[19].startswith(f"{corpus.source}:20: not UTF-8: byte 0xff at byte 1.")
    assert lines[20] == "… and 1,003 more errors."


def test_faults_and_different_lengths_are_reported_together(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, b"a\n\xff\nb\n", "x\ny\n")
    with pytest.raises(DataError) as caught:
        read(corpus)
    first, second, _ = str(caught.value).split("\n")
    assert "3 lines, but" in first
    assert second.startswith(f"{corpus.source}:2: not UTF-8")


def test_empty_sides_are_skipped_or_rejected_depending_on_the_settings(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "one\n \u3000\nthree\nfour\n", "eins\nzwei\n\nvier\n")
    pairs, report = read(corpus)
    assert [pair.line for pair in pairs] == [1, 4]
    assert (report.num_dropped, report.examples) == ({"empty side": 2}, {"empty side": f"{corpus.source}:2"})
    with pytest.raises(DataError) as caught:
        read(corpus, on_empty="refuse")
    message = "an empty side. Correct it, or set data.on_empty: skip."
    assert str(caught.value) == f"{corpus.source}:2: {message}\n{corpus.source}:3: {message}"


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_truncated_compressed_file_is_always_rejected(tmp_path: Path, suffix: str, compress: Any) -> None:
    packed = compress(Random(7).randbytes(3000).hex().encode() + b"\nb\n")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packed[: len(packed) // 2])
    target = write(tmp_path / "b", "x\ny\n")
    with pytest.raises(DataError) as caught:
        read(CorpusConfig(source=str(path), target=target), on_fault="skip")
    assert str(caught.value) == f"{path}:1: the compressed file is truncated. Copy it again from its source."


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_file_that_is_compressed_only_by_name_is_rejected(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"plain text\n" * 101)
    with pytest.raises(
        DataError, match=rf":1: the file cannot be decompressed \(.*\)\. Is it really {suffix}\? Copy it again"
    ):
        read(CorpusConfig(source=str(path), target=write(tmp_path / "b", "x\n")))


def test_a_compressed_file_with_changed_content_is_rejected(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(Random(7).randbytes(5003).hex().encode()))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "a.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"a\.gz:1: the file cannot be decompressed"):
        read(CorpusConfig(source=str(path), target=write(tmp_path / "b", "x\n")))


def test_a_missing_file_gets_a_close_match(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "a\n", "x\n")
    with pytest.raises(DataError) as caught:
        read(corpus.model_copy(update={"source": str(tmp_path / "tran.en")}))
    assert str(caught.value) == f"{tmp_path}/tran.en does not exist. Did you mean 'train.en'?"
    with pytest.raises(DataError) as caught:
        read(corpus.model_copy(update={"source": str(tmp_path / "no" / "train.en")}))
    assert (
        str(caught.value) == f"{tmp_path}/no/train.en does not exist. Its folder, {tmp_path}/no, does not exist either."
    )


def test_a_folder_in_place_of_a_file_is_reported_with_its_content(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "a\n", "x\n")
    with pytest.raises(DataError) as caught:
        read(corpus.model_copy(update={"target": str(tmp_path)}))
    assert str(caught.value) == f"{tmp_path} is a folder, but a file is required. It contains train.de, train.en."


def test_a_pipe_is_refused_because_files_are_read_more_than_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        DataError, match=r"pipe is not a regular file\. It must be read more than once: save it as a file first\.$"
    ):
        read(CorpusConfig(tsv=str(tmp_path / "pipe")))


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"x" * (2**24 + 2**21), preset=0))
    with pytest.raises(DataError, match=r"a\.xz:1: the line is longer than 16 MB\. Is this a file of sentences\?$"):
        read(CorpusConfig(source=str(path)), "language-model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"max_words": 2},
            "{}: no pair remains. 2 pairs were read, and all were dropped: 1 empty side, 1 over max_words.",
        ),
        ({"max_pairs": 1}, "{}: no pair remains. 1 pairs were read, and all were dropped: 1 empty side."),
    ],
)
def test_a_corpus_without_remaining_pairs_is_rejected_with_the_reasons(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    corpus = aligned(tmp_path, "\none two three\n", "x\ny\n")
    with pytest.raises(DataError) as caught:
        read(corpus, **changes)
    assert str(caught.value) == message.format(f"{corpus.source} + {corpus.target}")


def test_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train\.de: no pair remains\. The file is empty\.$"):
        read(aligned(tmp_path, "", ""))


def test_columns_are_read_by_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "eins\t7\tone\tmore\nzwei\t8\ttwo\n")
    pairs, _ = read(CorpusConfig(tsv=path, source_field="3", target_field="1"))
    assert pairs == [("one", "eins", 1), ("two", "zwei", 2)]


def test_columns_are_the_first_two_by_default(tmp_path: Path) -> None:
    pairs, _ = read(CorpusConfig(tsv=write(tmp_path / "a.tsv", "one\teins\ntwo\tzwei\n")))
    assert pairs == [("one", "eins", 1), ("two", "zwei", 2)]


def test_columns_are_read_by_their_names_in_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "id\ttarget\tsource\n1\teins\tone\n")
    assert read(CorpusConfig(tsv=path))[0] == [("one", "eins", 2)]
    with pytest.raises(DataError) as caught:
        read(CorpusConfig(tsv=path, source_field="sorce", target_field="target"))
    assert str(caught.value) == (
        f"{path}:1: there is no column 'sorce'. Did you mean 'source'? The first line has: id, target, source. "
        "Use a name from the first line, or a column number (counted from 1)."
    )


def test_a_missing_column_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\ntwo zwei\n\nthree\tdrei\n")
    with pytest.raises(DataError) as caught:
        read(CorpusConfig(tsv=path))
    message = f"{path}:2: the line has 1 columns, but column 2 is required. Columns are separated by tabs."
    assert str(caught.value).split("\n")[0] == message
    pairs, report = read(CorpusConfig(tsv=path), on_fault="skip")
    assert [pair.line for pair in pairs] == [1, 4]
    assert report.num_dropped == {"missing column": 1, "empty side": 1}


def test_objects_are_read_by_their_keys_and_keys_inside_keys(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", '{"source": "one\\n2", "target": "eins \\ud83d\\ude00"}\n')
    assert read(CorpusConfig(jsonl=plain))[0] == [("one\n2", "eins 😀", 1)]
    deep = write(tmp_path / "b.jsonl.gz", '{"translation": {"en": "one", "de": "eins"}, "a.b": "two"}\n')
    fields = {"source_field": "translation.en", "target_field": "a.b"}
    assert read(CorpusConfig(jsonl=deep, **fields))[0] == [("one", "two", 1)]


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        (
            '{"source": "a", "targt": "b"}',
            "missing key",
            "no key 'target', but 'targt' is similar: rename it, or give that name. Keys: source, targt.",
        ),
        ("{}", "missing key", "no key 'source'. Keys: none."),
        ('{"source": "a", "target": 7}', "not text", "'target' is a JSON number, but text is required."),
        ('{"source": null, "target": "b"}', "not text", "'source' is a JSON null, but text is required."),
        ('["a", "b"]', "not JSON", "this is a JSON array, but an object {…} is required."),
        ('{"source": "a\\u0000", "target": "b"}', "NUL byte", "'source' contains a NUL character."),
        (
            '{"source": "a", "target": "\\ud83d"}',
            "invalid UTF-8",
            "'target' contains an unpaired surrogate, which is not a character.",
        ),
        (
            '{"source": "a"',
            "not JSON",
            'not JSON: Expecting \',\' delimiter: line 1 column 15 (char 14). Each line must be one object, such as {"source": "…", "target": "…"}.',
        ),
    ],
)
def test_a_faulty_object_is_reported_with_its_line(tmp_path: Path, line: str, reason: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "one", "target": "eins"}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        read(CorpusConfig(jsonl=path))
    assert str(caught.value).split("\n")[0] == f"{path}:2: {message}"
    assert read(CorpusConfig(jsonl=path), on_fault="skip")[1].num_dropped == {reason: 1}


def test_an_object_nested_too_deep_is_a_fault_and_a_blank_line_is_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "one", "target": "eins"}\n' + "[" * 200_000 + "\n\n")
    assert read(CorpusConfig(jsonl=path), on_fault="skip")[1].num_dropped == {"not JSON": 1, "empty side": 1}


def test_labels_can_be_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "good", "target": 1}\n{"source": "bad", "target": false}\n')
    assert [pair.target for pair in read(CorpusConfig(jsonl=path), "classify")[0]] == ["1", "false"]


def test_a_language_model_reads_one_text(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "one\n\ntwo\n")
    assert read(CorpusConfig(source=text), "language-model")[0] == [("", "one", 1), ("", "two", 3)]
    tsv = write(tmp_path / "a.tsv", "7\tone\n")
    assert read(CorpusConfig(tsv=tsv, source_field="2"), "language-model")[0] == [("", "one", 1)]
    jsonl = write(tmp_path / "a.jsonl", '{"text": "one"}\n')
    assert read(CorpusConfig(jsonl=jsonl, source_field="text"), "language-model")[0] == [("", "one", 1)]


@pytest.mark.parametrize(
    ("settings", "task", "message"),
    [
        (
            {},
            "translate",
            "corpus names no data. Give source and target, or tsv, or jsonl, or built_in.",
        ),
        (
            {"tsv": "a", "source": "b"},
            "translate",
            "corpus has source and tsv, which are different corpora. Write a separate entry for each.",
        ),
        (
            {"source": "a.en"},
            "translate",
            "corpus.target is missing: the file of translations, line by line.",
        ),
        (
            {"target": "a.de"},
            "classify",
            "corpus names no data. Give source and target, or tsv, or jsonl, or built_in.",
        ),
        (
            {"source": "a", "target": "b"},
            "language-model",
            "corpus.target: task = 'language-model' has no target. Remove corpus.target.",
        ),
    ],
)
def test_a_corpus_is_given_in_exactly_one_way(settings: dict[str, str], task: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(CorpusConfig.model_validate(settings), task)
    assert caught.value.mistakes[0] == message
