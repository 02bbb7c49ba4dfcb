"""Store pairs as ids on disk: built once from corpora and vocabularies, and reused until one of them changes.

A store is built under a temporary name and then renamed, so that an interrupted build leaves no incomplete store.
"""

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, NonNegativeInt

from clearhead.data.clean import TOO_MANY_TOKENS, CleaningReport, Filter, report_table
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import Corpus, fingerprint, open_corpus
from clearhead.data.ragged import Ragged, RaggedWriter, map_numbers, open_ragged
from clearhead.errors import CheckpointError, DataError, printable
from clearhead.files.manifest import unverified_note, verify_if_listed
from clearhead.files.pair_reader import SentencePair
from clearhead.files.writing import flush_to_disk, move_folder, replace_file, temporary_beside, write_manifest
from clearhead.text.byte_spelling import ByteSpelling, MarkedTexts
from clearhead.text.config import Task
from clearhead.text.coverage import Coverage, CoverageCounter
from clearhead.text.scripts import ScriptCounter
from clearhead.text.statistics import TextSample, TextStatistics, measure_text
from clearhead.text.tokeniser import Vocabularies, split_tag

_FORMAT = 1
_INDEX = "store.json"  # written last; a folder without it is not a store
_BLOCK = 4096  # pairs tokenised together
_STALE_AFTER = 3600.0  # seconds without a write after which a part folder belongs to a dead build

Side = Literal["source", "target"]
Use = Literal["train", "valid"]
_Array = Literal["source", "target", "source_texts", "target_texts"]
_Dtype = Literal["uint8", "uint16", "uint32"]


