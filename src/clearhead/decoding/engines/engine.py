"""What turns ids into translations: an engine, behind one protocol, so that torch and CTranslate2 can take turns.

Nothing here imports torch: with an engine that does not need it, a translation starts in a fraction of a second.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings

if TYPE_CHECKING:
    from clearhead.model.config import ModelConfig

EngineName = Literal["auto", "torch", "ctranslate2"]
DeviceName = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "float32", "bfloat16", "float16", "int8"]
Use = Literal["prefix", "forbidden", "required", "alignment", "explain", "alternatives", "token_scores"]


@dataclass(frozen=True)
class ModelInfo:
    """What has to be known of a model to feed it: two ids, and the number of positions that it has, if limited."""

    pad: int
    eos: int
    max_length: int | None  # of source and target, eos included

    @staticmethod
    def of(config: "ModelConfig") -> "ModelInfo":
        """Return what has to be known of a model with this config."""
        return ModelInfo(config.pad, config.eos, config.position_limit)


@dataclass(frozen=True)
class Request:
    """A sentence to translate: its ids, eos included, and the most tokens that the translation may have, eos included.

    `number` names the sentence: what is drawn at random for it depends on nothing else. A greedy search may leave the
    score out (NaN) where `has_score` is False, which is quicker.
    """

    ids: tuple[int, ...]
    limit: int
    constraints: Constraints = NO_CONSTRAINTS
    number: int = 0
    has_score: bool = True


@dataclass(frozen=True)
class EngineNeeds:
    """What a translation needs of its engine; an engine that lacks any of it is not taken."""

    settings: SearchSettings = SearchSettings()
    uses: Collection[Use] = ()


class Engine(Protocol):
    """A model that is loaded and ready."""

    name: str  # torch or ctranslate2
    described: str  # for a log: engine, device and precision

    @property
    def info(self) -> ModelInfo:
        """What has to be known of the model."""

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why this engine cannot do what is needed, as a clause (`its coverage penalty is another`), or None."""

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first, in the order of the requests.

        Requests come in any order of lengths and in any number: the engine itself makes batches of
        `settings.tokens_on` source tokens, padding included.
        """


def length_limit(source_length: int, settings: SearchSettings, info: ModelInfo, *, num_required: int = 0) -> int:
    """Return the most tokens that a translation of `source_length` tokens may have, both with eos.

    `num_required` tokens that constraints demand come on top, so that they are not cut off.
    """
    most = settings.max_length if info.max_length is None else min(settings.max_length, info.max_length)
    return min(most, int(settings.max_ratio * source_length) + settings.max_extra + num_required)


def batches_by_length(requests: Sequence[Request], batch_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Return the indices of requests in batches of about one length, each of at most `max_rows`.

    The longest come first: what runs out of memory does so early.
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(requests)), key=lambda index: -len(requests[index].ids)):
        has_room = batches and (max_rows is None or len(batches[-1]) < max_rows)
        if has_room and longest * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
            longest = len(requests[index].ids)
    return batches
