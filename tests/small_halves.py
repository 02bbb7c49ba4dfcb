"""Run folders with a random classifier or language model: small, fast, and always the same."""

from pathlib import Path
from typing import Any

import torch

from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig
from clearhead.model.base import SequenceModel
from clearhead.model.build import build_model
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies

LINES = [
    "the red cat sees a small book",
    "where is the old house",
    "a dog, a bird and 17 fish",
    "good morning my friend",
]
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "transformer": {},
    "convolutional": {"architecture": "convolutional"},
    "recurrent": {"architecture": "recurrent"},
}
LABELS = ("negative", "neutral", "positive")


def small_vocabularies(labels: tuple[str, ...] = ()) -> Vocabularies:
    """Return a vocabulary of the words of LINES."""
    vocabularies = train_vocabularies([(line, line) for line in LINES], TextConfig(kind="word", vocabulary=61))
    return Vocabularies(vocabularies.source, vocabularies.target, labels=labels)


def small_model(vocabularies: Vocabularies, **changes: Any) -> SequenceModel:
    """Return a random model of a vocabulary, a classifier if it has labels, otherwise a language model."""
    torch.manual_seed(3)
    tokeniser = vocabularies.target
    is_classifier = bool(vocabularies.labels)
    shape = {"shape": "encoder", "num_classes": len(vocabularies.labels)} if is_classifier else {"shape": "decoder"}
    sizes = {"encoder_blocks": 1, "decoder_blocks": 2, "d_model": 14, "max_length": 23, "tied": "none"}
    heads = {} if "architecture" in changes else {"num_heads": 2, "d_ff": 17}
    special = {"pad": tokeniser.pad, "bos": tokeniser.bos, "eos": tokeniser.eos, "unk": tokeniser.unk}
    size = {"source_vocabulary": tokeniser.size}
    model = build_model(ModelConfig.model_validate({**size, **sizes, **heads, **special, **shape, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return model.eval()


def make_classifier_run(folder: Path, **changes: Any) -> Path:
    """Write a run folder with a random classifier of three labels; return it."""
    vocabularies = small_vocabularies(LABELS)
    vocabularies.save(folder)
    save_checkpoint(small_model(vocabularies, **changes), folder / "best")
    return folder


def make_writer_run(folder: Path, **changes: Any) -> Path:
    """Write a run folder with a random language model; return it."""
    vocabularies = small_vocabularies()
    vocabularies.save(folder)
    save_checkpoint(small_model(vocabularies, **changes), folder / "best")
    return folder
