"""A decoder that is trained without its mask: its loss in training, and what it writes.

The decoder reads the target, moved one place to the right, and must predict at each place the token that it reads one
place later. Without a mask it can look there. When it writes, there is nothing to look at: later tokens do not exist.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from clearhead.decoding.search.greedy import greedy
from clearhead.model import Batch, Mask, ModelConfig, Transformer
from clearhead.model.mask import CAUSAL
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import Learner, Show, StudyRecipe, loss_on, share_right
from clearhead.studies.picture import Panel
from clearhead.studies.words import Phrases

CLAIM = (
    "Without a mask, a decoder in training reads the token that it must predict: its loss looks excellent, but it "
    "has not learned to write."
)
_COLUMNS = ("training loss", "held-out loss, teacher forcing", "sentences written without an error (%)")
PANELS = (
    Panel("Loss per token (nats)", _COLUMNS[:2], "decoder"),
    Panel("When it writes", _COLUMNS[2:], "decoder", label="sentences without an error (%)"),
)

_MAX_WORDS = 10  # of a sentence in the table
_VARIANTS = ("with a mask", "without a mask")


@dataclass(frozen=True)
class NoMaskSizes:
    """The sizes of the models and of the data."""

    num_pairs: int = 10_000  # of the built-in phrasebook
    num_test: int = 200
    num_shown: int = 4
    steps: int = 600
    width: int = 96
    blocks: int = 2


SMALL = NoMaskSizes()


class UnmaskedTransformer(Transformer):
    """A Transformer whose decoder sees later tokens wherever there are any, which is not the case when it writes."""

    def decode_states(self, target: Tensor, *arguments: Any, mask: Mask = CAUSAL, **options: Any) -> Tensor:
        """Return the decoder's states, without the causal mask."""
        return super().decode_states(target, *arguments, mask=replace(mask, is_causal=False), **options)


@dataclass(frozen=True)
class MaskOutcome:
    """What a model has learned, and what it writes for held-out sentences."""

    numbers: tuple[float, float, float]  # as in _COLUMNS
    translations: list[str]


def run(seed: int, sizes: NoMaskSizes, show: Show) -> Measurement:
    """Train two translators on the phrasebook, one without a mask, and let both translate held-out sentences."""
    phrases = Phrases.draw(sizes.num_pairs, seed + 1)
    pairs = phrases.held_out("test", sizes.num_test, seed + 1)
    test = phrases.encode(pairs)
    recipe = StudyRecipe(sizes.steps, warm_up=sizes.steps // 6)
    learner = Learner(phrases.batch, recipe, seed, show)
    config = ModelConfig(
        source_vocabulary=phrases.vocabulary,
        encoder_blocks=sizes.blocks,
        decoder_blocks=sizes.blocks,
        d_model=sizes.width,
        d_ff=2 * sizes.width,
        num_heads=4,
        max_length=32,
    )
    outcomes = []
    for variant, kind in zip(_VARIANTS, (Transformer, UnmaskedTransformer), strict=True):
        torch.manual_seed(seed)
        outcomes.append(measure(kind(config), variant, learner, (phrases, test)))
    losses = ResultTable(
        f"phrasebook English → Spanish, {sizes.steps} updates, {sizes.num_test} held-out sentences",
        ("decoder", *_COLUMNS),
        tuple((variant, *outcome.numbers) for variant, outcome in zip(_VARIANTS, outcomes, strict=True)),
    )
    shown = zip(pairs[: sizes.num_shown], *(outcome.translations for outcome in outcomes), strict=False)
    rows: list[tuple[Cell, ...]] = [(source, target, *map(shortened, texts)) for (source, target), *texts in shown]
    samples = ResultTable("what they write", ("source", "reference", *_VARIANTS), tuple(rows))
    finding = finding_of(losses)
    return Measurement(finding, (losses, samples))


def measure(model: Transformer, variant: str, learner: Learner, test: tuple[Phrases, Batch]) -> MaskOutcome:
    """Train a model and translate the test sentences."""
    curve = learner.train(model, f"training {variant}")
    phrases, batch = test
    assert batch.source is not None
    assert batch.target is not None
    numbers = curve.final_loss(), loss_on(model, batch), 100 * share_right(model, batch)
    with torch.no_grad():
        ids = greedy(model, batch.source, batch.target.shape[1])
    return MaskOutcome(numbers, [phrases.text(row) for row in ids])


def finding_of(table: ResultTable) -> str:
    """Return the finding in words."""
    (_, loss, held_out, right), (_, leaky_loss, leaky_held_out, leaky_right) = table.rows
    return (
        f"Without a mask the training loss ends at {leaky_loss:.3g} nats per token ({loss:.3g} with a mask), and "
        f"{leaky_right:.1f} % of the held-out sentences are written without an error ({right:.1f} %). With teacher "
        f"forcing, the loss on held-out sentences is {leaky_held_out:.3g} ({held_out:.3g})."
    )


def shortened(text: str) -> str:
    """Return the first words of a text."""
    words = text.split()
    return " ".join(words if len(words) <= _MAX_WORDS else [*words[:_MAX_WORDS], "…"])
