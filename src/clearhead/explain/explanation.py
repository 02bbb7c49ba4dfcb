"""The explanation of one sentence: a value with arrays by layer, head and token, written as JSON or NPZ elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.errors import ConfigError
from clearhead.explain.contributions import Disagreement, Method, disagreement
from clearhead.explain.head_kind import HeadStatistics, sentence_statistics
from clearhead.explain.outputs import ExplainedToken
from clearhead.explain.rollout import Rollout, rollouts
from clearhead.explain.search_tree import SearchTree
from clearhead.explain.token_row import TokenRow
from clearhead.explain.traced_pass import AttentionStack, StackName, TracedPass
from clearhead.model import ModelConfig
from clearhead.worksheet.arrays import Array

_LAYERS = {
    "recurrent": "a layer of a recurrent model reads one token after the other",
    "convolutional": "a layer of a convolutional model mixes each token with its neighbours",
}


@dataclass(frozen=True)
class ExplainOptions:
    """How much is explained.

    `hypothesis` selects another translation than the best (0); `prefix` is a beginning that the model continues; `sums`
    names the heads whose queries, keys and values are written as JSON, or `all`.
    """

    alternatives: int = 5
    hypothesis: int = 0
    prefix: str = ""
    sums: tuple[str, ...] = ()
    has_projections: bool = False  # with the inputs and weights that the vectors in `sums` are made of
    has_translations: bool = True  # translate the source again without each of its words

    def __post_init__(self) -> None:
        for name, least in (("alternatives", 1), ("hypothesis", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} = {getattr(self, name)}, but it must be at least {least}.", options=(name,))


@dataclass(frozen=True)
class ExplainedModel:
    """The facts about a model that an explanation shows: `name` is the name of its folder."""

    name: str
    config: ModelConfig
    precision: str


@dataclass(frozen=True)
class ChoiceDifference:
    """A position where the float64 trace has another most probable token than the one of the translation."""

    position: int
    token: int
    piece: str
    probability: float
    best_token: int
    best_piece: str
    best_probability: float


@dataclass(frozen=True)
class TranslationChoice:
    """The translation that `translate` gives, and how its numbers differ from the float64 trace.

    `precision_difference` is the largest difference of a token's log P; None if the target was given.
    """

    text: str
    hypothesis: Hypothesis
    settings: Mapping[str, object]
    precision_difference: float | None
    differences: tuple[ChoiceDifference, ...]


@dataclass(frozen=True, eq=False)
class Contributions:
    """How much each input contributed to each output token: by word (T, W) and, for two methods, by token (T, S)."""

    by_word: Mapping[Method, Array]
    by_token: Mapping[Method, Array]

    def disagreement(self, position: int) -> Disagreement:
        """Compare the methods for one output token."""
        return disagreement({method: values[position] for method, values in self.by_word.items()})


@dataclass(frozen=True)
class LeftOutWord:
    """The source without a word, and its translation."""

    word: int
    source: str
    translation: str


@dataclass(frozen=True)
class MissingPart:
    """A part that an explanation does not have, and the reason, as the second half of a sentence."""

    part: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.reason}."


def missing_parts(config: ModelConfig) -> tuple[MissingPart, ...]:
    """Return what the explanation of a model does not have; nothing is missing for a Transformer."""
    if config.architecture == "transformer":
        return ()
    parts = [
        MissingPart(
            "self-attention heads", f"{_LAYERS[config.architecture]} and has no attention weights between tokens"
        ),
        MissingPart("attention rollout", "it multiplies the self-attention weights of all layers"),
        MissingPart("logit lens", "it reads the residual stream of a Transformer, layer by layer"),
    ]
    if config.shape == "encoder-decoder" and config.architecture == "recurrent" and not config.has_memory_attention:
        reason = "the decoder of this model sees the source only through the state that it starts with"
        parts.append(MissingPart("attention to the source", reason))
    return tuple(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """Everything about one sentence and its translation, a text of a language model, or a classified text.

    Parts that the model does not have are None or empty. `outputs` are the tokens of the target, or the most probable
    classes. The heads in `options.sums` have their complete names.
    """

    kind: Literal["translation", "text", "classes"]
    model: ExplainedModel
    source: TokenRow | None = None
    target: TokenRow | None = None
    language: str | None = None
    inputs: tuple[str, ...] = ()  # the pieces that the decoder reads: the start token, then the target without its last
    is_given: bool = False  # whether the target or its beginning (`prefix`) was given, rather than translated
    translation: TranslationChoice | None = None
    traced: TracedPass
    outputs: tuple[ExplainedToken, ...]
    contributions: Contributions
    left_out: tuple[LeftOutWord, ...] = ()
    search: SearchTree | None = None
    options: ExplainOptions
    notes: tuple[str, ...] = ()

    @property
    def stacks(self) -> Mapping[StackName, AttentionStack]:
        """The attention of every layer and head, by kind: encoder, decoder, cross."""
        return self.traced.stacks

    @cached_property
    def rollout(self) -> Rollout:
        """How much of each token reaches another one over several layers."""
        return rollouts(self.traced.stacks)

    @property
    def explained_row(self) -> TokenRow:
        """The tokens that contributions are of: the source, or the text of a language model."""
        row = self.target if self.source is None else self.source
        assert row is not None
        return row

    @cached_property
    def kinds(self) -> Mapping[str, HeadStatistics]:
        """The kind and the confidence of every head on this sentence, by its name, without removed heads."""
        return {
            stack.head_name(layer, head): sentence_statistics(stack.head(layer, head), stack.weights[layer, head])
            for stack in self.stacks.values()
            for layer, head in stack.kept
        }

    @property
    def missing(self) -> tuple[MissingPart, ...]:
        """The parts that a model of this architecture does not have."""
        return missing_parts(self.model.config)

    @property
    def removed_heads(self) -> tuple[str, ...]:
        """The names of the heads that a pruned model has lost, with their numbers from before pruning."""
        return tuple(stack.head_name(*head) for stack in self.stacks.values() for head in sorted(stack.removed))
