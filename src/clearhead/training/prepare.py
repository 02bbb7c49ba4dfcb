"""Preparation of a run before its first update: vocabularies, data on disk, and the initial model."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import torch

from clearhead.data.config import DataConfig
from clearhead.data.corpora import file_names, read_texts
from clearhead.data.store import PairStore, build_store, open_store
from clearhead.errors import CheckpointError, ConfigError, RunError, printable
from clearhead.files.lines import hash_file
from clearhead.formats import load_checkpoint
from clearhead.formats.model_folder import find_model, load_model, run_of
from clearhead.model import ModelConfig, SequenceModel, build_model
from clearhead.model.config import read_config
from clearhead.text.loading import open_vocabularies
from clearhead.text.statistics import STATISTICS
from clearhead.text.tokeniser import FOLDER, Vocabularies
from clearhead.text.train import find_labels, train_vocabularies
from clearhead.training.config import RunConfig
from clearhead.training.config_checks import SHAPES, model_settings
from clearhead.training.plan_rule import fill_defaults
from clearhead.training.progress import Reporter
from clearhead.training.run import STORES, RunFolder
from clearhead.training.state import checkpoints, readable_checkpoints

_MAX_LISTED = 10
_SIZE = 64  # width of a matrix product that makes the device load its library


@dataclass(frozen=True)
class Prepared:
    """The inputs of a run. In its config, all defaults that depend on the text are chosen."""

    config: RunConfig
    vocabularies: Vocabularies
    train: PairStore
    valid: PairStore | None
    model: SequenceModel


def prepare(config: RunConfig, folder: RunFolder, reporter: Reporter, *, is_planned: bool = False) -> Prepared:
    """Read the data, learn or open the vocabularies, and build the model. Existing results in the folder are reused.

    With `is_planned`, a plan has prepared and reported the data in this folder just before; it is not reported again.
    """
    vocabularies = _vocabularies(config, folder, reporter)
    stores = folder.path / STORES
    train = build_store(config.data.train, vocabularies, config.data, stores / "train", task=config.task)
    if not is_planned:
        _report(train, reporter)
    config = fill_defaults(config, train)
    model = make_model(config, vocabularies, folder)
    _check_lengths(config, model.config)
    valid = None
    if config.data.valid is not None:
        corpus, unfiltered = config.data.valid.in_split("valid"), _unfiltered(config, model.config)
        valid = build_store([corpus], vocabularies, unfiltered, stores / "valid", task=config.task, use="valid")
        if not is_planned:
            _report(valid, reporter)
    _check_unchanged(folder, train)
    if train.statistics is not None and not (folder.path / FOLDER / STATISTICS).is_file():
        train.statistics.save(folder.path)
    _note_changed_validation(folder, valid, reporter)
    fingerprints = {"pairs": train.fingerprint, **({} if valid is None else {"valid_pairs": valid.fingerprint})}
    stores_read = [store for store in (train, valid) if store is not None and store.coverage is not None]
    coverage = {store.folder.name: str(store.coverage) for store in stores_read}
    folder.write_data(_records(config, train, valid), {**_described(vocabularies), **fingerprints}, coverage)
    return Prepared(config, vocabularies, train, valid, model)


def reopen_prepared(config: RunConfig, folder: RunFolder) -> Prepared:
    """Open what another process has prepared in a run folder, without writing anything."""
    vocabularies = Vocabularies.load(folder.path)
    stores = folder.path / STORES
    valid = None if config.data.valid is None else open_store(stores / "valid")
    return Prepared(config, vocabularies, open_store(stores / "train"), valid, make_model(config, vocabularies, folder))


def _is_changed(folder: RunFolder, name: str, store: PairStore) -> bool:
    """Whether a run with checkpoints has recorded other data under this name."""
    before = folder.read_data().get("tokeniser", {}).get(name)
    return before not in (None, store.fingerprint) and bool(checkpoints(folder.checkpoints))


def _check_unchanged(folder: RunFolder, train: PairStore) -> None:
    """Refuse to resume a run if its training data has changed."""
    if _is_changed(folder, "pairs", train):
        raise RunError(
            f"the training data has changed since {printable(str(folder.path))} was started, so it cannot be resumed. "
            "Restore the files, or start another run; training.init_from starts it from the weights of this one."
        )


def _note_changed_validation(folder: RunFolder, valid: PairStore | None, reporter: Reporter) -> None:
    """Print a note if a run is resumed with other validation data."""
    if valid is not None and _is_changed(folder, "valid_pairs", valid):
        reporter.message(
            "The validation data has changed since this run was started: its scores before and after are not "
            "comparable, and the best checkpoint is still chosen among all of them."
        )


def _vocabularies(config: RunConfig, folder: RunFolder, reporter: Reporter) -> Vocabularies:
    if (folder.path / FOLDER).is_dir():
        return Vocabularies.load(folder.path)
    languages = list(dict.fromkeys(corpus.language for corpus in config.data.train if corpus.language is not None))
    outside = config.text.tokeniser or config.training.init_from
    if outside is not None:
        vocabularies = open_vocabularies(run_of(Path(outside)), config.text, languages)
        if config.task == "classify":
            vocabularies = replace(vocabularies, labels=_labels(config))
    else:
        texts = read_texts(config.data.train, config.data, config.task)
        return learn_vocabularies(config, texts, folder, reporter, languages)
    vocabularies.save(folder.path)
    return vocabularies


def learn_vocabularies(
    config: RunConfig,
    texts: Iterable[tuple[str, str]],
    folder: RunFolder,
    reporter: Reporter,
    languages: Sequence[str] = (),
) -> Vocabularies:
    """Learn the vocabularies from pairs of texts, and save them in the run folder, where `prepare` uses them."""
    reporter.message(f"Learning the vocabulary ({config.text.kind}) from the training text …")
    vocabularies = train_vocabularies(texts, config.text, languages, config.training.seed, config.task)
    for note in vocabularies.notes:
        reporter.message(note)
    vocabularies.save(folder.path)
    return vocabularies


def _labels(config: RunConfig) -> tuple[str, ...]:
    """Return the labels of the data, in the order of the run in init_from if that has all of them."""
    data_labels = find_labels(read_texts(config.data.train, config.data, config.task))
    if config.training.init_from is None:
        return data_labels
    place = run_of(Path(config.training.init_from))
    run_labels = Vocabularies.load(place).labels if (place / FOLDER).is_dir() else ()
    new = [label for label in data_labels if label not in run_labels]
    if run_labels and new:
        raise ConfigError(
            f"training.init_from: {printable(str(place))} has the labels {_listed(run_labels)}, but the data has "
            f"others: {_listed(new)}. Rename them, or remove init_from."
        )
    return run_labels or data_labels


def _listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name) for name in names[:_MAX_LISTED]) + (" …" if len(names) > _MAX_LISTED else "")


def _check_lengths(config: RunConfig, model: ModelConfig) -> None:
    """Check that the model of init_from has enough positions; a new model was checked with the config."""
    if model.has_position_table and config.data.max_tokens > model.max_length:
        raise ConfigError(
            f"data.max_tokens = {config.data.max_tokens}, but the model has positions for {model.max_length} tokens. "
            f"Set data.max_tokens: {model.max_length}."
        )


def _unfiltered(config: RunConfig, model: ModelConfig) -> DataConfig:
    """Return the settings for validation data: only sentences that the model cannot read are removed."""
    return config.data.model_copy(
        update={
            "max_words": None,
            "max_ratio": None,
            "deduplicate": False,
            "max_tokens": model.max_length,
            "max_pairs": config.validation.max_sentences,
        }
    )


def _report(store: PairStore, reporter: Reporter) -> None:
    reporter.message(store.message)
    for report in store.reports:
        if report.num_dropped:
            reporter.message(f"{report.corpus}: removed from {report.num_read:,} pairs: {report.reasons}.")
        mended = {"byte order mark": report.num_byte_order_marks, "carriage return": report.num_carriage_returns}
        for what, count in mended.items():
            if count:
                reporter.message(f"{report.corpus}: {count:,} {what}{'s' if count > 1 else ''} removed.")
    if store.coverage is not None:
        reporter.message(f"{store.folder.name}: {store.coverage}.")


def _records(config: RunConfig, train: PairStore, valid: PairStore | None) -> list[dict[str, Any]]:
    named = [(f"data.train.{i}", corpus) for i, corpus in enumerate(config.data.train)]
    reports = list(train.reports)
    if valid is not None and config.data.valid is not None:
        named.append(("data.valid", config.data.valid))
        reports += valid.reports
    records = []
    for (path, corpus), report in zip(named, reports, strict=True):
        files = {name: hash_file(name) for name in file_names(corpus, config.task)}
        counts = {"read": report.num_read, "kept": report.num_kept, "left_out": dict(report.num_dropped)}
        records.append({"path": path, "files": files, **counts})
    return records


def _described(vocabularies: Vocabularies) -> dict[str, str | int]:
    return {
        "kind": vocabularies.source.config.kind,
        "source": vocabularies.source.size,
        "target": vocabularies.target.size,
        "digest": vocabularies.digest,
    }


def make_model(config: RunConfig, vocabularies: Vocabularies, folder: RunFolder) -> SequenceModel:
    """Return a new model, or the one in init_from with the dropout of the config.

    For a run with checkpoints only the architecture matters, and the model in init_from may no longer exist.
    """
    source, target = vocabularies.source, vocabularies.target
    if config.training.init_from is not None:
        for place, wrong in readable_checkpoints(folder.checkpoints):
            if not wrong:
                return load_checkpoint(place)
        return _started(Path(config.training.init_from), config, vocabularies)
    decided: dict[str, object] = {
        "source_vocabulary": source.size,
        "pad": target.pad,
        "bos": target.bos,
        "eos": target.eos,
        "unk": target.unk,
    }
    if config.task == "classify":
        decided["num_classes"] = max(2, len(vocabularies.labels))
    if config.task == "translate" and not vocabularies.is_joint:
        decided |= {"target_vocabulary": target.size, "tied": config.model.get("tied", "two")}
    return build_model(read_config({**model_settings(config), **decided}))


_MAY_DIFFER = ("dropout", "attention_dropout", "activation_dropout")


def _started(place: Path, config: RunConfig, vocabularies: Vocabularies) -> SequenceModel:
    """Return the model in init_from. The config must describe the same model, except for its dropout."""
    shown, model = printable(str(place)), open_model(place)
    own = model.config.model_dump(mode="json")
    wrong = [
        f"model.{name} = {value!r}, but {shown} has {getattr(model.config, name)!r}. "
        f"Remove model.{name} from the config."
        for name, value in config.model.items()
        if name not in _MAY_DIFFER and own.get(name, {}) != value
    ]
    if wrong:
        raise ConfigError(wrong)
    if model.config.shape != SHAPES[config.task]:
        raise ConfigError(
            f"training.init_from: {shown} has the shape {model.config.shape}, but task = {config.task!r} needs "
            f"{SHAPES[config.task]}."
        )
    num_classes = model.config.num_classes
    if num_classes is not None and num_classes != max(2, len(vocabularies.labels)):
        raise ConfigError(
            f"training.init_from: {shown} has {num_classes} classes, but the data has {len(vocabularies.labels)}."
        )
    sizes = (model.config.source_vocabulary, model.config.target_size)
    if sizes != (vocabularies.source.size, vocabularies.target.size):
        raise CheckpointError(
            f"{shown} has vocabularies of {sizes[0]:,} and {sizes[1]:,} tokens, but the tokeniser has "
            f"{vocabularies.source.size:,} and {vocabularies.target.size:,}. Use the tokeniser that the model was "
            "trained with: remove text.tokeniser."
        )
    changes = {name: config.model[name] for name in _MAY_DIFFER if name in config.model}
    if not changes:
        return model
    changed = build_model(read_config({**model.config.model_dump(), **changes}))
    changed.load_state_dict(model.state_dict())
    return changed


def open_model(place: Path) -> SequenceModel:
    """Return the model of a run folder (its best), a checkpoint, or an OPUS-MT folder, in float32."""
    return load_model(find_model(place)).float()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Do not search for reference cycles while the body of the `with` statement runs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def warming_up(device: torch.device) -> Iterator[None]:
    """Load the requirements of training on a device while the body of the `with` statement runs."""
    thread = Thread(target=_load, args=(device,), name="warm-up")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(device: torch.device) -> None:
    import torch._dynamo  # torch's optimisers import it

    if device.type == "cuda":
        zeros = torch.zeros(_SIZE, _SIZE, device=device)
        for dtype in (torch.float32, torch.bfloat16):
            zeros.to(dtype) @ zeros.to(dtype)
        torch.cuda.synchronize(device)
