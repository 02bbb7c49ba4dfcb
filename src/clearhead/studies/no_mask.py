"""A decoder that is trained without its mask: its loss in training, and what it writes.

The decoder reads the target, moved one place to the right, and must predict at each place the token that it reads one
place later. Without a mask it can look there. When it writes, there is nothing to look at: later tokens do not exist.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from clearhead.decoding.search.greedy import greedy
from clearhead.experiments.colours import BLUE, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, Mask, ModelConfig, Transformer
from clearhead.model.mask import CAUSAL
from clearhead.studies.learning import Learner, Show, StudyRecipe, loss_on, share_right, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.words import Phrases

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "no-mask"
SIZE = (11.0, 4.4)
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
    """What a model has learned: its losses, and what it writes for held-out sentences."""

    losses: list[float]
    final_loss: float
    test_loss: float
    share_right: float
    translations: list[str]


def run(seed: int, sizes: NoMaskSizes = SMALL, show: Show = silent) -> Experiment:
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
        ("decoder", "training loss", "held-out loss, teacher forcing", "sentences written without an error (%)"),
        tuple(
            (variant, outcome.final_loss, outcome.test_loss, 100 * outcome.share_right)
            for variant, outcome in zip(_VARIANTS, outcomes, strict=True)
        ),
    )
    shown = zip(pairs[: sizes.num_shown], *(outcome.translations for outcome in outcomes), strict=False)
    rows: list[tuple[Cell, ...]] = [(source, target, *map(shortened, texts)) for (source, target), *texts in shown]
    samples = ResultTable("what they write", ("source", "reference", *_VARIANTS), tuple(rows))
    arrays = {
        **{f"losses {variant}": np.array(outcome.losses) for variant, outcome in zip(_VARIANTS, outcomes, strict=True)},
        "share right": np.array([outcome.share_right for outcome in outcomes]),
    }
    claim = (
        "Without a mask, a decoder in training reads the token that it must predict: its loss looks excellent, but it "
        "has not learned to write."
    )
    finding = describe(*outcomes)
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, finding, (losses, samples), arrays)


def measure(model: Transformer, variant: str, learner: Learner, test: tuple[Phrases, Batch]) -> MaskOutcome:
    """Train a model and translate the test sentences."""
    curve = learner.train(model, f"training {variant}")
    phrases, batch = test
    assert batch.source is not None
    assert batch.target is not None
    right, test_loss = share_right(model, batch), loss_on(model, batch)
    with torch.no_grad():
        ids = greedy(model, batch.source, batch.target.shape[1])
    return MaskOutcome(curve.losses, curve.final_loss(), test_loss, right, [phrases.text(row) for row in ids])


def shortened(text: str) -> str:
    """Return the first words of a text."""
    words = text.split()
    return " ".join(words if len(words) <= _MAX_WORDS else [*words[:_MAX_WORDS], "…"])


def describe(masked: MaskOutcome, unmasked: MaskOutcome) -> str:
    """Return the finding."""
    is_lower = unmasked.final_loss < masked.final_loss
    contrast = "but" if is_lower and unmasked.share_right < masked.share_right else "and"
    return (
        f"Without a mask the training loss ends at {unmasked.final_loss:.3g} nats per token, "
        f"{'below' if is_lower else 'not below'} the {masked.final_loss:.3g} of the masked decoder, {contrast} it "
        f"writes {unmasked.share_right:.1%} of the held-out sentences without an error, the masked decoder "
        f"{masked.share_right:.1%}. With teacher forcing, its loss on held-out sentences is {unmasked.test_loss:.3g} "
        f"({masked.test_loss:.3g} with a mask), so validating with teacher forcing "
        f"{'does not show the fault either' if unmasked.test_loss < masked.test_loss else 'shows the fault'}."
    )


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the training losses, and the share of sentences that are written without an error."""
    losses, shares = figure.subplots(1, 2, width_ratios=(1.6, 1))
    colours = (BLUE, VERMILION)
    for variant, colour in zip(_VARIANTS, colours, strict=True):
        losses.plot(result.arrays[f"losses {variant}"], color=colour, label=variant, linewidth=2)
    losses.set(title="In training", xlabel="update", ylabel="loss per token (nats)")
    losses.set_xlim(left=0)
    losses.set_ylim(bottom=0)
    losses.legend()
    bars = shares.bar(_VARIANTS, 100 * result.arrays["share right"], 0.6, color=colours)
    shares.bar_label(bars, fmt="%.0f %%", padding=3, fontsize=14)
    shares.set(title="When it writes", ylabel="sentences without an error (%)", ylim=(0, 112), yticks=[0, 50, 100])
