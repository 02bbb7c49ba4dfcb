"""Remove attention heads of a model step by step, least important first, and measure the model after every step.

The importance of a head is mean |∂loss/∂gate| (Michel et al., 2019). It is measured again after every step, because
the heads that are left take over work of those that were removed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import Score, bleu
from clearhead.explain.head_importance import head_importance, loss_score, mean_loss
from clearhead.explain.token_pairs import TokenPair
from clearhead.explain.traced_pass import KINDS, StackName
from clearhead.formats.head_removal import without_heads
from clearhead.formats.shapes import num_parameters
from clearhead.model import ModelConfig, Transformer
from clearhead.model.heads import AttentionHead, every_head
from clearhead.text.tokeniser import Vocabularies

Part = Literal["all"] | StackName
Progress = Callable[["PruningRow"], None]


@dataclass(frozen=True, eq=False)
class PruningText:
    """The sentences on which heads are chosen and models measured, and how they are translated (None: not)."""

    vocabularies: Vocabularies
    texts: Sequence[tuple[str, str]]
    pairs: Sequence[TokenPair]  # their tokens
    search: SearchSettings | None = SearchSettings()


@dataclass(frozen=True)
class PruningRow:
    """A model on the way: its heads by kind of attention, its size, and its scores."""

    part: Part  # that heads are removed from
    num_heads: Mapping[str, int]  # by kind: `encoder.self_attention`
    num_parameters: int
    loss: Score
    bleu: Score | None = None

    @property
    def total(self) -> int:
        """The number of all heads."""
        return sum(self.num_heads.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON and CSV; BLEU is None if nothing was translated."""
        return {
            "part": self.part,
            "heads": self.total,
            **{kind.replace(".", "_"): count for kind, count in self.num_heads.items()},
            "parameters": self.num_parameters,
            "loss": self.loss.value,
            "bleu": None if self.bleu is None else self.bleu.value,
        }


@dataclass(frozen=True)
class PruningReport:
    """The rows of all steps, the first of the unchanged model."""

    rows: tuple[PruningRow, ...]
    heads_kept: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of the last model
    are_named: bool = False  # the user has named the heads to remove

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        first = self.rows[0]
        signatures = {"loss": first.loss.signature, "bleu": None if first.bleu is None else first.bleu.signature}
        return {
            "signatures": signatures,
            "heads_kept": {where: list(numbers) for where, numbers in self.heads_kept.items()},
            "steps": [row.to_dict() for row in self.rows],
        }


def heads_in(config: ModelConfig, part: Part = "all") -> list[AttentionHead]:
    """Return the heads of a model in one part of it."""
    return [head for head in every_head(config) if part == "all" or head.kind == KINDS[part]]


def least_important(
    model: Transformer, pairs: Sequence[TokenPair], count: int, part: Part = "all"
) -> list[AttentionHead]:
    """Return the `count` heads of a part with the lowest importance; of equal ones, the first."""
    importance = head_importance(model, pairs)
    return sorted(heads_in(model.config, part), key=lambda head: importance[head])[:count]


def prune_in_steps(
    model: Transformer, text: PruningText, counts: Sequence[int], part: Part = "all"
) -> Iterator[tuple[Transformer, PruningRow]]:
    """Yield the model with `counts[0]` heads in a part of it, then with `counts[1]` … and its measurements."""
    for count in counts:
        excess = len(heads_in(model.config, part)) - count
        if excess > 0:
            model = without_heads(model, least_important(model, text.pairs, excess, part))
        yield model, measure(model, text, part)


def measure(model: Transformer, text: PruningText, part: Part = "all") -> PruningRow:
    """Return the size, the loss and the BLEU of a model."""
    kinds = [head.kind for head in every_head(model.config)]
    loss = loss_score(mean_loss(model, text.pairs), len(text.pairs), text.vocabularies)
    score = None
    if text.search is not None:
        translator = Translator(text.vocabularies, TorchEngine(model))
        outputs = [output.text for output in translator.translate([source for source, _ in text.texts], text.search)]
        score = bleu(outputs, [target for _, target in text.texts])
    counts = {kind: kinds.count(kind) for kind in KINDS.values()}
    return PruningRow(part, counts, num_parameters(model.config), loss, score)


def step_counts(num_heads: int, last: int, num_steps: int) -> list[int]:
    """Return the numbers of heads from all down to `last`, in equal steps."""
    counts = [num_heads - round((num_heads - last) * step / num_steps) for step in range(num_steps + 1)]
    return list(dict.fromkeys(counts))


def sweep(
    model: Transformer, text: PruningText, num_steps: int, progress: Progress = lambda row: None
) -> PruningReport:
    """Measure the model with fewer and fewer heads, down to none: of all kinds together, and of each kind alone."""
    rows = []
    parts: tuple[Part, ...] = ("all", *KINDS)
    for part in parts:
        num_heads = len(heads_in(model.config, part))
        if not num_heads:
            continue
        for _, row in prune_in_steps(model, text, step_counts(num_heads, 0, num_steps), part):
            progress(row)
            rows.append(row)
    return PruningReport(tuple(rows))
