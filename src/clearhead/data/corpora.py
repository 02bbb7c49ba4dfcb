"""Open corpora by their config, from files or built in: report or skip invalid lines, filter pairs, tag sources."""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from clearhead.data.clean import EMPTY, CleaningReport, Filter, Tally
from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.errors import ConfigError, DataError, Mistake, printable
from clearhead.files.lines import Fault, Notes, hash_file
from clearhead.files.pair_reader import SentencePair, read_aligned, read_fields
from clearhead.text.config import Task
from clearhead.text.special import language_tag

_MAX_LISTED = 20  # further faults are only counted


class Corpus:
    """The pairs of one corpus. Iterate over it once; its report is complete at the end."""

    def __init__(self, config: CorpusConfig, data: DataConfig, task: Task, pair_filter: Filter) -> None:
        files = file_names(config, task)
        self._config, self._data, self._task, self._filter = config, data, task, pair_filter
        self._tally = Tally(" + ".join(files) or str(config.built_in), (files or [str(config.built_in)])[0])

    @property
    def report(self) -> CleaningReport:
        """The counts of the pairs that were read so far."""
        return self._tally.report()

    def place(self, pair: SentencePair, *, is_target: bool = False) -> str:
        """Return the place of a pair: file:line, in the file of the targets if there is one and `is_target`."""
        if is_target and self._config.target is not None:
            return printable(f"{self._config.target}:{pair.line}")
        return self._tally.place(pair.line)

    def drop(self, pair: SentencePair, reason: str) -> None:
        """Count a pair that the caller drops."""
        self._tally.drop(reason, self.place(pair))

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the kept pairs; at the end raise DataError if there were faults, or if no pair was kept."""
        tally, rejection_reason = self._tally, self._filter.rejection_reason
        tag = f"{language_tag(self._config.language)} " if self._config.language is not None else ""
        limit = self._data.max_pairs
        refused = _RefusedFaults()
        for item in _read(self._config, self._task, tally.notes):
            if not (isinstance(item, Fault) and item.is_fatal):
                if tally.num_read == limit:
                    break
                tally.num_read += 1
            if isinstance(item, Fault):
                if item.is_fatal or self._data.on_fault == "refuse":
                    refused.add(item)
                tally.drop(item.reason, item.place)
                continue
            reason = rejection_reason(item, tag)
            if reason is None:
                yield SentencePair(tag + item.source, item.target, item.line) if tag and item.source else item
                continue
            if reason == EMPTY and self._data.on_empty == "refuse":
                detail = "an empty side. Correct it, or set data.on_empty: skip."
                refused.add(Fault(tally.file, item.line, EMPTY, detail))
            tally.drop(reason, tally.place(item.line))
        refused.raise_if_any()
        if not self.report.num_kept:
            raise DataError(f"{printable(tally.corpus)}: no pair remains. {_why_none(self.report)}")


class _RefusedFaults:
    """The faults that stop a run: the first ones are listed, the others counted."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._number = 0

    def add(self, fault: Fault) -> None:
        self._number += 1
        if fault.is_fatal:  # the most important one comes first
            self._faults.insert(0, fault)
        elif len(self._faults) < _MAX_LISTED:
            self._faults.append(fault)

    def raise_if_any(self) -> None:
        if not self._faults:
            return
        lines = [str(fault) for fault in self._faults]
        if self._number > len(lines):
            lines.append(f"… and {self._number - len(lines):,} more errors.")
        if any(fault.reason != EMPTY and not fault.is_fatal for fault in self._faults):
            lines.append("Correct them, or set data.on_fault: skip to skip such lines.")
        raise DataError("\n".join(lines))


def _why_none(report: CleaningReport) -> str:
    if not report.num_read:
        return "The file is empty."
    return f"{report.num_read:,} pairs were read, and all were dropped: {report.reasons}."


def open_corpus(
    config: CorpusConfig, data: DataConfig, task: Task = "translate", pair_filter: Filter | None = None
) -> Corpus:
    """Open a corpus. Corpora that share a filter also share its memory of duplicates."""
    return Corpus(config, data, task, pair_filter or Filter(data, task))


def read_texts(
    configs: Iterable[CorpusConfig], data: DataConfig, task: Task = "translate"
) -> Iterator[tuple[str, str]]:
    """Yield source and target of every pair of several corpora, to train a tokeniser on."""
    pair_filter = Filter(data, task)
    for config in configs:
        for pair in open_corpus(config, data, task, pair_filter):
            yield pair.source, pair.target


