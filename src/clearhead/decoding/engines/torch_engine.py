"""The PyTorch engine, on a CPU or a GPU: it supports every search and option."""

from collections.abc import Sequence
from copy import copy

import torch

from clearhead.decoding.alignment import CrossAttention, cross_attention
from clearhead.decoding.engines.engine import (
    DeviceName,
    EngineNeeds,
    Precision,
    Request,
    batches_by_length,
    not_finite,
    search_in_batches,
)
from clearhead.decoding.engines.packing import packed
from clearhead.decoding.search.beam import SearchObserver, search_with
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import hidden_logits
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_search import can_choose, static_search
from clearhead.decoding.search.static_step import StaticStepPool, StepShape, can_record, shape_bytes
from clearhead.decoding.search.stepper import Stepper
from clearhead.errors import ConfigError
from clearhead.formats import model_folder
from clearhead.formats.model_folder import ModelFolder
from clearhead.model import ModelConfig, SequenceModel
from clearhead.model.batch import padded
from clearhead.model.device import choose_device
from clearhead.model.gates import NO_GATES, Gates, check_gates
from clearhead.model.modes import evaluation_mode
from clearhead.model.probe import Probe
from clearhead.model.probed import ProbedModel

_MAX_ROWS = 1024  # sentences in a batch on a GPU; more are not faster
_SHARE = 8  # a step takes at most 1/8 of the free memory, before its sizes are rounded up
_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class _RequestObserver(SearchObserver):
    """Stops the searches of requests that are no longer wanted."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests

    def is_wanted(self, number: int) -> bool:
        return self._requests[number].is_wanted()


class TorchEngine:
    """A model in eval mode."""

    name = "torch"

    def __init__(self, model: SequenceModel) -> None:
        if not model.can_translate:
            missing, verb = ("decoder", "classify") if model.can_classify else ("encoder", "generate")
            raise ConfigError(
                f"a model of shape {model.config.shape} cannot translate: it has no {missing}. Use one of shape "
                f"encoder-decoder, or run clearhead {verb}."
            )
        self.model = model.eval()
        self._fast = packed(model)
        self._gates: Gates = NO_GATES
        self._step_pool = StaticStepPool(self._fast) if can_record(self._fast) else None
        self._divisor = 1  # of the batch size, doubled each time that memory runs out
        self.described = f"torch, {model.device.type}, {str(model.dtype).removeprefix('torch.')}"

    def gated(self, gates: Gates) -> "TorchEngine":
        """Return an engine with gates, (H,) for each place, on the heads of the model, which is shared, not changed."""
        check_gates(gates, self.model.config)
        engine = copy(self)
        engine._gates = gates.changed(lambda gate: gate.to(self.model.device))
        probe = Probe(gates=engine._gates)
        engine.model, engine._fast = (ProbedModel(model, probe) for model in (self.model, self._fast))
        return engine

    @property
    def config(self) -> ModelConfig:
        """The config of the model."""
        return self.model.config

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return None: this engine supports everything."""
        return None

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first. If memory runs out, batches are halved from then on."""
        with evaluation_mode(self._fast), torch.inference_mode():
            batch_tokens = max(1, settings.tokens_on(self.model.device.type) // self._divisor)
            batches = batches_by_length(requests, batch_tokens, self._max_rows(requests, settings))
            return search_in_batches(
                requests, batches, lambda batch: self._search(batch, settings), self._make_batches_smaller
            )

    def _make_batches_smaller(self) -> None:
        self._divisor *= 2
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    def cross_attention(self, source: Sequence[int], target: Sequence[int]) -> CrossAttention:
        """Return the attention of a translation over a sentence that includes eos."""
        with torch.inference_mode():
            ids = torch.tensor(source, device=self.model.device)
            return cross_attention(self.model, ids, [target])[0]

    def _max_rows(self, requests: Sequence[Request], settings: SearchSettings) -> int | None:
        """Return the most sentences in a batch that fit in the free memory of a GPU; None (no limit) on a CPU."""
        if self._step_pool is None or not requests:
            return None
        longest, limit = max(len(request.ids) for request in requests), max(request.limit for request in requests)
        row_bytes = shape_bytes(StepShape(1, settings.beam, longest, limit), self.model)
        return max(1, min(_MAX_ROWS, torch.cuda.mem_get_info()[0] // (_SHARE * row_bytes)))

    def _search(self, batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        model = self._fast
        source = padded([request.ids for request in batch], model.config.pad, model.device)
        limits = [request.limit for request in batch]
        constraints = [request.constraints for request in batch]
        hidden = hidden_logits(constraints, model.config.target_size, source.device)
        if settings.is_sampling:
            numbers = [request.number for request in batch]
            return sample(Stepper(model, source, hidden), source, limits, settings, constraints, numbers)
        observer = _RequestObserver(batch)
        if self._step_pool is None:
            return search_with(Stepper(model, source, hidden), source, limits, settings, constraints, observer)
        if can_choose(settings, constraints, model.config):
            with self._step_pool.step(source, settings.beam, max(limits), self._gates, hidden) as step:
                return static_search(step, source, limits, settings, observer.is_wanted)
        with self._step_pool.stepper(source, settings.beam, max(limits), self._gates, hidden) as stepper:
            return search_with(stepper, source, limits, settings, constraints, observer)


def open_torch(model: ModelFolder, device: DeviceName = "auto", precision: Precision = "auto") -> TorchEngine:
    """Load a translation model, and check that it computes finite numbers."""
    loaded = load_model(model, device, precision)
    if loaded.can_translate:
        ids = torch.tensor([[loaded.config.eos]], device=loaded.device)
        with evaluation_mode(loaded), torch.inference_mode():
            logits = loaded.decode(loaded.shifted(ids), loaded.encode(ids))
        if not torch.isfinite(logits).all():
            raise not_finite(model.folder, str(loaded.dtype).removeprefix("torch."))
    return TorchEngine(loaded)


def load_model(model: ModelFolder, device: DeviceName = "auto", precision: Precision = "auto") -> SequenceModel:
    """Load a model of any shape; `auto` is bfloat16 on a GPU if there is one, else float32 on the CPU."""
    chosen = choose_device(device)
    if precision == "int8":
        raise ConfigError("int8 is only supported by the engine ctranslate2. Use that engine, or float32.")
    dtype = _TYPES.get(precision, torch.bfloat16 if chosen.type == "cuda" else torch.float32)
    return model_folder.load_model(model, chosen, dtype)
