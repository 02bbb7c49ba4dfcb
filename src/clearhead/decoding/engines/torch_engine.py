"""The engine that can do everything: the model itself, in PyTorch, on a CPU or a GPU."""

from collections.abc import Sequence

import torch

from clearhead.decoding.engines.engine import (
    DeviceName,
    ModelFolder,
    ModelInfo,
    Precision,
    Request,
    batches_by_length,
)
from clearhead.decoding.engines.packing import packed
from clearhead.decoding.search.beam import beam_search, search_with
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_search import can_choose, static_search
from clearhead.decoding.search.static_step import StaticStepPool, StepShape, can_record, shape_bytes
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
        self._step_pool = StaticStepPool(self._fast) if can_record(model) else None
        weight = model.output.weight
        self.described = f"torch, {weight.device.type}, {str(weight.dtype).removeprefix('torch.')}"

    @property
    def info(self) -> ModelInfo:
        """What has to be known of the model."""
        return info_of(self.model.config)

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
        if self._step_pool is None or not requests:
            return None
        longest, limit = max(len(each.ids) for each in requests), max(each.limit for each in requests)
        one = shape_bytes(StepShape(1, settings.beam, longest, limit), self.model)
        return max(1, min(_MAX_ROWS, torch.cuda.mem_get_info()[0] // (_SHARE * one)))

    def _search(self, batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        model = self._fast
        source = padded([each.ids for each in batch], model.config.pad, model.output.weight.device)
        limits = [each.limit for each in batch]
        constraints = [each.constraints for each in batch]
        if settings.is_sampling:
            return sample(model, source, limits, settings, constraints, [each.number for each in batch])
        if self._step_pool is None or settings.coverage_penalty:
            return beam_search(model, source, limits, settings, constraints)
        if can_choose(settings, constraints, model.config):
            with self._step_pool.step(source, settings.beam, max(limits)) as step:
                return static_search(step, source, limits, settings)
        with self._step_pool.stepper(source, settings.beam, max(limits)) as stepper:
            return search_with(stepper, source, limits, settings, constraints)


def info_of(config: ModelConfig) -> ModelInfo:
    """Return what has to be known of a model to feed it."""
    return ModelInfo(config.pad, config.eos, config.position_limit)


def open_torch(place: ModelFolder, device: DeviceName = "auto", precision: Precision = "auto") -> TorchEngine:
    """Load a model that translates."""
    model = load_model(place, device, precision)
    if model.config.shape != "encoder-decoder":
        raise ConfigError(
            f"a model of shape {model.config.shape} cannot translate: it has no "
            f"{'decoder' if model.config.shape == 'encoder' else 'encoder'}. Use one of shape encoder-decoder."
        )
    return TorchEngine(model)


def load_model(place: ModelFolder, device: DeviceName = "auto", precision: Precision = "auto") -> Transformer:
    """Load a model of any shape; auto is a GPU in bfloat16 if there is one, else the CPU in float32."""
    where = choose_device(device)
    if precision == "int8":
        raise ConfigError("int8 is a precision of the engine ctranslate2. Choose that one, or float32.")
    dtype = _TYPES.get(precision, torch.bfloat16 if where.type == "cuda" else torch.float32)
    load = from_marian if place.is_marian else load_checkpoint
    return load(place.folder, where, dtype)
