"""Batches from a store: every pair once per epoch or by its weight, and the same again from any place."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from clearhead.data import batches as batches_module
from clearhead.data.batches import NO_LABEL, BatchStream, Position, TokenBatch, make_layout
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.store import PairStore, build_store
from clearhead.text.config import Task, TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from tests.unit.data.files import write

Batching = Literal["packed", "bucketed"]
LAYOUTS = pytest.mark.parametrize("batching", ["packed", "bucketed"])
WORDS = ["one", "two", "three", "five", "seven", "eleven", "thirteen", "seventeen", "nineteen"]


def sentences(number: int, seed: int, most: int = 9) -> list[str]:
    """Return different sentences: each ends with its own number."""
    random = np.random.default_rng(seed)
    return [f"{' '.join(random.choice(WORDS, random.integers(1, most)))} {seed}{at:03}" for at in range(number)]


def made(folder: Path, sizes: list[int], task: Task = "translate", **text: Any) -> tuple[PairStore, Vocabularies]:
    """Return the store and vocabularies of corpora with these numbers of pairs."""
    pairs, corpora = [], []
    languages = text.pop("languages", [None] * len(sizes))
    for number, size in enumerate(sizes):
        sources, targets = sentences(size, 2 * number + 1), sentences(size, 2 * number + 2, 12)
        if task == "classify":
            targets = [("good", "bad", "so-so")[len(target) % 3] for target in targets]
        lines = "".join(f"{a}\t{b}\n" for a, b in zip(sources, targets, strict=True))
        file = write(folder / f"{number}.tsv", lines)
        corpora.append(CorpusConfig(tsv=file, source_field="1", target_field="2", language=languages[number]))
        pairs += list(zip(sources, targets, strict=True))
    config = TextConfig(**{"vocabulary": 120, **text})
    language_names = tuple(dict.fromkeys(language for language in languages if language))
    vocabularies = train_vocabularies(pairs, config, language_names, task=task)
    data = DataConfig(train=tuple(corpora))
    return build_store(corpora, vocabularies, data, folder / "store", task=task), vocabularies


def stream(
    store: PairStore, vocabularies: Vocabularies, batching: Batching = "packed", tokens: int = 97, **options: Any
) -> BatchStream:
    has_labels, most = options.get("has_labels", False), options.pop("max_tokens", None)
    layout = make_layout(store, tokens, batching=batching, has_labels=has_labels, max_tokens=most)
    return BatchStream(store, vocabularies, layout, **options)


def pairs_in(batch: TokenBatch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the ids of the pairs in a batch, read off its rows."""
    pairs = []
    for row in range(batch.shape.rows):
        sides = []
        for ids, of in ((batch.source, batch.source_sentences), (batch.target, batch.target_sentences)):
            numbers = of[row] if of is not None else (ids[row] != 0).astype(np.int64)
            sides.append([tuple(ids[row][numbers == n].tolist()) for n in range(1, int(numbers.max(initial=0)) + 1)])
        pairs += list(zip(*sides, strict=True))
    return pairs


def pairs_of(store: PairStore) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    rows = (side.rows(range(len(store))) for side in (store.source, store.target))
    return [(tuple(source.tolist()), tuple(target.tolist())) for source, target in zip(*rows, strict=True)]


def same(one: TokenBatch, other: TokenBatch) -> bool:
    sides = ("source", "target", "source_sentences", "target_sentences")
    is_same = all(np.array_equal(getattr(one, side), getattr(other, side)) for side in sides)
    return is_same and one.after == other.after and one.shape == other.shape


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[PairStore, Vocabularies]:
    return made(tmp_path_factory.mktemp("plain"), [211])


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[PairStore, Vocabularies]:
    return made(tmp_path_factory.mktemp("sampled"), [211], sampling=0.02)


@pytest.fixture(scope="module")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[PairStore, Vocabularies]:
    options = {"vocabulary": 376, "byte_fallback": True, "byte_share": 0.3, "sampling": 0.02}
    return made(tmp_path_factory.mktemp("spelled"), [211], **options)


@LAYOUTS
@pytest.mark.parametrize("block", [17, 65_536])
def test_every_pair_occurs_once_per_epoch(
    plain: tuple[PairStore, Vocabularies], batching: Batching, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "_BLOCK", block)
    made_by = stream(*plain, batching)
    batches = list(made_by.once())
    assert Counter(pair for batch in batches for pair in pairs_in(batch)) == Counter(pairs_of(plain[0]))
    assert sum(batch.num_pairs for batch in batches) == made_by.pairs_per_epoch == 211
    assert sum(batch.num_target for batch in batches) == plain[0].target.lengths.sum()
    assert sum(batch.num_source for batch in batches) == plain[0].source.lengths.sum()


