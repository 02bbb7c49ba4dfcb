"""Stores of pairs: the ids of the tokeniser, complete or absent, rebuilt only if something changed."""

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import TypeAdapter

from clearhead.data import store as store_module
from clearhead.data.clean import CleaningReport
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.ragged import Ragged, RaggedWriter, open_ragged
from clearhead.data.store import PairStore, Use, build_store, open_store
from clearhead.errors import DataError
from clearhead.files import lines as lines_module
from clearhead.files.manifest import MANIFEST
from clearhead.text.config import TextConfig
from clearhead.text.statistics import measure_text
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from tests.unit.data.files import aligned, write
from tests.unit.text.sentences import ENGLISH, GERMAN, PAIRS


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=61, is_joint=False), ("de",))


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusConfig:
    return aligned(tmp_path, "\n".join(ENGLISH), "\n".join(GERMAN), language="de")


def build(corpus: CorpusConfig, vocabularies: Vocabularies, folder: Path, **changes: Any) -> PairStore:
    return build_store([corpus], vocabularies, DataConfig(train=(corpus,), **changes), folder / "store")


def test_rows_come_back_in_any_order(tmp_path: Path) -> None:
    rows = [[7, 11], [], [65535], [1, 2, 3, 5]]
    writer = RaggedWriter(tmp_path, "x", "uint16")
    writer.append(rows[:1])
    writer.append([])
    writer.append(rows[1:])
    writer.close()
    ragged = open_ragged(tmp_path, "x", "uint16")
    assert len(ragged) == 4
    assert ragged.lengths.tolist() == [2, 0, 1, 4]
    assert ragged.offsets.dtype == np.int64
    assert ragged.rows([3])[0].tolist() == [1, 2, 3, 5]
    assert [row.tolist() for row in ragged.rows(np.array([3, 0, 1, 3]))] == [rows[3], rows[0], [], rows[3]]
    values, lengths = ragged.gather([3, 1, 0])
    assert (values.tolist(), lengths.tolist()) == ([1, 2, 3, 5, 7, 11], [4, 0, 2])
    assert ragged.gather([])[0].tolist() == []
    assert values.dtype == np.uint16


def test_rows_are_views_that_cannot_be_written(tmp_path: Path) -> None:
    writer = RaggedWriter(tmp_path, "x", "uint8")
    writer.append_texts(["añb", ""])
    writer.close()
    ragged = open_ragged(tmp_path, "x", "uint8")
    assert ragged.rows([0])[0].tobytes().decode() == "añb"
    with pytest.raises(ValueError, match="read-only"):
        ragged.rows([0])[0][0] = 1


def test_a_store_without_rows_can_be_opened(tmp_path: Path) -> None:
    RaggedWriter(tmp_path, "x", "uint32").close()
    ragged = open_ragged(tmp_path, "x", "uint32")
    assert (len(ragged), ragged.rows([])) == (0, [])


