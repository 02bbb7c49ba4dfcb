"""The input of a planned run: text files and tables are recognised, anything else gets one sentence."""

import gzip
import json
import lzma
from pathlib import Path

import pytest

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.errors import DataError
from clearhead.training.plan_input import corpus_of, is_config, read_pairs, run_name

FILES: dict[str, bytes] = {
    "train.en": b"one\ntwo\nthree\n",
    "train.es": b"uno\ndos\ntres\n",
    "train.tsv": b"one\tuno\ntwo\tdos\n",
    "named.tsv": b"id\ttarget\tsource\n1\tuno\tone\n2\tdos\ttwo\n",
    "tabs.txt": b"one\tuno\ntwo\tdos\n",
    "train.jsonl": b'{"source": "one", "target": "uno"}\n{"source": "two\\nlines", "target": "dos"}\n',
    "two-keys.jsonl": b'{"en": "one", "es": "uno", "id": 3}\n{"en": "two", "es": "dos", "id": 4}\n',
    "nested.jsonl": b'{"translation": {"en": "one", "es": "uno"}}\n{"translation": {"en": "two", "es": "dos"}}\n',
    "train.en.gz": gzip.compress(b"one\ntwo\n"),
    "train.es.xz": lzma.compress(b"uno\ndos\n"),
    "plain": b"one\ntwo\n",
    "plain.tsv": b"one\ntwo\n",
    "three-keys.jsonl": b'{"en": "one", "es": "uno", "de": "eins"}\n',
    "list.jsonl": b'["one", "uno"]\n',
    "binary.en": bytes(range(256)) * 40,
    "empty.en": b"",
    "my.yaml": b"data: {}\n",
    "settings": b"# mine\ndata:\n  train:\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*names: str) -> list[tuple[str, str]]:
    corpus = corpus_of([Path(name) for name in names])
    return read_pairs(corpus, DataConfig(train=(corpus,)))


PAIRS = [("one", "uno"), ("two", "dos")]


@pytest.mark.parametrize(
    "names",
    [
        ("train.tsv",),
        ("named.tsv",),
        ("tabs.txt",),
        ("two-keys.jsonl",),
        ("nested.jsonl",),
        ("train.en.gz", "train.es.xz"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_text_is_recognised(names: tuple[str, ...]) -> None:
    assert read(*names) == PAIRS


@pytest.mark.usefixtures("folder")
def test_two_files_are_source_and_target() -> None:
    assert read("train.en", "train.es") == [*PAIRS, ("three", "tres")]
    assert corpus_of([Path("train.en"), Path("train.es")]) == CorpusConfig(source="train.en", target="train.es")


@pytest.mark.usefixtures("folder")
def test_lines_in_a_text_of_json_become_one_line() -> None:
    assert read("train.jsonl") == [("one", "uno"), ("two lines", "dos")]


ONE_FILE = (
    "so there are no translations to learn from. Give two text files with one sentence per line, the source and its "
    "translation (train train.en train.es), or one TSV or JSONL file."
)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("plain",), f"plain is one file of plain text, {ONE_FILE}"),
        (("plain.tsv",), f"plain.tsv is a TSV file, but its first line has no tab, {ONE_FILE}"),
        (
            ("binary.en", "train.es"),
            "binary.en is not a text file: NUL byte in line 1. Give UTF-8 text with one sentence per line.",
        ),
        (("train.en", "empty.en"), "empty.en is empty. Give a file with one sentence per line."),
        (
            ("train.en", "train.en"),
            "train.en was given twice. Give the source and its translation: train train.en train.es.",
        ),
        (("train.en", "no.es"), "no.es does not exist. Did you mean 'train.es'?"),
        (("train.en", "my.yaml"), "my.yaml is a config. Give the config alone, or two text files."),
        (
            ("train.en", "train.es", "plain"),
            "3 files were given. Give two text files with one sentence per line, the source and its translation "
            "(train train.en train.es), or one TSV or JSONL file.",
        ),
        (
            ("three-keys.jsonl",),
            "three-keys.jsonl:1 does not say which key is the source and which the target. Keys with text: en, es, de. "
            "Rename two of them to source and target.",
        ),
        (
            ("list.jsonl",),
            'list.jsonl:1 is not a JSON object such as {"source": "…", "target": "…"}. Each line of a JSONL file must '
            "be one object.",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_other_input_gets_one_sentence(names: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        read(*names)
    assert str(error.value) == sentence


@pytest.mark.usefixtures("folder")
def test_files_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match=r"^plain: 2 lines, but train\.es has 3\. "):
        read("plain", "train.es")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("my.yaml", True), ("settings", True), ("nothing", True), (".", True)]
    + [(name, False) for name in ("plain", "train.en", "train.tsv", "train.jsonl", "tabs.txt", "binary.en")],
)
@pytest.mark.usefixtures("folder")
def test_a_config_is_distinguished_from_text(name: str, expected: bool) -> None:
    assert is_config(Path(name)) == expected


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("data/train.en", "data/train.es"), "train-en-es"),
        (("train.en.gz", "train.es.xz"), "train-en-es"),
        (("english.txt", "spanish.txt"), "english-txt-spanish-txt"),
        (("pairs.tsv",), "pairs"),
        (("pairs.jsonl.gz",), "pairs"),
        (("a", "b"), "a-b"),
    ],
)
def test_a_run_is_named_after_its_files(names: tuple[str, ...], name: str) -> None:
    assert run_name([Path(file) for file in names]) == name


def test_the_keys_of_the_examples_are_json() -> None:
    for name in ("train.jsonl", "two-keys.jsonl", "nested.jsonl"):
        assert all(json.loads(line) for line in FILES[name].decode().splitlines())