@LAYOUTS
@pytest.mark.parametrize("kind", ["plain", "sampled", "spelled"])
def test_resuming_from_any_place_gives_the_same_batches(
    request: pytest.FixtureRequest, batching: Batching, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_module, "_BLOCK", 61)
    store, vocabularies = request.getfixturevalue(kind)
    uninterrupted = list(islice(stream(store, vocabularies, batching).batches(), 70))
    assert uninterrupted[-1].after.epoch >= 1, "the test does not reach a second epoch"
    for at in range(0, 60, 7):
        again = islice(stream(store, vocabularies, batching).batches(uninterrupted[at].after), 5)
        assert all(same(one, other) for one, other in zip(again, uninterrupted[at + 1 :], strict=False))


def test_a_seed_determines_the_order_and_each_epoch_has_another_one(plain: tuple[PairStore, Vocabularies]) -> None:
    first, again, other = (list(islice(stream(*plain, seed=seed).batches(), 3)) for seed in (1, 1, 2))
    assert all(same(a, b) for a, b in zip(first, again, strict=True))
    assert not same(first[0], other[0])
    second = next(stream(*plain).batches(Position(1)))
    assert not same(first[0], second)


def test_the_weight_of_a_corpus_is_how_often_an_epoch_reads_it(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [41, 53, 20])
    weighted = stream(store, vocabularies, weights=[2.0, 0.5, 1.25])
    corpus_of = {pair: int(store.corpus[i]) for i, pair in enumerate(pairs_of(store))}
    pair_counts = Counter(pair for batch in weighted.once() for pair in pairs_in(batch))
    counts = Counter[int]()
    for pair, times in pair_counts.items():
        counts[corpus_of[pair]] += times
    assert counts == {0: 82, 1: 26, 2: 25}  # 2 × 41; half of 53, to the nearest even; 20 and a quarter of them
    assert weighted.pairs_per_epoch == 82 + 26 + 25
    assert {times for pair, times in pair_counts.items() if corpus_of[pair] == 0} == {2}
    assert {times for pair, times in pair_counts.items() if corpus_of[pair] == 1} == {1}


def test_half_a_corpus_is_another_half_in_the_next_epoch(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [53])
    half = stream(store, vocabularies, weights=[0.5])
    epochs: list[set[Any]] = [set(), set()]
    for batch in half.batches():
        epoch = batch.after.epoch - (batch.after == Position(batch.after.epoch))
        if epoch > 1:
            break
        epochs[epoch].update(pairs_in(batch))
    assert len(epochs[0]) == len(epochs[1]) == 26
    assert epochs[0] != epochs[1]


def test_a_small_weight_of_a_small_corpus_keeps_one_pair(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [7])
    little = stream(store, vocabularies, weights=[0.001])
    assert little.pairs_per_epoch == 1
    assert [batch.num_pairs for batch in islice(little.batches(), 3)] == [1, 1, 1]


def test_a_corpus_of_one_pair_gives_batches_forever(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [1], vocabulary=40)
    for batching in ("packed", "bucketed"):
        batches = list(islice(stream(store, vocabularies, batching).batches(), 4))  # type: ignore[arg-type]
        assert [pairs_in(batch) for batch in batches] == [pairs_of(store)] * 4
        assert [batch.after for batch in batches] == [Position(epoch) for epoch in (1, 2, 3, 4)]


def test_sampled_tokenisations_differ_in_each_epoch_and_spell_the_same_text(
    sampled: tuple[PairStore, Vocabularies],
) -> None:
    store, vocabularies = sampled
    epochs: list[dict[str, tuple[int, ...]]] = []
    for epoch in range(2):
        ids_by_text: dict[str, tuple[int, ...]] = {}
        for batch in stream(store, vocabularies, max_tokens=61).batches(Position(epoch)):
            for source, _ in pairs_in(batch):
                assert source[-1] == vocabularies.source.eos
                ids_by_text[vocabularies.source.decode([source])[0]] = source
            if batch.after == Position(epoch + 1):
                break
        epochs.append(ids_by_text)
    assert epochs[0].keys() == epochs[1].keys() == set(store.texts("source", range(len(store))))
    num_other = sum(epochs[0][text] != epochs[1][text] for text in epochs[0])
    assert num_other > 150
    assert any(len(ids) > store.source.lengths.max() for ids in epochs[0].values())


