"""The engine that can do everything: the model itself, in PyTorch, on a CPU or a GPU."""

from collections.abc import Sequence

import torch

from clearhead.decoding.beam import beam_search, search_with
from clearhead.decoding.engine import (
    DeviceName,
    ModelFacts,
    ModelPlace,
    Precision,
    Request,
    batches_by_length,
)
from clearhead.decoding.fixed_search import can_choose, fixed_search
from clearhead.decoding.fixed_step import StepShape, StepShelf, can_record, shape_bytes
from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.packing import packed
from clearhead.decoding.sampling import sample
from clearhead.decoding.settings import SearchSettings
from clearhead.decoding.translate import evaluating, padded
from clearhead.errors import ConfigError
from clearhead.formats import from_marian, load_checkpoint
from clearhead.model import ModelConfig, Transformer
from clearhead.model.device import choose_device

_MAX_ROWS = 1024  # sentences in a batch on a GPU: more of them are no quicker
_SHARE = 8  # a step takes at most this part of what is free, before it is rounded up
_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class TorchEngine:
    """A Transformer in eval mode."""

    name = "torch"

    def __init__(self, model: Transformer) -> None:
        self.model = model.eval()
        self._fast = packed(model)
        self._shelf = StepShelf(self._fast) if can_record(model) else None
        weight = model.output.weight
        self.described = f"torch, {weight.device.type}, {str(weight.dtype).removeprefix('torch.')}"

    @property
    def facts(self) -> ModelFacts:
        """What has to be known of the model."""
        return facts_of(self.model.config)

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first."""
        made: list[list[Hypothesis]] = [[] for _ in requests]
        with evaluating(self._fast), torch.inference_mode():
            most = settings.tokens_on(self.model.output.weight.device.type)
            for places in batches_by_length(requests, most, self._max_rows(requests, settings)):
                found = self._search([requests[place] for place in places], settings)
                for place, several in zip(places, found, strict=True):
                    made[place] = several
        return made

    def _max_rows(self, requests: Sequence[Request], settings: SearchSettings) -> int | None:
        """Return how many sentences fit into a part of the memory that a GPU has left; on a CPU any number."""
        if self._shelf is None or not requests:
            return None
        longest, limit = max(len(each.ids) for each in requests), max(each.limit for each in requests)
        one = shape_bytes(StepShape(1, settings.beam, longest, limit), self.model)
        return max(1, min(_MAX_ROWS, torch.cuda.mem_get_info()[0] // (_SHARE * one)))

    def _search(self, batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        model = self._fast
        source = padded([each.ids for each in batch], model.config.pad, model.output.weight.device)
        limits = [each.limit for each in batch]
        wishes = [each.wishes for each in batch]
        if settings.is_sampling:
            return sample(model, source, limits, settings, wishes, [each.number for each in batch])
        if self._shelf is None or settings.coverage_penalty:
            return beam_search(model, source, limits, settings, wishes)
        if can_choose(settings, wishes, model.config):
            with self._shelf.step(source, settings.beam, max(limits)) as step:
                return fixed_search(step, source, limits, settings)
        with self._shelf.stepper(source, settings.beam, max(limits)) as stepper:
            return search_with(stepper, source, limits, settings, wishes)


def facts_of(config: ModelConfig) -> ModelFacts:
    """Return what has to be known of a model to feed it."""
    has_table = config.positions in ("sinusoidal", "learned")
    return ModelFacts(config.pad, config.eos, config.max_length if has_table else None)


def open_torch(place: ModelPlace, device: DeviceName = "auto", precision: Precision = "auto") -> TorchEngine:
    """Load a model that translates."""
    model = load_model(place, device, precision)
    if model.config.shape != "encoder-decoder":
        raise ConfigError(
            f"a model of shape {model.config.shape} cannot translate: it has no "
            f"{'decoder' if model.config.shape == 'encoder' else 'encoder'}. Use one of shape encoder-decoder."
        )
    return TorchEngine(model)


def load_model(place: ModelPlace, device: DeviceName = "auto", precision: Precision = "auto") -> Transformer:
    """Load a model of any shape; auto is a GPU in bfloat16 if there is one, else the CPU in float32."""
    where = choose_device(device)
    if precision == "int8":
        raise ConfigError("int8 is a precision of the engine ctranslate2. Choose that one, or float32.")
    dtype = _TYPES.get(precision, torch.bfloat16 if where.type == "cuda" else torch.float32)
    load = from_marian if place.is_marian else load_checkpoint
    return load(place.folder, where, dtype)