def test_both_sides_are_the_ids_of_the_tokenisers_with_their_end(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    store = build(corpus, vocabularies, tmp_path)
    sources = vocabularies.source.encode([f">>de<< {text}" for text in ENGLISH])
    targets = vocabularies.target.encode(GERMAN)
    assert [row.tolist() for row in store.source.rows(range(len(store)))] == [[*ids, 2] for ids in sources]
    assert [row.tolist() for row in store.target.rows(range(len(store)))] == [[*ids, 2] for ids in targets]
    assert store.source.values.dtype == np.uint16
    assert store.message == "store: 48 pairs, converted to tokens."
    assert store.reports[0].num_kept == 48


def test_pairs_with_too_many_tokens_are_skipped_and_counted(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    complete = build(corpus, vocabularies, tmp_path)
    fits = (complete.source.lengths <= 11) & (complete.target.lengths <= 11)
    assert 0 < fits.sum() < 48
    store = build(corpus, vocabularies, tmp_path, max_tokens=11)
    assert len(store) == fits.sum() == store.reports[0].num_kept
    assert store.reports[0].num_dropped == {"over max_tokens": 48 - fits.sum()}
    assert store.reports[0].examples == {"over max_tokens": f"{corpus.source}:{int(np.argmin(fits)) + 1}"}
    assert store.source.lengths.tolist() == complete.source.lengths[fits].tolist()
    assert store.message.endswith("converted to tokens again, because the data or the settings changed.")
    with pytest.raises(
        DataError,
        match=r"no pair remains\. Every pair that was not dropped before has a side of more than data\.max_tokens = 2 tokens\. Raise it\.",
    ):
        build(corpus, vocabularies, tmp_path, max_tokens=2)


def test_each_pair_knows_its_corpus(corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path) -> None:
    other = CorpusConfig(tsv=write(tmp_path / "a.tsv", "the cat\tdie Katze\nthe dog\tder Hund\n"))
    data = DataConfig(train=(corpus, other))
    store = build_store(data.train, vocabularies, data, tmp_path / "store")
    assert store.corpus.tolist() == [0] * 48 + [1] * 2
    assert [report.num_kept for report in store.reports] == [48, 2]


def test_texts_are_stored_if_tokenisations_are_sampled_or_on_request(corpus: CorpusConfig, tmp_path: Path) -> None:
    sampled = train_vocabularies(PAIRS, TextConfig(vocabulary=61, sampling=0.1), ("de",))
    store = build(corpus, sampled, tmp_path)
    assert store.texts("source", [5, 2]) == [f">>de<< {ENGLISH[5]}", f">>de<< {ENGLISH[2]}"]
    assert store.texts("target", np.array([47])) == [GERMAN[47]]
    plain = train_vocabularies(PAIRS, TextConfig(vocabulary=61), ("de",))
    store = build(corpus, plain, tmp_path)
    with pytest.raises(DataError, match=r"store contains no texts\. Build it with use='valid'\.$"):
        store.texts("source", [0])
    data = DataConfig(train=(corpus,))
    assert build_store([corpus], plain, data, tmp_path / "store", use="valid").texts("target", [0]) == GERMAN[:1]


def test_training_data_has_bytes_and_validation_data_has_none(corpus: CorpusConfig, tmp_path: Path) -> None:
    text = TextConfig(vocabulary=331, byte_fallback=True, byte_share=0.5)
    vocabularies = train_vocabularies(PAIRS, text, ("de",))
    data, byte_ids = DataConfig(train=(corpus,)), vocabularies.source.byte_ids
    train, valid = (build_store([corpus], vocabularies, data, tmp_path / use, use=use) for use in get_args(Use))
    for trained, validated in ((train.source, valid.source), (train.target, valid.target)):
        assert np.isin(trained.values, byte_ids).any()
        assert not np.isin(validated.values, byte_ids).any()
    other = vocabularies.source.config.model_copy(update={"byte_share": 0.0})
    vocabularies.source.config = other
    rebuilt = build_store([corpus], vocabularies, data, tmp_path / "train")
    assert rebuilt.source.values.tolist() == valid.source.values.tolist()


def test_a_store_for_training_has_the_statistics_of_its_plain_source(corpus: CorpusConfig, tmp_path: Path) -> None:
    text = TextConfig(vocabulary=331, byte_fallback=True, byte_share=0.5)
    vocabularies = train_vocabularies(PAIRS, text, ("de",))
    store = build(corpus, vocabularies, tmp_path)
    sources = [f">>de<< {source}" for source in ENGLISH]
    assert store.statistics == measure_text(sources, vocabularies.source, "en")
    assert open_store(tmp_path / "store").statistics == store.statistics
    data = DataConfig(train=(corpus,))
    assert build_store([corpus], vocabularies, data, tmp_path / "valid", use="valid").statistics is None


def test_the_scripts_of_each_target_language_are_measured(tmp_path: Path) -> None:
    text = TextConfig(vocabulary=331, byte_fallback=True)
    vocabularies = train_vocabularies([*PAIRS, ("cat", "बिल्ली")], text, ("de", "hi"))
    corpora = []
    for language, targets in (("de", GERMAN), ("hi", ["बिल्ली"] * len(GERMAN))):
        folder = tmp_path / language
        folder.mkdir()
        corpora.append(aligned(folder, "\n".join(ENGLISH), "\n".join(targets), language=language))
    data = DataConfig(train=tuple(corpora))
    store = build_store(corpora, vocabularies, data, tmp_path / "store")
    assert store.statistics is not None
    assert store.statistics.scripts == {"de": ["LATIN"], "hi": ["DEVANAGARI"]}
    again = build_store(corpora, vocabularies, data, tmp_path / "store")
    assert "unchanged" in again.message
    assert again.statistics == store.statistics


def test_bytes_never_make_a_pair_too_long(corpus: CorpusConfig, tmp_path: Path) -> None:
    text = TextConfig(vocabulary=331, byte_fallback=True, byte_share=0.5)
    vocabularies = train_vocabularies(PAIRS, text, ("de",))
    longest = max(len(ids) for ids in vocabularies.source.encode([*ENGLISH, *GERMAN])) + 2  # a tag and eos
    store = build(corpus, vocabularies, tmp_path, max_tokens=longest)
    assert len(store) == len(PAIRS)
    assert np.isin(store.source.values, vocabularies.source.byte_ids).any()
    assert max(store.source.lengths.max(), store.target.lengths.max()) <= longest


def test_a_store_knows_the_share_of_unknown_characters(corpus: CorpusConfig, tmp_path: Path) -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=61), ("de",))
    store = build(corpus, vocabularies, tmp_path)
    assert store.coverage is not None
    assert (store.coverage.unknown, store.coverage.spelled) == (0, 0)
    other = CorpusConfig(tsv=write(tmp_path / "a.tsv", "7 cats\tKatzen\n"))
    store = build_store([other], vocabularies, DataConfig(train=(other,)), tmp_path / "other")
    assert store.coverage is not None
    assert (store.coverage.total, store.coverage.unknown) == (11, 1)
    assert open_store(tmp_path / "other").coverage == store.coverage


