"""The protocol of an engine, which turns token ids into hypotheses: torch, CTranslate2, NumPy and ONNX implement it.

This module does not import torch, so that translating without it starts in a fraction of a second.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import CheckpointError, ConfigError, DataError, is_out_of_memory, printable

if TYPE_CHECKING:
    from clearhead.model.config import ModelConfig

EngineName = Literal["auto", "torch", "ctranslate2", "numpy"]
DeviceName = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "float32", "bfloat16", "float16", "int8"]
Use = Literal["prefix", "forbidden", "required", "alignment", "explain", "token_scores", "gates"]
_USES: Mapping[Use, str] = {
    "prefix": "a forced prefix",
    "forbidden": "forbidden phrases",
    "required": "required phrases",
    "alignment": "alignments",
    "explain": "explanations",
    "token_scores": "token scores",
    "gates": "gates on attention heads",
}

IsWanted = Callable[[], bool]


def always() -> bool:
    """Return True: a translation that is wanted until the end."""
    return True


@dataclass(frozen=True)
class Request:
    """A sentence to translate: its ids and the maximum length of the translation, both including eos.

    `number` identifies the sentence: its random draws depend only on this and the seed. If `has_score` is False, a
    greedy search can skip the score (NaN), which is faster. Once `is_wanted` returns False the search stops at its next
    step (in CTranslate2, before its next batch), and the hypotheses are those that had ended by then.
    """

    ids: tuple[int, ...]
    limit: int
    constraints: Constraints = NO_CONSTRAINTS
    number: int = 0
    has_score: bool = True
    is_wanted: IsWanted = always


def not_finite(folder: Path, precision: str) -> CheckpointError:
    """Return the error about a model whose probabilities are not numbers, although all its weights are."""
    return CheckpointError(
        f"{printable(str(folder))} cannot be used: its weights overflow in {precision}, so that probabilities are NaN. "
        "Use another checkpoint, or a wider precision.",
        options=("precision",),
    )


@dataclass(frozen=True)
class EngineNeeds:
    """What a translation needs from its engine; an engine that lacks any of it is not used.

    The length of the text decides which engine is the fastest.
    """

    settings: SearchSettings = SearchSettings()
    uses: Collection[Use] = ()
    num_characters: int | None = None  # of the whole text; None: unknown, and perhaps very long


class Engine(Protocol):
    """A loaded model that translates requests."""

    name: str  # torch, ctranslate2 or numpy
    described: str  # engine, device and precision, for logs

    @property
    def config(self) -> "ModelConfig":
        """The config of the model."""

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why this engine does not support `needs`, as a clause (`it does not support alignments`), or None."""

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first, in the order of the requests.

        There can be any number of requests, in any order: the engine makes batches of `settings.tokens_on` source
        tokens, including padding.
        """


def length_limit(
    source_length: int, settings: SearchSettings, config: "ModelConfig", constraints: Constraints = NO_CONSTRAINTS
) -> int:
    """Return the most tokens a translation of `source_length` tokens may have, both counted with eos.

    The tokens that constraints require are added, so that they always fit.
    """
    longest = config.position_limit
    most = settings.max_length if longest is None else min(settings.max_length, longest)
    num_required = len(constraints.prefix) + sum(map(len, constraints.required))
    return min(most, int(settings.max_ratio * source_length) + settings.max_extra + num_required)


def unsupported_use(uses: Collection[Use], supported: Collection[Use] = ()) -> str | None:
    """Return the first of these uses that an engine does not support, as a clause, or None."""
    return next((f"it does not support {_USES[use]}" for use in sorted(uses) if use not in supported), None)


def refuse_search(engine: str, reason: str | None, requests: Sequence[Request]) -> None:
    """Raise ConfigError if there is a reason against a search, or if requests have constraints."""
    if reason is None and any(request.constraints != NO_CONSTRAINTS for request in requests):
        reason = "it does not support constraints"
    if reason is not None:
        raise ConfigError(f"the engine {engine} cannot do this search: {reason}. Load the model with engine='torch'.")


def search_in_batches(
    requests: Sequence[Request],
    batches: Iterable[list[int]],
    search: Callable[[list[Request]], list[list[Hypothesis]]],
    when_memory_runs_out: Callable[[], None] = lambda: None,
) -> list[list[Hypothesis]]:
    """Search batch by batch; a batch for which there is not enough memory is divided."""
    translations: list[list[Hypothesis]] = [[] for _ in requests]
    remaining = deque(batches)
    while remaining:
        indices = remaining.popleft()
        outcomes = None
        try:
            outcomes = search([requests[index] for index in indices])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        if outcomes is None:  # after the error is handled, because its traceback holds the tensors of the batch
            when_memory_runs_out()
            remaining.extendleft(reversed(halves(indices, requests)))
            continue
        for index, hypotheses in zip(indices, outcomes, strict=True):
            translations[index] = hypotheses
    return translations


def halves(indices: Sequence[int], requests: Sequence[Request]) -> list[list[int]]:
    """Return the two halves of a batch for which memory ran out, or raise DataError if it is a single sentence."""
    if len(indices) == 1:
        raise DataError(
            f"a sentence of {len(requests[indices[0]].ids):,} tokens needs more memory than is available. "
            "Use a smaller beam, split long lines into shorter parts, or use a smaller model.",
            options=("beam", "max_source"),
        )
    middle = len(indices) // 2
    return [list(indices[:middle]), list(indices[middle:])]


def batches_by_length(requests: Sequence[Request], batch_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Group the indices of requests into batches of similar lengths, with at most `max_rows` requests each.

    The longest come first, so that running out of memory shows early. All requests of a batch hide the same tokens.
    """
    batches: list[list[int]] = []
    longest = 0
    languages = [id(request.constraints.hidden) for request in requests]  # one object for each language
    order = {language: number for number, language in enumerate(dict.fromkeys(languages))}
    for index in sorted(range(len(requests)), key=lambda index: (order[languages[index]], -len(requests[index].ids))):
        has_room = batches and (max_rows is None or len(batches[-1]) < max_rows)
        is_same = batches and languages[batches[-1][-1]] == languages[index]
        if has_room and is_same and longest * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
            longest = len(requests[index].ids)
    return batches
