"""The CTranslate2 engine: the same model, converted once, running in C++ without torch.

Its search equals ours with stopping 'first' and gives the same scores, which count eos as a token. Where its results
would differ (renormalised probabilities after hiding tokens, forced tokens without a cost), torch is used instead. One
small difference remains: padding, bos and the unknown token are hidden by their bias, so their probability goes to the
other tokens. Pieces of other scripts than that of the target language are hidden in the same way by every engine.
"""

import math
import os
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from clearhead.decoding.engines.engine import (
    DeviceName,
    EngineNeeds,
    Precision,
    Request,
    batches_by_length,
    halves,
    not_finite,
    refuse_search,
    unsupported_use,
)
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError, is_out_of_memory, printable
from clearhead.formats.ctranslate2 import Converted, Storage, converted, model_lacks, read_token_names
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from clearhead.model.config import ModelConfig

LEAST_VERSION = (4, 8)
_STORAGES: dict[Precision, Storage] = {"auto": "float32", "float32": "float32", "int8": "int8", "float16": "float16"}
# CPUs do not compute in float16; there only the stored weights are float16
_TYPES: dict[Storage, Any] = {"float16": {"cpu": "float32", "cuda": "float16"}}
# with a length penalty of exactly 0 CTranslate2 stops by another rule; this value also divides by 1.0
_NO_PENALTY = 1e-30
_MAX_WORKERS = 32
_MANY = 2  # batches for each worker


