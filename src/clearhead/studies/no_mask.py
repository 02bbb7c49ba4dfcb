"""A decoder that is trained without its mask: its loss in training, and what it writes.

The decoder reads the target, moved one place to the right, and must predict at each place the token that it reads one
place later. Without a mask it can look there. When it writes, there is nothing to look at: later tokens do not exist.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from clearhead.model import Mask, Transformer
from clearhead.model.mask import CAUSAL
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, loss_on, share_right, written
from clearhead.studies.picture import Panel
from clearhead.studies.variants import shared_settings, small_transformer
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


_VARIANTS = {"with a mask": Transformer, "without a mask": UnmaskedTransformer}


def run(seed: int, sizes: NoMaskSizes, show: Show) -> Measurement:
    """Train two translators on the phrasebook, one without a mask, and let both translate held-out sentences."""
    phrases = Phrases.draw(sizes.num_pairs, seed + 1)
    pairs = phrases.held_out("test", sizes.num_test, seed + 1)
    test = phrases.encode(pairs)
    learner = Learner(phrases.batch, StudyRecipe(sizes.steps, warm_up=sizes.steps // 6), seed, show)
    shared = shared_settings(phrases.vocabulary, sizes.blocks, 31)
    config = small_transformer({**shared, "dropout": 0.1}, sizes.width)
    rows: Rows = []
    texts = []
    for variant, kind in _VARIANTS.items():
        torch.manual_seed(seed)
        model = kind(config)
        curve = learner.train(model, f"training {variant}")
        rows.append((variant, curve.final_loss(), loss_on(model, test), 100 * share_right(model, test)))
        texts.append([shortened(phrases.text(ids)) for ids in written(model, test)[: sizes.num_shown]])
    losses = ResultTable(
        f"phrasebook English → Spanish, {sizes.steps} updates, {sizes.num_test} held-out sentences",
        ("decoder", *_COLUMNS),
        rows,
    )
    shown = [(*pair, *translations) for pair, *translations in zip(pairs, *texts, strict=False)]
    samples = ResultTable("what they write", ("source", "reference", *_VARIANTS), shown)
    return Measurement((losses, samples), finding_of(losses))


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