def test_an_unchanged_store_is_reused_and_a_changed_one_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    build(corpus, vocabularies, tmp_path)
    before = (tmp_path / "store" / "source.values").stat().st_ino
    heavier = corpus.model_copy(update={"weight": 3.0})  # how often it is read does not change its content
    assert build(heavier, vocabularies, tmp_path).message == "store: 48 pairs, unchanged."
    moved = Path(str(corpus.source)).rename(tmp_path / "moved.en")
    same = corpus.model_copy(update={"source": str(moved)})
    assert build(same, vocabularies, tmp_path).message.endswith("unchanged.")
    assert (tmp_path / "store" / "source.values").stat().st_ino == before
    moved.write_text("\n".join(["the cat", *ENGLISH[1:]]))
    changed = build(same, vocabularies, tmp_path)
    assert changed.message.endswith("converted to tokens again, because the data or the settings changed.")
    assert changed.source.rows([0])[0].tolist() == [*vocabularies.source.encode([">>de<< the cat"])[0], 2]
    assert build(same, vocabularies, tmp_path, deduplicate=True).message.endswith("settings changed.")
    other = train_vocabularies(PAIRS, TextConfig(kind="char", is_joint=False), ("de",))
    assert build(same, other, tmp_path, deduplicate=True).message.endswith("settings changed.")