@dataclass(frozen=True)
class PairStore:
    """Pairs of ids, each side with its end token; `corpus` is the index of each pair's corpus."""

    folder: Path
    source: Ragged
    target: Ragged
    corpus: NDArray[np.uint16]
    reports: tuple[CleaningReport, ...]
    fingerprint: str
    source_texts: Ragged | None = None
    target_texts: Ragged | None = None
    message: str = ""  # whether it was built, rebuilt or unchanged
    coverage: Coverage | None = None  # None: written by an earlier version
    statistics: TextStatistics | None = None  # of the source; only for translation, and for training

    def __len__(self) -> int:
        return len(self.corpus)

    def texts(self, side: Side, indices: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """Return the original texts of some pairs, including language tags."""
        texts = self.source_texts if side == "source" else self.target_texts
        if texts is None:
            raise DataError(f"{printable(str(self.folder))} contains no texts. Build it with use='valid'.")
        try:
            return [row.tobytes().decode() for row in texts.rows(indices)]
        except UnicodeDecodeError as wrong:
            raise DataError(
                f"{printable(str(self.folder))} is damaged: {side}_texts is not UTF-8 ({wrong}). Delete the folder; it "
                "will be created again."
            ) from None


def build_store(
    corpora: Sequence[CorpusConfig],
    vocabularies: Vocabularies,
    config: DataConfig,
    folder: str | Path,
    *,
    task: Task = "translate",
    use: Use = "train",
) -> PairStore:
    """Return the store of some corpora: the existing one if nothing changed, otherwise a new one.

    For validation, texts are stored too; for training, only if tokens are sampled in each epoch (text.sampling). Some
    characters of training data are spelled as bytes (text.byte_share).
    """
    place = Path(folder)
    recipe = _StoreRecipe(tuple(corpora), vocabularies, config, task, use)
    store_fingerprint = recipe.fingerprint()
    why = "converted to tokens"
    if (old := _read_index(place)) is not None:
        why = "converted to tokens again, because the data or the settings changed"
        if old.fingerprint == store_fingerprint:
            try:
                store = open_store(place, f"{place.name}: {old.pairs:,} pairs, unchanged.")
                _check_ids(store, recipe)
                return store
            except DataError:
                why = "converted to tokens again, because the token store was damaged"
    elif (place / _INDEX).is_file():
        why = "converted to tokens again, because the token store was damaged"
    _refuse_other_things(place)
    part = temporary_beside(place)
    try:
        _remove_stale(place)
        part.mkdir(parents=True)
        index = _write(recipe, store_fingerprint, part)
        replace_file(part / _INDEX, json.dumps(index.model_dump(mode="json", by_alias=True), indent=1).encode() + b"\n")
        write_manifest(part, sorted(path.name for path in part.iterdir()))
        _move(part, place)
    except OSError as wrong:
        raise DataError(
            f"{printable(str(place))} could not be written: {wrong}. "
            "Choose a writable folder on a disk with enough space."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return open_store(place, f"{place.name}: {index.pairs:,} pairs, {why}.")


def open_store(folder: str | Path, message: str = "") -> PairStore:
    """Open a store that build_store has written."""
    place = Path(folder)
    index = _read_index(place)
    if index is None:
        raise DataError(f"{printable(str(place))} is not a token store, or is incomplete. Build it again.")
    try:
        advice = f"Delete {printable(str(place))}; it will be created again."
        is_verified = verify_if_listed(place, _file_names(index), advice)
        opened = {name: open_ragged(place, name, dtype) for name, dtype in index.arrays.items()}
        corpus = map_numbers(place / "corpus.values", "uint16")
    except CheckpointError as wrong:
        raise DataError(str(wrong)) from None
    except (OSError, ValueError) as wrong:
        raise DataError(f"{printable(str(place))} is damaged ({wrong}). Delete it; it will be created again.") from None
    if {len(array) for array in opened.values()} != {len(corpus)}:
        raise DataError(
            f"{printable(str(place))} is damaged: its sides differ in length. Delete it; it will be created again."
        )
    if len(corpus) != index.pairs or corpus.max(initial=0) >= len(index.reports):
        raise DataError(
            f"{printable(str(place))} is damaged: its pairs do not match {_INDEX}. Delete it; it will be created again."
        )
    return PairStore(
        place, opened["source"], opened["target"], corpus, index.reports, index.fingerprint,
        opened.get("source_texts"), opened.get("target_texts"),
        message if is_verified else f"{message} {unverified_note(place)}".strip(),
        index.coverage, index.statistics,
    )  # fmt: skip


class _Index(BaseModel):
    """The content of store.json."""

    format: Literal[1] = 1
    fingerprint: str
    pairs: NonNegativeInt
    arrays: dict[_Array, _Dtype]
    reports: Annotated[tuple[CleaningReport, ...], Field(min_length=1)]
    coverage: Coverage | None = None
    statistics: TextStatistics | None = None


def _check_ids(store: PairStore, recipe: "_StoreRecipe") -> None:
    """Raise DataError if an id is not in its vocabulary, or a sentence has no tokens."""
    sizes = {"source": recipe.vocabularies.source.size, "target": recipe.vocabularies.target.size}
    if recipe.task == "classify":
        sizes["target"] = len(recipe.vocabularies.labels)
    for side, rows in {"source": store.source, "target": store.target}.items():
        is_unused = recipe.task == "language-model" and side == "source"
        if rows.values.max(initial=0) >= sizes[side] or (not is_unused and rows.has_empty_rows):
            raise DataError(
                f"{printable(str(store.folder))} is damaged: {side} has ids that are not in the vocabulary, or "
                "sentences without tokens. Delete the folder; it will be created again."
            )


def _file_names(index: _Index) -> list[str]:
    arrays = [f"{name}.{part}" for name in index.arrays for part in ("values", "offsets")]
    return [_INDEX, "corpus.values", *arrays]


@dataclass(frozen=True)
class _StoreRecipe:
    """Everything that decides the content of a store."""

    corpora: tuple[CorpusConfig, ...]
    vocabularies: Vocabularies
    config: DataConfig
    task: Task
    use: Use

    @property
    def keeps_texts(self) -> bool:
        return self.use == "valid" or self.vocabularies.source.config.sampling > 0

    @cached_property
    def spelling(self) -> ByteSpelling:
        share = self.vocabularies.source.config.byte_share if self.use == "train" else 0.0
        return byte_spelling(self.vocabularies, self.task, share)

    def fingerprint(self) -> str:
        filters = self.config.model_dump(exclude={"train", "valid", "test"})
        contents = {
            "format": _FORMAT,
            "corpora": [fingerprint(corpus, self.task) for corpus in self.corpora],
            "vocabularies": self.vocabularies.digest,
            "filters": filters,
            "task": self.task,
            "keeps_texts": self.keeps_texts,
        }
        if self.spelling.share:
            contents["byte_share"] = self.spelling.share
        return sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()

    def dtypes(self) -> dict[_Array, _Dtype]:
        sizes: dict[Side, int] = {"source": self.vocabularies.source.size, "target": self.vocabularies.target.size}
        arrays: dict[_Array, _Dtype] = {side: "uint16" if size <= 2**16 else "uint32" for side, size in sizes.items()}
        return {**arrays, "source_texts": "uint8", "target_texts": "uint8"} if self.keeps_texts else arrays

    def rows(self, pairs: Sequence[SentencePair], number: int = 0) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of both sides with end tokens; a label is one number, and a language model has no source.

        `number`, that of the block, is the seed of the characters that are spelled as bytes.
        """
        sides = text_sides(pairs, self.task)
        marked = self.spelling.mark(sides, number)
        encoded = [self._encode(marked, index) for index in range(len(sides))]
        for row in marked.characters:
            if any(len(rows[row]) > self.config.max_tokens for rows in encoded):  # in pieces, it may be short enough
                for rows, side, tokeniser in zip(encoded, sides, self.spelling.tokenisers, strict=True):
                    rows[row] = [*tokeniser.encode([side[row]])[0], tokeniser.eos]
        if self.task == "classify":
            return encoded[0], [[self.vocabularies.label(pair.target)] for pair in pairs]
        return (encoded[0], encoded[1]) if self.task == "translate" else ([[] for _ in pairs], encoded[0])

    @property
    def is_measured(self) -> bool:
        """Whether statistics of the source are stored with it."""
        return self.task == "translate" and self.use == "train"

    def count_scripts(self, counter: ScriptCounter, pairs: Sequence[SentencePair]) -> None:
        """Count the scripts of each target language, if the vocabulary has tags of several."""
        if not self.is_measured or len(self.vocabularies.source.tags) < 2:
            return
        for pair in pairs:
            language, _ = split_tag(pair.source)
            if language is not None:
                counter.add(language, [pair.target])

    def measured(self, texts: Sequence[str], scripts: ScriptCounter) -> TextStatistics | None:
        """Return the statistics of a sample of the source, and the scripts of the target."""
        if not self.is_measured:
            return None
        languages = {
            Path(corpus.source or "").name.removesuffix(".gz").removesuffix(".xz").rpartition(".")[2]
            for corpus in self.corpora
        }
        language = languages.pop() if len(languages) == 1 else ""
        is_code = len(language) == 2 and language.isalpha() and language.islower()
        statistics = measure_text(texts, self.vocabularies.source, language if is_code else None)
        return statistics.model_copy(update={"scripts": scripts.usual or None})

    def _encode(self, marked: MarkedTexts, side: int) -> list[list[int]]:
        tokeniser = self.spelling.tokenisers[side]
        rows = tokeniser.encode(marked.sides[side])
        self.spelling.restore(rows, marked, side)
        for row in rows:
            row.append(tokeniser.eos)
        return rows


def byte_spelling(vocabularies: Vocabularies, task: Task, share: float) -> ByteSpelling:
    """Return how characters of training data are spelled as bytes, for the sides of a task that are text."""
    source, target = vocabularies.source, vocabularies.target
    sides = {"translate": (source, target), "classify": (source,), "language-model": (target,)}
    return ByteSpelling(sides[task], share)


def text_sides(pairs: Sequence[SentencePair], task: Task) -> list[list[str]]:
    """Return the texts of each side that is tokenised: a label is no text, and a language model has no source."""
    sides = [[pair.source for pair in pairs]] if task != "language-model" else []
    return [*sides, [pair.target for pair in pairs]] if task != "classify" else sides


def _write(recipe: _StoreRecipe, store_fingerprint: str, part: Path) -> _Index:
    dtypes = recipe.dtypes()
    writers = {name: RaggedWriter(part, name, dtype) for name, dtype in dtypes.items()}
    pair_filter = Filter(recipe.config, recipe.task)
    counter, sample, scripts = CoverageCounter(recipe.spelling.tokenisers), TextSample(), ScriptCounter()
    reports = []
    try:
        with (part / "corpus.values").open("wb") as numbers:
            for number, config in enumerate(recipe.corpora):
                corpus = open_corpus(config, recipe.config, recipe.task, pair_filter)
                for block in _write_corpus(corpus, recipe, writers, counter):
                    np.full(len(block), number, np.uint16).tofile(numbers)
                    if recipe.is_measured:
                        sample.add(pair.source for pair in block)
                        recipe.count_scripts(scripts, block)
                if not corpus.report.num_kept:
                    raise DataError(_too_long(corpus.report, recipe.config))
                reports.append(corpus.report)
            flush_to_disk(numbers)
    finally:
        for writer in writers.values():
            writer.close()
    return _Index(
        fingerprint=store_fingerprint,
        pairs=sum(report.num_kept for report in reports),
        arrays=dtypes,
        reports=tuple(reports),
        coverage=counter.coverage,
        statistics=recipe.measured(sample.texts, scripts),
    )


def _too_long(report: CleaningReport, config: DataConfig) -> str:
    return (
        f"{printable(report.corpus)}: no pair remains. Every pair that was not dropped before has a side of more than "
        f"data.max_tokens = {config.max_tokens} tokens. Raise it.\n{report_table([report])}"
    )


def _write_corpus(
    corpus: Corpus, recipe: _StoreRecipe, writers: Mapping[_Array, RaggedWriter], counter: CoverageCounter
) -> Iterator[list[SentencePair]]:
    """Write a corpus block by block, and yield the kept pairs of each block."""
    max_tokens = recipe.config.max_tokens
    pairs = iter(corpus)
    for number in count():
        block = list(islice(pairs, _BLOCK))
        if not block:
            return
        try:
            sources, targets = recipe.rows(block, number)
        except DataError:
            raise _located(corpus, recipe, block) from None
        short_enough = [i for i in range(len(block)) if len(sources[i]) <= max_tokens and len(targets[i]) <= max_tokens]
        if len(short_enough) < len(block):
            for i in sorted(set(range(len(block))).difference(short_enough)):
                corpus.drop(block[i], TOO_MANY_TOKENS)
            sources, targets = [sources[i] for i in short_enough], [targets[i] for i in short_enough]
            block = [block[i] for i in short_enough]
        for side, texts in enumerate(text_sides(block, recipe.task)):
            counter.count(texts, targets if recipe.task == "language-model" else (sources, targets)[side], side)
        writers["source"].append(sources)
        writers["target"].append(targets)
        if recipe.keeps_texts:
            writers["source_texts"].append_texts(pair.source for pair in block)
            writers["target_texts"].append_texts(pair.target for pair in block)
        yield block


def _located(corpus: Corpus, recipe: _StoreRecipe, block: Sequence[SentencePair]) -> DataError:
    """Return the error of the first faulty pair in a block, with its file and line."""
    for pair in block:
        try:
            recipe.rows([pair])
        except DataError as wrong:
            is_label = recipe.task == "classify" and pair.target not in recipe.vocabularies.labels
            return DataError(f"{corpus.place(pair, is_target=is_label)}: {wrong}")
    raise AssertionError("a block fails, but none of its pairs")


def _read_index(place: Path) -> _Index | None:
    try:
        index = _Index.model_validate_json((place / _INDEX).read_bytes(), strict=True)
    except (OSError, ValueError):  # pydantic's errors are ValueErrors
        return None
    return index if {"source", "target"} <= index.arrays.keys() else None


def _remove_stale(place: Path) -> None:
    """Remove the folders of killed builds."""
    for other in [*place.parent.glob(f".{place.name}.*.part"), *place.parent.glob(f".{place.name}.*.old")]:
        newest = max((file.stat().st_mtime for file in other.glob("*")), default=other.stat().st_mtime)
        if time.time() - newest > _STALE_AFTER:
            shutil.rmtree(other, ignore_errors=True)


def _refuse_other_things(place: Path) -> None:
    is_free = not place.exists() or (place.is_dir() and ((place / _INDEX).exists() or not any(place.iterdir())))
    if not is_free:
        raise DataError(
            f"{printable(str(place))} exists already and is not a token store. Nothing was changed: "
            "move it away, or choose another folder."
        )


def _move(part: Path, place: Path) -> None:
    if not place.exists():
        move_folder(part, place)
        return
    old = part.with_suffix(".old")
    place.rename(old)
    move_folder(part, place)
    shutil.rmtree(old, ignore_errors=True)
