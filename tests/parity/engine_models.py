"""Random models of every supported kind, and requests to them, with which engines are compared."""

from copy import deepcopy
from functools import cache
from typing import Any

import torch

from clearhead.decoding.engines.engine import Request
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model import Transformer
from tests.unit.decoding.toys import random_model

KINDS: dict[str, dict[str, Any]] = {
    "pre-norm, pairs, untied": {},
    "post-norm, blocks, tied": {"norm_place": "post", "sinusoids": "blocks", "tied": "three"},
    "pre-norm, blocks, two tied": {"sinusoids": "blocks", "tied": "two", "target_vocabulary": 37},
    "post-norm, pairs, untied": {"norm_place": "post"},
    "as MarianMT": {
        "norm_place": "post", "sinusoids": "blocks", "tied": "three", "has_output_bias": True, "start": "pad",
        "pad": 29, "eos": 0, "activation": "silu", "max_length": 61,
    },
    "a last norm after post-norm": {"norm_place": "post", "has_last_norm": True, "activation": "gelu"},
    "no last norm after pre-norm": {"has_last_norm": False, "has_output_bias": True},
    "learned positions, no biases": {"positions": "learned", "has_bias": False},
    "RMS norm, gated": {"encoder_norm": "rms", "decoder_norm": "rms", "is_gated": True, "activation": "silu", "has_output_bias": True},
    "embeddings not scaled, few blocks": {"scale_embedding": False, "encoder_blocks": 1, "decoder_blocks": 3},
    "coarse epsilon, starts from eos": {"epsilon": 1e-2, "start": "eos"},
}  # fmt: skip


def toy(**changes: Any) -> Transformer:
    """Return a new copy of the model with these changes, which is searched for only once."""
    return deepcopy(_toy(tuple(sorted(changes.items()))))


@cache
def _toy(changes: tuple[tuple[str, Any], ...]) -> Transformer:
    """Return a random model in float32 that would hardly ever write padding or bos, with some translations that end and some that reach the limit."""
    for likely in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 8.0, 10.0):
        model = random_model(spread=0.3, **{"max_length": 61, **dict(changes)}).float()
        with torch.no_grad():
            prefer_the_end(model, likely)
        outcomes = TorchEngine(model).translate(requests(model), SearchSettings(beam=4, n_best=4, stopping="first"))
        ended = [hypothesis.has_ended for hypotheses in outcomes for hypothesis in hypotheses]
        if 4 < sum(ended) < 24 and len({hypothesis.tokens for hypotheses in outcomes for hypothesis in hypotheses}) > 9:
            return model
    raise AssertionError("no model like that")


def prefer_the_end(model: Transformer, likely: float) -> None:
    """Make padding and bos so unlikely that their probability makes no difference, and eos likely."""
    never, eos, decoder = list(model.config.never_written), model.config.eos, model.decoder
    assert decoder is not None
    if model.output.bias is not None:
        model.output.bias[never] = -50
        model.output.bias[eos] += likely
        return
    norm = decoder.last_norm or model.decoder_blocks[-1].residuals[-1].norm
    norm.gain[0], norm.shift[0] = 0, 1  # the first number of every state is 1
    model.output.weight[never] = 0
    model.output.weight[never, 0] = -50
    model.output.weight[eos, 0] = likely


def requests(model: Transformer, seed: int = 3) -> list[Request]:
    random = torch.Generator().manual_seed(seed)
    config = model.config
    low, high = 3, min(config.source_vocabulary, 29)
    rows = [torch.randint(low, high, (length,), generator=random).tolist() for length in (1, 11, 2, 7, 7, 5, 3)]
    return [Request((*row, config.eos), 2 * len(row) + 3, number=n) for n, row in enumerate(rows)]
