"""Checks between the settings of a run and of the files they name. Each error is a sentence with its path."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clearhead.data.config import CorpusConfig
from clearhead.data.corpora import corpus_mistakes
from clearhead.errors import Mistake, did_you_mean, printable
from clearhead.model.architecture import PRESETS, presets_of
from clearhead.model.config import ModelConfig
from clearhead.settings import examine, shown
from clearhead.training.config import RunConfig

SHAPES: Mapping[str, str] = {"translate": "encoder-decoder", "classify": "encoder", "language-model": "decoder"}
_METRICS: Mapping[str, tuple[str, ...]] = {
    "translate": ("loss", "bleu", "chrf", "exact"),
    "classify": ("loss", "accuracy"),
    "language-model": ("loss",),
}
# Settings of the model that follow from the task and the data.
DECIDED: Mapping[str, str] = {
    "shape": "follows from the task",
    "source_vocabulary": "comes from the tokeniser (text.vocabulary)",
    "target_vocabulary": "comes from the tokeniser (text.vocabulary)",
    "num_classes": "comes from the labels in the data",
    "pad": "comes from the tokeniser",
    "bos": "comes from the tokeniser",
    "eos": "comes from the tokeniser",
    "unk": "comes from the tokeniser",
}
_ROOMY = 2**20  # a vocabulary size that contains every token id, until the real one is known


def model_mistakes(config: RunConfig) -> Iterator[Mistake]:
    """Yield the errors in preset and model. The sizes of the vocabularies are not known yet."""
    if config.preset not in PRESETS:
        near = did_you_mean(config.preset, PRESETS)
        yield Mistake(
            ("preset",), f"preset = {shown(config.preset)} is not a preset.{near} Presets: {', '.join(PRESETS)}."
        )
    for name in config.model:
        if name in DECIDED:
            yield Mistake((f"model.{name}",), f"model.{name} {DECIDED[name]}. Remove it.")
    for mistake in examine(ModelConfig, model_settings(config), "model").mistakes:
        if mistake.path != "model" or config.preset in PRESETS:  # an unknown preset has no sizes to check
            yield mistake
    other = {"classify": "decoder", "language-model": "encoder"}.get(config.task)
    for name in config.model:
        if other and isinstance(name, str) and (name.startswith(f"{other}_") or name == f"d_{other}"):
            yield Mistake(
                (f"model.{name}", "task"),
                f"model.{name} is a setting of the {other}, but task = {config.task!r} has none. Remove model.{name}.",
            )


def model_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings of the model, with placeholders for the sizes of vocabularies and classes."""
    chosen = {name: value for name, value in config.model.items() if name not in DECIDED}
    decided = {"shape": SHAPES[config.task], "source_vocabulary": _ROOMY}
    if config.task == "classify":
        decided["num_classes"] = 2
    return {**presets_of(chosen.get("architecture")).get(config.preset, {}), **chosen, **decided}


def setting_mistakes(config: RunConfig) -> Iterator[Mistake]:
    """Yield the errors between settings."""
    if config.data.test is not None and config.task != "translate":
        yield Mistake(
            ("data.test", "task"),
            f"data.test is only for translation, but task = {config.task!r}. Remove data.test.",
        )
    yield from _end_mistakes(config)
    yield from _judging_mistakes(config)
    yield from _text_mistakes(config)
    for path, corpus in _corpora(config):
        yield from corpus_mistakes(corpus, config.task, path)
    yield from _language_mistakes(config)
    yield from _leak_mistakes(config)


def _end_mistakes(config: RunConfig) -> Iterator[Mistake]:
    training = config.training
    if training.steps is None and training.epochs is None:
        yield Mistake(
            ("training.steps", "training.epochs"),
            "training.steps or training.epochs is missing: set one of them to say how long to train.",
        )
    if training.steps is not None and training.epochs is not None:
        yield Mistake(
            ("training.epochs", "training.steps"),
            f"training.steps = {training.steps} and training.epochs = {training.epochs:g} both say how long to train. "
            "Remove one of them.",
        )
    architecture = config.model.get("architecture", "transformer")
    if training.batching == "packed" and architecture in ("recurrent", "convolutional"):
        yield Mistake(
            ("training.batching", "model.architecture"),
            f"training.batching = 'packed' puts several sentences into a row, which a {architecture} model would mix. "
            "Use bucketed, or remove training.batching.",
        )
    if training.final_rate and training.schedule not in ("cosine", "linear"):
        yield Mistake(
            ("training.final_rate", "training.schedule"),
            f"training.final_rate = {training.final_rate:g} is only for the schedules cosine and linear, but "
            f"training.schedule = {training.schedule!r}. Remove training.final_rate.",
        )


def _judging_mistakes(config: RunConfig) -> Iterator[Mistake]:
    validation = config.validation
    if config.data.valid is None:
        for name, value in (
            ("patience", validation.patience), ("metric", validation.metric), ("enough", validation.enough)
        ):  # fmt: skip
            if value is not None:
                yield Mistake(
                    (f"validation.{name}", "data.valid"),
                    f"validation.{name} = {shown(value)} needs a validation set. Set data.valid.",
                )
    if config.metric not in _METRICS[config.task]:
        allowed = ", ".join(_METRICS[config.task])
        yield Mistake(
            ("validation.metric", "task"),
            f"validation.metric = {config.metric!r} is not available for task = {config.task!r}. Choices: {allowed}.",
        )