def lacks(model: ModelFolder, needs: EngineNeeds, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine does not support `needs`, as a clause (`it does not support bfloat16`), or None."""
    if precision not in _STORAGES:
        return f"it does not support {precision}"
    return (
        _search_lacks(needs)
        or _installation_lacks(device)
        or model_lacks(config := load_config(model))
        or _vocabulary_lacks(config.target_size, needs.settings)
    )


def _search_lacks(needs: EngineNeeds) -> str | None:
    settings = needs.settings
    reasons = {
        "it draws different random numbers": settings.is_sampling,
        f"it stops a beam search by the rule 'first', not '{settings.stopping}'": (
            settings.beam > 1 and settings.stopping != "first"
        ),
        "its scores differ with no_repeat": settings.no_repeat is not None,
        "its scores differ with min_length": bool(settings.min_length),
    }
    return unsupported_use(needs.uses) or next((reason for reason, is_so in reasons.items() if is_so), None)


def _installation_lacks(device: DeviceName) -> str | None:
    least = ".".join(map(str, LEAST_VERSION))
    try:
        version = metadata.version("ctranslate2")
    except metadata.PackageNotFoundError:
        return f"ctranslate2 is not installed: pip install 'ctranslate2>={least}'"
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_VERSION:
        return f"ctranslate2 {version} is older than {least}"
    return "it finds no GPU" if device == "cuda" and not sees_gpu(device) else None


def sees_gpu(device: DeviceName) -> bool:
    """Return whether the device can be a GPU and CTranslate2 finds one; torch is the faster engine there."""
    if device == "cpu" or _installation_lacks("cpu") is not None:
        return False
    import ctranslate2

    return bool(ctranslate2.get_cuda_device_count())


def _vocabulary_lacks(num_tokens: int, settings: SearchSettings) -> str | None:
    if 2 * settings.beam < num_tokens:
        return None
    return f"a beam of {settings.beam} needs more than {2 * settings.beam} tokens, but the vocabulary has {num_tokens}"


def open_ctranslate2(
    model: ModelFolder, device: DeviceName = "auto", precision: Precision = "auto", num_threads: int = 0
) -> "CTranslate2Engine":
    """Load a model; the first use converts it and caches the result. 0 threads means one for each core."""
    if precision not in _STORAGES:
        raise ConfigError(f"the engine ctranslate2 does not support {precision}. Use float32, int8 or float16.")
    storage = _STORAGES[precision]
    if model.runtime == "ctranslate2":
        model.verify()  # CTranslate2 can crash on a damaged file
        conversion = Converted(model.folder)
    else:
        conversion = converted(model, storage, lambda: load_arrays(model))
    try:
        engine = CTranslate2Engine(conversion.folder, load_config(model), storage, device, num_threads)
        if not engine.is_finite:
            raise not_finite(model.folder, engine.translator.compute_type)
        return engine
    finally:
        if conversion.is_temporary:
            shutil.rmtree(conversion.folder, ignore_errors=True)


@dataclass(frozen=True)
class _Batch:
    """Requests being translated: their indices, the length limit of the batch, and the pending results."""

    places: Sequence[int]
    limit: int
    has_scores: bool
    results: Sequence[Any]


class CTranslate2Engine:
    """A loaded, converted model.

    On a CPU each core translates separate batches: cores that share a batch wait for each other at every product.
    """

    name = "ctranslate2"

    def __init__(
        self, folder: Path, config: ModelConfig, storage: Storage, device: DeviceName = "cpu", num_threads: int = 0
    ) -> None:
        import ctranslate2

        self.config = config
        is_gpu = sees_gpu(device)
        self._workers = 1 if is_gpu else min(num_threads or _num_cores(), _MAX_WORKERS)
        try:
            self.translator: Any = ctranslate2.Translator(
                str(folder), device, compute_type=_TYPES.get(storage, storage), inter_threads=self._workers,
                intra_threads=1,
            )  # fmt: skip
        except (RuntimeError, ValueError) as wrong:
            raise CheckpointError(
                f"CTranslate2 cannot open {printable(str(folder))} ({printable(str(wrong))}). "
                "Delete that folder: a model is converted again on the next use, and an export is made again."
            ) from None
        self.described = f"ctranslate2, {self.translator.device}, {self.translator.compute_type}"
        names = read_token_names(folder, config)
        self._source_names, self._target_names = names.source, names.target
        self._numbers = {name: number for number, name in enumerate(self._target_names)}

    @property
    def is_finite(self) -> bool:
        """Whether it computes finite numbers, tried with an empty sentence; CTranslate2 would write empty lines."""
        eos = self.config.eos
        return all(math.isfinite(log_prob) for log_prob in self.log_probs([(eos,)], [(eos,)])[0])

    def log_probs(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability of every token of given translations; targets do not include eos, which is added.

        Sources include eos. CTranslate2 does not give logits.
        """
        scored = self.translator.score_batch(
            [[self._source_names[number] for number in ids] for ids in sources],
            [[self._target_names[number] for number in ids] for ids in targets],
        )
        return [list(result.log_probs) for result in scored]

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None."""
        return _search_lacks(needs) or _vocabulary_lacks(self.config.target_size, needs.settings)

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first; raise ConfigError if this engine lacks what they need."""
        refuse_search(self.name, _search_lacks(EngineNeeds(settings)), requests)
        most_hidden = max((len(request.constraints.hidden) for request in requests), default=0)
        refuse_search(self.name, _vocabulary_lacks(self.config.target_size - most_hidden, settings), requests)
        translations: list[list[Hypothesis]] = [[] for _ in requests]
        most = settings.tokens_on(self.translator.device)
        to_do = deque(shared(batches_by_length(requests, most), self._workers))
        at_work: deque[_Batch] = deque()
        while to_do or at_work:
            while to_do and len(at_work) < 2 * self._workers:  # with more batches, Ctrl-C would have to wait for them
                places = [place for place in to_do.popleft() if requests[place].is_wanted()]
                if places:
                    at_work.append(self._begin(places, requests, settings))
            if not at_work:
                break
            to_do += self._end(at_work.popleft(), requests, settings, translations)
        return translations

    def _begin(self, places: Sequence[int], requests: Sequence[Request], settings: SearchSettings) -> _Batch:
        """Start a search with the longest limit in the batch."""
        limit = max(requests[place].limit for place in places)
        hidden = requests[places[0]].constraints.hidden  # the same in the whole batch
        has_scores = settings.beam > 1 or any(requests[place].has_score for place in places)
        results = self.translator.translate_batch(
            [[self._source_names[number] for number in requests[place].ids] for place in places],
            asynchronous=True,
            beam_size=settings.beam,
            num_hypotheses=settings.beam,
            length_penalty=settings.length_penalty or _NO_PENALTY,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            suppress_sequences=[[self._target_names[number]] for number in hidden] or None,
            return_end_token=True,
            return_scores=has_scores,
        )
        return _Batch(places, limit, has_scores, results)

    def _end(
        self,
        batch: _Batch,
        requests: Sequence[Request],
        settings: SearchSettings,
        translations: list[list[Hypothesis]],
    ) -> list[list[int]]:
        """Wait for a batch; return the sentences that reached their own, shorter limit and must be searched again.

        If there was not enough memory for the batch, return its halves. All hypotheses are requested, because the
        longest one shows how long the search of a sentence ran.
        """
        late: dict[int, list[int]] = {}
        for place, waiting in zip(batch.places, batch.results, strict=True):
            try:
                hypotheses = self._hypotheses(waiting.result(), settings, batch.has_scores)
            except (RuntimeError, MemoryError) as wrong:
                if not is_out_of_memory(wrong):
                    raise
                return halves(batch.places, requests)
            limit = requests[place].limit
            if limit < batch.limit and max(len(hypothesis.tokens) for hypothesis in hypotheses) >= limit:
                late.setdefault(limit, []).append(place)
            else:
                translations[place] = hypotheses[: settings.n_best]
        return list(late.values())

    def _hypotheses(self, result: Any, settings: SearchSettings, has_scores: bool) -> list[Hypothesis]:
        alpha, hypotheses = settings.length_penalty, []
        scores = result.scores if has_scores else [math.nan] * len(result.hypotheses)
        for names, score in zip(result.hypotheses, scores, strict=True):
            tokens = tuple(self._numbers[name] for name in names)
            total = score * len(tokens) ** alpha
            own_score = normalised(total, len(tokens), alpha)
            hypotheses.append(Hypothesis(tokens, (), own_score, tokens[-1] == self.config.eos, total))
        return hypotheses


def shared(batches: list[list[int]], workers: int) -> list[list[int]]:
    """Split batches into parts if there are few of them, so that no worker is idle for long.

    Batches are never merged: one long sentence among short ones would pad them all to its length.
    """
    if len(batches) >= _MANY * workers:
        return batches
    parts = workers if len(batches) == 1 else -(-_MANY * workers // max(1, len(batches)))
    divided = []
    for batch in batches:
        size = -(-len(batch) // parts)
        divided += [batch[start : start + size] for start in range(0, len(batch), size)]
    return divided


def _num_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