def test_other_pairs_have_bytes_in_each_epoch(spelled: tuple[PairStore, Vocabularies]) -> None:
    store, vocabularies = spelled
    byte_ids = set(vocabularies.source.byte_ids)
    epochs = []
    for epoch in range(2):
        with_bytes: set[str] = set()
        for batch in stream(store, vocabularies, max_tokens=61).batches(Position(epoch)):
            for source, _ in pairs_in(batch):
                if byte_ids & set(source):
                    with_bytes.add(vocabularies.source.decode([source])[0])
            if batch.after == Position(epoch + 1):
                break
        epochs.append(with_bytes)
    assert all(25 < len(with_bytes) < 75 for with_bytes in epochs)  # about 0.3 of 211; some have no byte on this side
    assert epochs[0] != epochs[1]


def test_sampled_tokenisations_are_never_longer_than_the_limit(sampled: tuple[PairStore, Vocabularies]) -> None:
    store, vocabularies = sampled
    for most in (int(max(store.source.lengths.max(), store.target.lengths.max())), None):
        for batch in stream(store, vocabularies, max_tokens=most).once():  # more would fit into rows of 64 tokens
            for source, target in pairs_in(batch):
                assert max(len(source), len(target)) <= store.target.lengths.max(), "no table has positions for it"


@LAYOUTS
def test_sampled_tokenisations_fit_into_their_rows(sampled: tuple[PairStore, Vocabularies], batching: Batching) -> None:
    store, vocabularies = sampled
    for batch in stream(store, vocabularies, batching).once():
        batch_pairs = pairs_in(batch)
        assert len(batch_pairs) == batch.num_pairs
        for source, target in batch_pairs:
            assert source.count(vocabularies.source.eos) == target.count(vocabularies.target.eos) == 1
            assert source[-1] == target[-1] == vocabularies.source.eos


def test_a_language_tag_is_the_first_token_of_its_source(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [31, 23], languages=["hi", "de"])
    tags = [vocabularies.source.tag("hi"), vocabularies.source.tag("de")]
    counts = Counter(source[0] for batch in stream(store, vocabularies).once() for source, _ in pairs_in(batch))
    assert counts == {tags[0]: 31, tags[1]: 23}


def test_there_is_one_label_per_row_and_unused_rows_have_none(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [53], task="classify")
    batches = list(stream(store, vocabularies, "bucketed", has_labels=True).once())
    assert all(batch.target.shape == (batch.shape.rows,) for batch in batches)
    assert all((batch.target != NO_LABEL).sum() == batch.num_pairs for batch in batches)
    right = {source: target[0] for source, target in pairs_of(store)}
    labels = {}
    for batch in batches:
        for row, label in zip(batch.source, batch.target, strict=True):
            if label != NO_LABEL:
                labels[tuple(row[row != vocabularies.source.pad].tolist())] = int(label)
    assert labels == right
    assert len(set(right.values())) == 3


def test_a_text_alone_has_no_source(tmp_path: Path) -> None:
    store, vocabularies = made(tmp_path, [53], task="language-model")
    for batching in ("packed", "bucketed"):
        batches = list(stream(store, vocabularies, batching).once())  # type: ignore[arg-type]
        assert all(batch.source.size == 0 for batch in batches)
        assert sum(batch.num_pairs for batch in batches) == 53


def test_the_number_of_batches_of_an_epoch_is_predicted(
    plain: tuple[PairStore, Vocabularies], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by = stream(*plain)
    assert made_by.batches_per_epoch == len(list(made_by.once()))
    monkeypatch.setattr(batches_module, "_BLOCK", 61)
    assert made_by.batches_per_epoch == pytest.approx(len(list(made_by.once())), rel=0.2)


def test_the_reported_padding_is_that_of_the_batches(plain: tuple[PairStore, Vocabularies]) -> None:
    made_by = stream(*plain, "bucketed")
    batches = list(made_by.once())
    num_slots = sum(batch.source.size + batch.target.size for batch in batches)
    num_tokens = sum(batch.num_source + batch.num_target for batch in batches)
    assert made_by.padding == pytest.approx(1 - num_tokens / num_slots)
