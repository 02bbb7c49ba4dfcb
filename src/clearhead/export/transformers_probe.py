"""A MarianMT folder run by the library transformers: greedy search with `generate`, logits, and its tokenizer."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clearhead.decoding.engines.engine import EngineNeeds, Request, batches_by_length
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.export.probe import ComparedProgram, Rows
from clearhead.formats.model_folder import ModelFolder, load_config
from clearhead.model.batch import padded
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array

_CPU = torch.device("cpu")


def _transformers() -> Any:
    """Import the library, most of which has no types."""
    return import_module("transformers")


class TransformersEngine:
    """MarianMTModel of the library transformers, in float32 on a CPU."""

    name = "transformers"

    def __init__(self, folder: Path, config: ModelConfig) -> None:
        transformers = _transformers()
        transformers.utils.logging.disable_progress_bar()
        self.config = config
        self.described = f"transformers {metadata.version('transformers')}, cpu, float32"
        self.model: Any = transformers.MarianMTModel.from_pretrained(str(folder), dtype=torch.float32).eval()

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None: here it only searches greedily."""
        is_greedy = needs == EngineNeeds(SearchSettings(), num_characters=needs.num_characters)
        return None if is_greedy else "only greedy search is compared"

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the greedy translation of each request, in the order of the requests."""
        translations: list[list[Hypothesis]] = [[] for _ in requests]
        for indices in batches_by_length(requests, settings.tokens_on("cpu")):
            batch = [requests[index] for index in indices]
            source = padded([request.ids for request in batch], self.config.pad, _CPU)
            with torch.inference_mode():
                outputs = self.model.generate(
                    source,
                    attention_mask=(source != self.config.pad).long(),
                    do_sample=False,
                    num_beams=1,
                    max_length=1 + max(request.limit for request in batch),  # with the start token
                    forced_eos_token_id=None,
                    suppress_tokens=list(batch[0].constraints.hidden) or None,
                )
            for index, row in zip(indices, outputs.tolist(), strict=True):
                translations[index] = [self._hypothesis(row[1:], requests[index].limit)]
        return translations

    def _hypothesis(self, tokens: list[int], limit: int) -> Hypothesis:
        eos = self.config.eos
        end = tokens.index(eos) + 1 if eos in tokens else len(tokens)
        translation = tuple(tokens[: min(end, limit)])
        return Hypothesis(translation, (), float("nan"), has_ended=translation[-1:] == (eos,))


def _marian_logits(engine: TransformersEngine, sources: Rows, targets: Rows) -> Array:
    config = engine.config
    source, target = (padded(rows, config.pad, _CPU) for rows in (sources, targets))
    inputs = torch.cat((torch.full_like(target[:, :1], config.start_id), target[:, :-1]), dim=1)
    with torch.inference_mode():
        mask = (source != config.pad).long()
        logits = engine.model(input_ids=source, attention_mask=mask, decoder_input_ids=inputs).logits
    return np.asarray(logits.float().numpy(), dtype=np.float32)


def transformers_probe(folder: ModelFolder) -> ComparedProgram:
    """Return a MarianMT folder, run by transformers."""
    engine = TransformersEngine(folder.folder, load_config(folder))
    return ComparedProgram(engine, engine.described, partial(_marian_logits, engine))


def marian_tokens(folder: Path, sentences: Sequence[str]) -> list[list[int]]:
    """Return the ids of sentences by the tokenizer of transformers, without eos."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its advice to install sacremoses, which it does not need
        tokenizer = _transformers().MarianTokenizer.from_pretrained(str(folder))
    return [list(tokenizer(sentence, add_special_tokens=False).input_ids) for sentence in sentences]