def _text_mistakes(config: RunConfig) -> Iterator[Mistake]:
    text = config.text
    if text.sampling and text.kind in ("word", "char"):
        yield Mistake(
            ("text.sampling", "text.kind"),
            f"text.sampling = {text.sampling:g} needs subwords, but text.kind = {text.kind!r} can split a word in only "
            "one way. Use unigram or bpe, or remove text.sampling.",
        )
    if config.training.init_from is not None:
        return  # sizes and tying come from the initial weights
    tied = config.model.get("tied", ModelConfig.model_fields["tied"].default)
    if config.task == "translate" and text.tokeniser is None and not text.is_joint and tied == "three":
        yield Mistake(
            ("model.tied", "text.is_joint"),
            "text.is_joint = false creates two vocabularies, but model.tied = 'three' shares one matrix. "
            "Set model.tied: two, or remove text.is_joint.",
        )
    longest = config.model.get("max_length", ModelConfig.model_fields["max_length"].default)
    has_limit = config.model.get("architecture") != "recurrent"
    if has_limit and isinstance(longest, int) and config.data.max_tokens > longest:
        yield Mistake(
            ("data.max_tokens", "model.max_length"),
            f"data.max_tokens = {config.data.max_tokens} is larger than model.max_length = {longest}, the number of "
            "positions that the model has. Lower one or raise the other.",
        )


def _corpora(config: RunConfig) -> Iterator[tuple[str, CorpusConfig]]:
    for index, corpus in enumerate(config.data.train):
        yield f"data.train.{index}", corpus
    if config.data.valid is not None:
        yield "data.valid", config.data.valid
    if config.data.test is not None:
        yield "data.test", config.data.test


def _language_mistakes(config: RunConfig) -> Iterator[Mistake]:
    languages = {corpus.language for corpus in config.data.train} - {None}
    for path, corpus in _corpora(config):
        if corpus.language is not None and config.task != "translate":
            yield Mistake(
                (f"{path}.language", "task"),
                f"{path}.language = {shown(corpus.language)} is the language to translate into, but "
                f"task = {config.task!r} does not translate. Remove {path}.language.",
            )
        elif languages and corpus.language is None:
            yield Mistake(
                (f"{path}.language",),
                f"{path}.language is missing, but other corpora have one ({', '.join(sorted(map(str, languages)))}).",
            )
        elif corpus.language is not None and corpus.language not in languages:
            near = did_you_mean(corpus.language, map(str, languages))
            listed = ", ".join(sorted(map(str, languages)))
            choices = f"Languages: {listed}." if languages else "No corpus of data.train has one."
            yield Mistake(
                (f"{path}.language", "data.train"),
                f"{path}.language = {shown(corpus.language)} is not in the training data.{near} {choices}",
            )


def _leak_mistakes(config: RunConfig) -> Iterator[Mistake]:
    for name, what in {"valid": "Validate", "test": "Test"}.items():
        held_out = getattr(config.data, name)
        for index, corpus in enumerate(config.data.train):
            if held_out is not None and _texts(corpus, "train") == _texts(held_out, name) != (None,) * 5:
                yield Mistake(
                    (f"data.{name}", f"data.train.{index}"),
                    f"data.{name} is the same text as data.train.{index}, so its scores would be meaningless. "
                    f"{what} on sentences that are not used for training.",
                )


def _texts(corpus: CorpusConfig, split: str) -> tuple[str | None, ...]:
    part = (corpus.split or split) if corpus.built_in else None
    return (corpus.source, corpus.tsv, corpus.jsonl, corpus.built_in, part)


def file_mistakes(config: RunConfig) -> Iterator[Mistake]:
    """Yield the named files and folders that do not exist, with the closest name in their folder."""
    for path, corpus in _corpora(config):
        for name in ("source", "target", "tsv", "jsonl"):
            if getattr(corpus, name) is not None:
                yield from _missing(f"{path}.{name}", getattr(corpus, name), may_be_folder=False)
    if config.text.tokeniser is not None:
        yield from _missing("text.tokeniser", config.text.tokeniser, may_be_folder=True)
    if config.training.init_from is not None:
        yield from _missing("training.init_from", config.training.init_from, may_be_folder=True)


def _missing(path: str, name: str, may_be_folder: bool) -> Iterator[Mistake]:
    file = Path(name)
    try:
        if file.is_dir():
            if not may_be_folder:
                yield Mistake((path,), f"{path} = {shown(name)} is a folder. Give a file in it.")
        elif not file.exists():
            yield Mistake((path,), f"{path} = {shown(name)} does not exist.{_nearest(file)}")
    except (OSError, ValueError) as wrong:  # a name that is too long, or contains a NUL
        yield Mistake((path,), f"{path} = {shown(name)} is not a valid file name: {printable(str(wrong))}.")


def _nearest(file: Path) -> str:
    """Return the closest name in the folder, or the part of the path that does not exist, as a sentence."""
    folder = file.parent
    if not folder.is_dir():
        while not folder.parent.is_dir():
            folder = folder.parent
        names = {str(sibling) for sibling in folder.parent.iterdir() if sibling.is_dir()}
        return f" There is no folder {shown(str(folder))}.{did_you_mean(str(folder), names)}"
    return did_you_mean(str(file), [str(sibling) for sibling in folder.iterdir()])
