"""Small random models of every shape, with vocabularies, to be explained."""

from pathlib import Path
from typing import Any

import torch

from clearhead.decoding.translator import Translator
from clearhead.explain.opening import LoadedModel
from clearhead.model import ModelConfig, Transformer
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Vocabularies
from clearhead.text.train import train_vocabularies
from tests.small_run import TEXTS, make_run

SENTENCE = "the red cat sees a small book."


def tagged_translator(folder: Path) -> Translator:
    """Return a translator into German or Bengali, selected by a tag: 1 encoder layer, 2 decoder layers, 2 heads."""
    return Translator.load(make_run(folder, ("de", "bn")), engine="torch")


def single_stack(shape: str, **changes: Any) -> LoadedModel:
    """Return a language model (decoder) or a classifier (encoder) of 3 layers and 2 heads."""
    text = TextConfig(kind="unigram", vocabulary=151, coverage=1.0)
    vocabularies = train_vocabularies(TEXTS, text)
    torch.manual_seed(7)
    options: dict[str, Any] = {
        "shape": shape,
        "source_vocabulary": vocabularies.source.size,
        "encoder_blocks": 3,
        "decoder_blocks": 3,
        "d_model": 20,
        "num_heads": 2,
        "d_ff": 29,
        "max_length": 37,
        "num_classes": 3 if shape == "encoder" else None,
        "tied": "none",
        "pad": vocabularies.target.pad,
        "bos": vocabularies.target.bos,
        "eos": vocabularies.target.eos,
        **changes,
    }
    model = Transformer(ModelConfig(**options))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    labels = ("bad", "good", "so-so") if shape == "encoder" else ()
    own = Vocabularies(vocabularies.source, vocabularies.target, labels=labels)
    return LoadedModel(model.eval(), own, "random")