def file_names(config: CorpusConfig, task: Task) -> list[str]:
    """Return the files of a corpus, or raise ConfigError if it is not given in exactly one way."""
    mistakes = list(corpus_mistakes(config, task))
    if mistakes:
        raise ConfigError(mistakes)
    return [name for name in (config.source, config.target, config.tsv, config.jsonl) if name is not None]


def corpus_mistakes(corpus: CorpusConfig, task: Task, path: str = "corpus") -> Iterator[Mistake]:
    """Yield what is wrong with how a corpus is given; `path` is what messages call it."""
    forms = [name for name in ("source", "tsv", "jsonl", "built_in") if getattr(corpus, name) is not None]
    if not forms:
        yield Mistake((path,), f"{path} names no data. Give source and target, or tsv, or jsonl, or built_in.")
    if len(forms) > 1:
        yield Mistake(
            (path,), f"{path} has {' and '.join(forms)}, which are different corpora. Write a separate entry for each."
        )
    if corpus.source is not None and corpus.target is None and task != "language-model":
        what = "labels" if task == "classify" else "translations"
        yield Mistake((f"{path}.target",), f"{path}.target is missing: the file of {what}, line by line.")
    if corpus.target is not None and task == "language-model":
        yield Mistake(
            (f"{path}.target", "task"), f"{path}.target: task = 'language-model' has no target. Remove {path}.target."
        )
    elif corpus.target is not None and corpus.source is None:
        yield Mistake((f"{path}.target", f"{path}.source"), f"{path}.target needs {path}.source. Give both files.")
    if corpus.split is not None and corpus.built_in is None:
        yield Mistake(
            (f"{path}.split", f"{path}.built_in"), f"{path}.split is only for {path}.built_in. Remove {path}.split."
        )
    if corpus.built_in is not None and task == "classify":
        yield Mistake(
            (f"{path}.built_in", "task"),
            f"{path}.built_in = {corpus.built_in!r} has no labels for task = 'classify'. Give files.",
        )
    part = corpus.split or {"data.valid": "valid", "data.test": "test"}.get(path, "train")
    if corpus.built_in == "set-phrases" and part != "train":
        yield Mistake(
            (f"{path}.built_in",),
            f"{path}.built_in = 'set-phrases' has no split {part!r}: all its phrases are for training. "
            "Use a split of the phrasebook instead: built_in: phrasebook.",
        )


def fingerprint(config: CorpusConfig, task: Task = "translate") -> str:
    """Return a hash of everything that decides the pairs of a corpus: the content of its files, not their paths."""
    identity = [
        config.source_field,
        config.target_field,
        config.language or "",
        config.built_in or "",
        config.split or "",
    ]
    names = file_names(config, task)
    identity += [hash_file(name) for name in names] + [form for form in ("tsv", "jsonl") if getattr(config, form)]
    digest = sha256("\0".join(identity).encode())
    if config.built_in is not None:  # another version can have other pairs
        for source, target in _built_in(config):
            digest.update(f"{source}\0{target}\n".encode())
    return digest.hexdigest()


def _read(config: CorpusConfig, task: Task, notes: Notes) -> Iterator[SentencePair | Fault]:
    is_text = task == "language-model"
    fields = [config.source_field] if is_text else [config.source_field, config.target_field]
    if config.tsv is not None:
        return read_fields(config.tsv, "tsv", fields, notes)
    if config.jsonl is not None:
        return read_fields(config.jsonl, "jsonl", fields, notes, has_label=task == "classify")
    if config.source is not None and config.target is not None:
        return read_aligned(config.source, config.target, notes)
    if config.source is not None:
        return read_fields(config.source, "text", fields, notes)
    pairs = enumerate(_built_in(config), 1)
    return (SentencePair("" if is_text else source, target, number) for number, (source, target) in pairs)


def _built_in(config: CorpusConfig) -> Iterator[tuple[str, str]]:
    split = config.split or "train"
    assert config.built_in is not None
    if config.built_in == "phrasebook":
        from clearhead.data import phrasebook

        return phrasebook.pairs(split)
    if config.built_in == "set-phrases":
        from clearhead.data import phrasebook

        return phrasebook.set_phrases(split)
    from clearhead.data import sequences

    return sequences.pairs(config.built_in, split)
