"""Built-in corpora are read like files: by name and part, filtered, counted, and part of a store's fingerprint."""

from pathlib import Path

import pytest

from clearhead.data import phrasebook, sequences
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import fingerprint
from clearhead.data.store import build_store
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.unit.data.files import read


def test_the_phrasebook_is_read_by_its_parts() -> None:
    pairs, report = read(CorpusConfig(built_in="phrasebook", split="valid"))
    assert [(pair.source, pair.target) for pair in pairs] == list(phrasebook.pairs("valid"))
    assert (report.corpus, report.num_kept) == ("phrasebook", len(pairs))
    assert pairs[2].line == 3


def test_the_set_phrases_are_read_by_their_name() -> None:
    pairs, report = read(CorpusConfig(built_in="set-phrases"))
    assert [(pair.source, pair.target) for pair in pairs] == list(phrasebook.set_phrases())
    assert (report.corpus, report.num_kept) == ("set-phrases", len(pairs))


@pytest.mark.parametrize("name", ["copy", "reverse", "sort"])
def test_a_sequence_task_is_read_by_its_name_and_its_default_part_is_training(name: sequences.Task) -> None:
    pairs, _ = read(CorpusConfig(built_in=name), max_pairs=7)
    expected = [pair for pair, _ in zip(sequences.pairs(name, "train"), range(7), strict=False)]
    assert [(pair.source, pair.target) for pair in pairs] == expected


def test_a_language_model_reads_the_target_side() -> None:
    pairs, _ = read(CorpusConfig(built_in="phrasebook", split="test"), "language-model", max_pairs=3)
    assert [pair.source for pair in pairs] == ["", "", ""]


def test_tasks_and_parts_have_different_fingerprints() -> None:
    fingerprints = {fingerprint(CorpusConfig(built_in=name, split=split)) for name in ("copy", "sort") for split in ("valid", "test")}  # fmt: skip
    assert len(fingerprints) == 4
    assert fingerprint(CorpusConfig(built_in="copy", split="valid")) in fingerprints
    assert fingerprint(CorpusConfig(built_in="copy", split="valid", language="hi")) not in fingerprints


def test_a_store_is_built_from_a_built_in_corpus_and_reused(tmp_path: Path) -> None:
    corpus = CorpusConfig(built_in="reverse", split="valid")
    data = DataConfig(train=(corpus,))
    vocabularies = train_vocabularies(sequences.pairs("reverse", "valid"), TextConfig(kind="word"))
    first = build_store([corpus], vocabularies, data, tmp_path / "store")
    assert len(first) == sequences.SIZES["valid"]
    source, target = first.source.rows([11])[0], first.target.rows([11])[0]
    assert source[:-1].tolist() == target[:-1].tolist()[::-1]
    assert build_store([corpus], vocabularies, data, tmp_path / "store").message.endswith("unchanged.")