def test_an_open_store_can_be_read_while_it_is_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    old = build(corpus, vocabularies, tmp_path)
    expected = [row.tolist() for row in old.source.rows(range(48))]
    build(corpus, vocabularies, tmp_path, max_pairs=3)
    assert [row.tolist() for row in old.source.rows(range(48))] == expected


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_build_that_is_stopped_leaves_nothing_or_the_old_store(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Any
) -> None:
    def stop(*_: object) -> None:
        raise wrong

    files = set(tmp_path.iterdir())
    expected = DataError if isinstance(wrong, OSError) else KeyboardInterrupt
    with monkeypatch.context() as patched:
        patched.setattr(RaggedWriter, "append", stop)
        with pytest.raises(expected):
            build(corpus, vocabularies, tmp_path)
    assert set(tmp_path.iterdir()) == files
    build(corpus, vocabularies, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(RaggedWriter, "append", stop)
        with pytest.raises(expected):
            build(corpus, vocabularies, tmp_path, max_pairs=5)
    assert len(open_store(tmp_path / "store")) == 48
    assert set(tmp_path.iterdir()) == {*files, tmp_path / "store"}


def test_old_files_of_killed_builds_are_removed(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    dead, alive = tmp_path / ".store.dead.part", tmp_path / ".store.alive.part"
    for part in (dead, alive):
        part.mkdir()
        (part / "source.values").write_bytes(b"x")
    os.utime(dead / "source.values", (time.time() - 7200,) * 2)
    build(corpus, vocabularies, tmp_path)
    assert not dead.exists()
    assert alive.exists()


@pytest.mark.parametrize("name", ["store.json", "source.values", "target.offsets", "corpus.values"])
def test_a_store_with_a_missing_file_is_not_a_store(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, name: str
) -> None:
    build(corpus, vocabularies, tmp_path)
    (tmp_path / "store" / name).unlink()
    with pytest.raises(DataError, match=rf"store is not a token store|{name} does not exist"):
        open_store(tmp_path / "store")
    (tmp_path / "store" / MANIFEST).unlink()
    with pytest.raises(DataError, match=r"store is (not a token store|damaged)"):
        open_store(tmp_path / "store")


@pytest.mark.parametrize("name", ["source.values", "target.offsets", "corpus.values"])
def test_a_truncated_store_is_rejected_and_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, name: str
) -> None:
    complete = build(corpus, vocabularies, tmp_path)
    path = tmp_path / "store" / name
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(DataError, match=rf"{name} has changed since it was written.* it will be created again\.$"):
        open_store(tmp_path / "store")
    (tmp_path / "store" / MANIFEST).unlink()
    with pytest.raises(
        DataError,
        match=r"(is truncated\. Delete the folder|its sides differ in length\. Delete it); it will be created again\.$",
    ):
        open_store(tmp_path / "store")
    again = build(corpus, vocabularies, tmp_path)
    assert again.message == "store: 48 pairs, converted to tokens again, because the token store was damaged."
    assert again.fingerprint == complete.fingerprint


def change_numbers(path: Path, dtype: str, place: int, value: int) -> None:
    numbers = np.fromfile(path, dtype)
    numbers[place] = value
    numbers.tofile(path)


NUMBERS = {
    "an id beyond the vocabulary": ("source.values", "uint16", 5, 61, "source has ids that are not in the vocabulary"),
    "the largest id": ("target.values", "uint16", -1, 65535, "target has ids that are not in the vocabulary"),
    "an empty sentence": (
        "target.offsets",
        "int64",
        1,
        0,
        "target has ids that are not in the vocabulary, or sentences",
    ),
    "falling offsets": ("source.offsets", "int64", 7, 2, "the offsets of source do not rise from 0 to its end"),
    "a negative offset": ("target.offsets", "int64", 3, -5, "the offsets of target do not rise from 0 to its end"),
    "an offset beyond the end": ("target.offsets", "int64", 3, 10**12, "the offsets of target do not rise"),
    "another start": ("source.offsets", "int64", 0, 3, "the offsets of source do not rise from 0 to its end"),
    "an unknown corpus": ("corpus.values", "uint16", 3, 9, "its pairs do not match store.json"),
}


@pytest.mark.parametrize("damage", NUMBERS)
def test_a_store_with_impossible_numbers_is_recognised_and_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, damage: str
) -> None:
    build(corpus, vocabularies, tmp_path)
    (tmp_path / "store" / MANIFEST).unlink()
    name, dtype, place, value, message = NUMBERS[damage]
    path = tmp_path / "store" / name
    before = path.read_bytes()
    change_numbers(path, dtype, place, value)
    recipe = store_module._StoreRecipe((corpus,), vocabularies, DataConfig(train=(corpus,)), "translate", False)
    with pytest.raises(DataError, match=message):
        store_module._check_ids(open_store(tmp_path / "store"), recipe)
    again = build(corpus, vocabularies, tmp_path)
    assert again.message == "store: 48 pairs, converted to tokens again, because the token store was damaged."
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"pairs": None},
        {"pairs": -1},
        {"arrays": None},
        {"arrays": {"source": "uint16"}},
        {"arrays": {"source": "O", "target": "uint16"}},
        {"arrays": {"source": "uint16", "target": "uint16", "../../etc/passwd": "uint8"}},
        {"fingerprint": 5},
        {"reports": []},
        {"reports": [{"corpus": "x"}]},
        {"format": 2},
    ],
)
def test_a_damaged_index_is_recognised_and_the_store_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, changes: dict[str, Any]
) -> None:
    build(corpus, vocabularies, tmp_path)
    path = tmp_path / "store/store.json"
    before = path.read_bytes()
    path.write_text(json.dumps({**json.loads(before), **changes}))
    with pytest.raises(DataError, match=r"store is not a token store, or is incomplete\. Build it again\.$"):
        open_store(tmp_path / "store")
    again = build(corpus, vocabularies, tmp_path)
    assert again.message == "store: 48 pairs, converted to tokens again, because the token store was damaged."
    assert path.read_bytes() == before


