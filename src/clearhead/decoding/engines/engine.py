"""What turns ids into translations: an engine, behind one protocol, so that torch and CTranslate2 can take turns.

Nothing here imports torch: with an engine that does not need it, a translation starts in a fraction of a second.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings

EngineName = Literal["auto", "torch", "ctranslate2"]
DeviceName = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "float32", "bfloat16", "float16", "int8"]
Use = Literal["prefix", "forbidden", "required", "alignment", "explain", "alternatives", "token_scores"]


@dataclass(frozen=True)
class ModelFolder:
    """Where a model lies: the folder of its weights and config, and the folder of its tokeniser."""

    folder: Path
    vocabularies: Path
    is_marian: bool  # config.json is MarianMT's, not clearhead's


@dataclass(frozen=True)
class ModelInfo:
    """What has to be known of a model to feed it: two ids, and how many tokens it has positions for, if few."""

    pad: int
    eos: int
    max_length: int | None  # of source and target, the end included


@dataclass(frozen=True)
class Request:
    """A sentence to translate: its ids, eos included, and the most tokens that the translation may have, eos included.

    `number` names the sentence: what is drawn at random for it depends on nothing else. A greedy search of which no
    score is needed may leave it out (NaN), which is quicker.
    """

    ids: tuple[int, ...]
    limit: int
    constraints: Constraints = NO_CONSTRAINTS
    number: int = 0
    has_score: bool = True


class Engine(Protocol):
    """A model that is loaded and ready."""

    name: str  # torch or ctranslate2
    described: str  # for a log: engine, device and precision

    @property
    def info(self) -> ModelInfo:
        """What has to be known of the model."""

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first, in the order of the requests.

        Requests come in any order of lengths, and as many as there are: batches of `settings.tokens_on` source
        tokens, padding included, are the engine's own. What an engine lacks is never asked of it.
        """


@dataclass(frozen=True)
class EngineNeeds:
    """What a whole translation will ask of its engine; an engine that lacks any of it is not taken."""

    settings: SearchSettings = SearchSettings()
    uses: Collection[Use] = ()


def length_limit(num_source: int, settings: SearchSettings, info: ModelInfo, *, num_asked: int = 0) -> int:
    """Return how many tokens the translation of so many (both with eos) may have; so many of them are asked for."""
    most = settings.max_length if info.max_length is None else min(settings.max_length, info.max_length)
    return min(most, int(settings.max_ratio * num_source) + settings.max_extra + num_asked)


def batches_by_length(requests: Sequence[Request], batch_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Return the places of requests in batches of about one length, the longest first; at most so many in each.

    So what runs out of memory does so soon.
    """
    made: list[list[int]] = []
    longest = 0
    for place in sorted(range(len(requests)), key=lambda each: -len(requests[each].ids)):
        has_room = made and (max_rows is None or len(made[-1]) < max_rows)
        if has_room and longest * (len(made[-1]) + 1) <= batch_tokens:
            made[-1].append(place)
        else:
            made.append([place])
            longest = len(requests[place].ids)
    return made
