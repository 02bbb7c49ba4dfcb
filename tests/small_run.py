"""A run folder with a random model in it: it writes nonsense, but always the same, and it is fast."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig, build_model
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies

TEXTS = [
    ("the red cat sees a small book.", "die rote Katze sieht ein kleines Buch."),
    ("where is the old house?", "wo ist das alte Haus?"),
    ("a dog, a bird and 17 fish", "ein Hund, ein Vogel und 17 Fische"),
    ("नमस्ते दुनिया। यह घर है।", "নমস্কার পৃথিবী। এটা ঘর।"),
    ("مرحبا بالعالم", "שלום עולם"),
    ("good morning 😀 my friend!", "guten Morgen 😀 mein Freund!"),
]


def make_run(
    folder: Path,
    languages: Sequence[str] = (),
    *,
    spread: float = 0.5,
    max_length: int = 37,
    seed: int = 11,
    **changes: Any,
) -> Path:
    """Write a run folder (best/ and tokeniser/) with a random model, a Transformer if nothing else is given; return it."""
    config = TextConfig(kind="unigram", vocabulary=151, coverage=1.0)
    pairs = [(f">>{language}<< {source}", target) for language in languages or [""] for source, target in TEXTS]
    vocabularies = train_vocabularies(pairs if languages else TEXTS, config, languages)
    size = vocabularies.source.size
    torch.manual_seed(seed)
    tokeniser = vocabularies.target
    special = {"pad": tokeniser.pad, "bos": tokeniser.bos, "eos": tokeniser.eos}
    sizes = {"encoder_blocks": 1, "decoder_blocks": 2, "d_model": 20, "max_length": max_length, "tied": "none"}
    heads = {} if "architecture" in changes else {"num_heads": 2, "d_ff": 29}
    options = {"source_vocabulary": size, **sizes, **heads, **special, **changes}
    model = build_model(ModelConfig.model_validate(options))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += spread * torch.randn_like(parameter)
    vocabularies.save(folder)
    save_checkpoint(model, folder / "best")
    return folder