def test_stored_texts_that_are_not_utf8_are_reported(corpus: CorpusConfig, tmp_path: Path) -> None:
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=61, sampling=0.2), ("de",))
    store = build(corpus, vocabularies, tmp_path)
    change_numbers(tmp_path / "store/source_texts.values", "uint8", 3, 255)
    with pytest.raises(DataError, match=r"store is damaged: source_texts is not UTF-8 .* Delete the folder"):
        store.texts("source", [0])


@pytest.mark.parametrize("name", ["store.json", "source.values", "source.offsets", "target.values", "corpus.values"])
def test_one_changed_bit_in_a_store_is_noticed_and_the_store_is_rebuilt(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, name: str
) -> None:
    ids = build(corpus, vocabularies, tmp_path).source.values.tolist()
    path = tmp_path / "store" / name
    content = bytearray(path.read_bytes())
    content[content.index(b"4") if name == "store.json" else len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"store/{name} has changed since it was written"):
        open_store(tmp_path / "store")
    again = build(corpus, vocabularies, tmp_path)
    assert "because the" in again.message
    assert again.source.values.tolist() == ids


def test_a_store_without_hashes_is_opened_with_a_note(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    build(corpus, vocabularies, tmp_path)
    (tmp_path / "store" / MANIFEST).unlink()
    again = build(corpus, vocabularies, tmp_path)
    assert again.message.startswith("store: 48 pairs, unchanged.")
    assert "store has no SHA256SUMS, so its files were not verified." in again.message


def test_a_folder_with_other_files_is_not_overwritten(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.tex").write_text("years of work")
    with pytest.raises(
        DataError, match=r"store exists already and is not a token store\. Nothing was changed: move it away"
    ):
        build(corpus, vocabularies, tmp_path)
    assert (tmp_path / "store" / "thesis.tex").read_text() == "years of work"


def test_a_fault_in_the_corpus_leaves_no_store(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    with Path(str(corpus.target)).open("ab") as file:
        file.write(b"\nmore")
    with pytest.raises(DataError, match="48 lines, but"):
        build(corpus, vocabularies, tmp_path)
    assert not (tmp_path / "store").exists()


def test_a_large_vocabulary_is_stored_with_larger_integers(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabularies.target, "size", 2**16 + 1)
    store = build(corpus, vocabularies, tmp_path)
    assert (store.source.values.dtype, store.target.values.dtype) == (np.uint16, np.uint32)


def test_labels_are_numbers_and_an_unknown_one_is_reported(tmp_path: Path) -> None:
    pairs = [(text, "cat" if "cat" in text else "other") for text in ENGLISH]
    learned = train_vocabularies(pairs, TextConfig(vocabulary=61), task="classify")
    corpus = aligned(tmp_path, "\n".join(ENGLISH), "\n".join(label for _, label in pairs))
    data = DataConfig(train=(corpus,))
    store = build_store([corpus], learned, data, tmp_path / "store", task="classify")
    assert [learned.labels[row[0]] for row in store.target.rows(range(48))] == [label for _, label in pairs]
    assert set(store.target.lengths) == {1}
    wrong = CorpusConfig(tsv=write(tmp_path / "a.tsv", "the cat\tcat\nthe dog\tothr\n"))
    with pytest.raises(DataError) as caught:
        build_store([wrong], learned, data, tmp_path / "valid", task="classify")
    assert str(caught.value) == (
        f"{tmp_path}/a.tsv:2: 'othr' is not a label of this model. Did you mean 'other'? Labels: cat, other."
    )
    files = aligned(tmp_path, "the cat\nthe dog", "cat\nothr")
    with pytest.raises(DataError) as caught:
        build_store([files], learned, data, tmp_path / "valid", task="classify")
    assert str(caught.value).startswith(f"{files.target}:2: 'othr' is not a label")


def test_an_unknown_tag_in_the_text_is_reported_with_its_line(vocabularies: Vocabularies, tmp_path: Path) -> None:
    corpus = CorpusConfig(tsv=write(tmp_path / "a.tsv", "the cat\tdie Katze\n>>dr<< the dog\tder Hund\n"))
    with pytest.raises(DataError) as caught:
        build(corpus, vocabularies, tmp_path)
    assert str(caught.value) == f"{tmp_path}/a.tsv:2: >>dr<< is not a language of this vocabulary. It has >>de<<."


def test_a_language_model_has_no_source(tmp_path: Path) -> None:
    learned = train_vocabularies([("", text) for text in GERMAN], TextConfig(vocabulary=61), task="language-model")
    corpus = CorpusConfig(source=write(tmp_path / "a.txt", "\n".join(GERMAN)))
    store = build_store([corpus], learned, DataConfig(train=(corpus,)), tmp_path / "store", task="language-model")
    assert set(store.source.lengths) == {0}
    assert learned.target.decode(store.target.rows(range(48))) == GERMAN


def test_the_index_contains_the_report_as_plain_json(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    store = build(corpus, vocabularies, tmp_path)
    index = json.loads((tmp_path / "store" / "store.json").read_text())
    assert index["pairs"] == 48
    assert index["reports"] == [TypeAdapter(CleaningReport).dump_python(store.reports[0], by_alias=True)]


def test_memory_does_not_grow_with_the_corpus(
    vocabularies: Vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_BLOCK", 256)  # pairs
    monkeypatch.setattr(lines_module, "_BLOCK", 2**14)  # bytes
    peaks = []
    for times in (50, 500):
        folder = tmp_path / str(times)
        folder.mkdir()
        corpus = aligned(folder, "\n".join(ENGLISH * times), "\n".join(GERMAN * times))
        tracemalloc.start()
        assert len(build(corpus, vocabularies, folder)) == 48 * times
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0], peaks


def test_gathering_is_the_same_as_taking_row_by_row() -> None:
    random = np.random.default_rng(7)
    lengths = random.integers(0, 13, 101)
    ragged = Ragged(random.integers(0, 1000, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)]))
    wanted = random.integers(0, 101, 211)
    values, row_lengths = ragged.gather(wanted)
    assert np.array_equal(values, np.concatenate([ragged.rows([i])[0] for i in wanted]))
    assert np.array_equal(row_lengths, lengths[wanted])


def test_a_store_that_cannot_be_created_is_reported(
    corpus: CorpusConfig, vocabularies: Vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(DataError, match=r"store could not be written: .*Input/output error.*Choose a writable folder"):
        build(corpus, vocabularies, tmp_path / "store")
