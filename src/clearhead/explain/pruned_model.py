"""Prune the model in a folder: read the text to measure it on, remove heads, and write the smaller model."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from clearhead.data.config import CorpusConfig
from clearhead.data.corpora import read_texts as read_corpora
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError, DataError, printable
from clearhead.explain.checks import check_new_folder, check_pruning
from clearhead.explain.head_selection import read_texts, with_tags
from clearhead.explain.pruning import (
    Part,
    Progress,
    PruningReport,
    PruningRow,
    PruningText,
    heads_in,
    measure,
    prune_in_steps,
    step_counts,
)
from clearhead.explain.token_pairs import encode_pairs
from clearhead.files.json_file import json_writer
from clearhead.files.writing import move_folder, temporary_beside
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.formats.head_removal import without_heads
from clearhead.formats.marian import tokenizer_copies
from clearhead.formats.model_folder import ModelFolder, find_model, load_model, load_vocabularies
from clearhead.model import Transformer
from clearhead.model.device import choose_device
from clearhead.model.heads import find_heads
from clearhead.model.transformer import require_transformer
from clearhead.text.tokeniser import FOLDER
from clearhead.training.config import RunConfig, check_run_config
from clearhead.training.launch import launch
from clearhead.training.outcome import Outcome
from clearhead.training.run import CONFIG, RunFolder

REPORT = "pruning.json"


@dataclass(frozen=True)
class PruneRequest:
    """What to remove: heads by name, or the least important until the share `keep` of a part is left."""

    keep: float = 1.0
    part: Part = "all"
    heads: tuple[str, ...] = ()
    num_steps: int = 8
    search: SearchSettings | None = SearchSettings()  # None: no BLEU
    num_lines: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ConfigError(
                f"{self.keep:g} is not a share of heads to keep. Give a number above 0 and at most 1, such as 0.5 for "
                "half.",
                options=("keep",),
            )


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model in float32 with its folder, and the text to measure it on."""

    folder: ModelFolder
    model: Transformer
    text: PruningText
    dtype: torch.dtype  # of its file


def open_for_pruning(
    path: str | Path, files: Sequence[str], request: PruneRequest, device: str = "auto"
) -> OpenedModel:
    """Load a translation model and its text: two files, or without files the validation text of its run."""
    check_pruning(path, files, request.heads, None)
    folder = find_model(path)
    vocabularies = load_vocabularies(folder)
    texts = (read_texts(*files) if files else _validation_text(folder))[: request.num_lines]
    if not texts:
        raise DataError("there are no sentences to measure the model on. Give files with at least one line.")
    texts = with_tags(texts, folder.language, vocabularies)
    model = require_transformer(load_model(folder, choose_device(device)).eval(), "pruning")
    dtype = model.dtype
    pairs = encode_pairs(model.float(), vocabularies, texts)
    return OpenedModel(folder, model, PruningText(vocabularies, texts, pairs, request.search), dtype)


def _validation_text(folder: ModelFolder) -> list[tuple[str, str]]:
    config = run_config(folder)
    valid = None if config is None else config.data.valid
    if config is None or valid is None:
        raise ConfigError(
            f"{printable(str(folder.vocabularies))} has no config.yaml that names a validation text, so there are no "
            "sentences to measure the model on. Give two files: sentences, one per line, and their translations."
        )
    corpus = CorpusConfig.model_validate({"split": "valid", **valid.model_dump(exclude_none=True)})
    data = config.data.model_copy(update={"deduplicate": False, "max_pairs": config.validation.max_sentences})
    return list(read_corpora([corpus if valid.built_in else valid], data))


def run_config(folder: ModelFolder) -> RunConfig | None:
    """Return the config of the run that a model belongs to, or None if it belongs to none."""
    return RunFolder(folder.vocabularies).read_config() if (folder.vocabularies / CONFIG).is_file() else None


def prune(
    opened: OpenedModel,
    output: str | Path,
    request: PruneRequest,
    progress: Progress = lambda row: None,
) -> PruningReport:
    """Remove heads from a model, write the smaller model to a new folder, and return its measurements."""
    target = Path(output)
    check_new_folder(target)
    rows: list[PruningRow] = []
    smaller = opened.model
    for smaller, row in _steps(opened, request):  # noqa: B007  # the last model is written
        rows.append(row)
        progress(row)
    report = PruningReport(tuple(rows), smaller.config.heads_kept, are_named=bool(request.heads))
    write_pruned(smaller.to(opened.dtype), target, opened.folder, report)
    return report


def _steps(opened: OpenedModel, request: PruneRequest) -> Iterator[tuple[Transformer, PruningRow]]:
    """Yield the model itself, then ever smaller ones, with their measurements."""
    model, text = opened.model, opened.text
    if not request.heads:
        num_heads = len(heads_in(model.config, request.part))
        counts = step_counts(num_heads, max(1, round(num_heads * request.keep)), request.num_steps)
        yield from prune_in_steps(model, text, counts, request.part)
        return
    for changed in (model, without_heads(model, find_heads(request.heads, model.config))):
        yield changed, measure(changed, text)


def write_pruned(model: Transformer, target: Path, origin: ModelFolder, report: PruningReport) -> None:
    """Write a model with the vocabularies of its origin and the report; the folder appears when it is complete."""
    part = temporary_beside(target)
    try:
        save_checkpoint(model, part, {REPORT: json_writer(report.to_dict()), **tokenizer_copies(origin.folder)})
        if (origin.vocabularies / FOLDER).is_dir():
            shutil.copytree(origin.vocabularies / FOLDER, part / FOLDER)
        move_folder(part, target)
    except OSError as wrong:
        raise CheckpointError(
            f"{printable(str(target))} cannot be written: {wrong.strerror}. Choose another folder.", options=("output",)
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


# Training after pruning


def check_fine_tuning(folder: ModelFolder) -> RunConfig:
    """Return the config of the run of a model, which has the text to train on."""
    config = run_config(folder)
    if config is None:
        raise ConfigError(
            f"{printable(str(folder.folder))} does not belong to a run, so there is no text to train it on. Train the "
            "pruned model with a config of your own and training.init_from.",
            options=("fine_tune",),
        )
    return config


def fine_tune(config: RunConfig, pruned: str | Path, run: str | Path, num_updates: int) -> Outcome:
    """Train a pruned model on the text of a run, in a new run folder, with the settings of `training.init_from`."""
    data = config.model_dump(mode="json")
    dropouts = [name for name in data["model"] if name.endswith("dropout")]
    data |= {"run": str(run), "model": {name: data["model"][name] for name in dropouts}}
    data["text"]["tokeniser"] = None
    data["training"] |= {
        "init_from": str(pruned), "steps": num_updates, "epochs": None, "minutes": None, "rate": None, "warm_up": None,
    }  # fmt: skip
    data["validation"]["every"] = min(data["validation"]["every"], max(1, num_updates // 4))
    data["validation"]["after"] = 0
    checked, mistakes = check_run_config(data)
    if checked is None or mistakes:
        raise ConfigError(mistakes)
    return launch(checked, run)
