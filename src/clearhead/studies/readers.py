"""Recurrent models without and with attention, convolutional models and Transformers, on sentences of several lengths.

All variants have nearly the same number of parameters and copy the same random sentences. A recurrent decoder without
attention has to keep a complete sentence in one state of fixed size. The full form, on Europarl, is
benchmarks/readers.py.
"""

from dataclasses import dataclass

import numpy as np

from clearhead.model import Batch, SequenceModel
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, share, sides, written
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import EOS, PAD, Task
from clearhead.studies.variants import VARIANTS, matched_config, num_parameters, seeded_model, shared_settings

CLAIM = (
    "A recurrent encoder-decoder without attention starts to miss words in long sentences, because everything has "
    "to pass through one state; attention sees all words of a sentence."
)
_COMPARED = tuple(VARIANTS)[:-1]  # without the packed rows, which change the batches and not the model
PANELS = (Panel("Words at the right place", by=("variant",), tables={1: ""}, label="share"),)


@dataclass(frozen=True)
class ReaderSizes:
    """The sizes of the models and of the data."""

    variants: tuple[str, ...] = _COMPARED
    lengths: tuple[int, ...] = (4, 8, 12, 16, 20, 24)  # words of the sentences that are tested
    num_tested: int = 100  # sentences of each length
    steps: int = 600
    width: int = 64  # of the Transformer
    blocks: int = 2

    @property
    def task(self) -> Task:
        """Sentences of all lengths from the shortest to the longest, to be copied."""
        return Task("copy", self.lengths[0], self.lengths[-1])


SMALL = ReaderSizes()


def run(seed: int, sizes: ReaderSizes, show: Show) -> Measurement:
    """Train all variants on the same sentences, and test each for every length."""
    task = sizes.task
    tests = [held_out(Task("copy", length, length).batch, sizes.num_tested, seed) for length in sizes.lengths]
    shared = shared_settings(task.vocabulary, sizes.blocks, task.longest)
    recipe = StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10))
    summaries: Rows = []
    rows: Rows = []
    for name in sizes.variants:
        variant = VARIANTS[name]
        model = seeded_model(matched_config(variant, shared, sizes.width), seed)
        curve = Learner(task.batch, recipe, seed, show).train(model, variant.title)
        words, sentences = zip(*(right_words(model, test) for test in tests), strict=True)
        speed = curve.num_tokens / curve.seconds
        right = float(np.mean(sentences))
        summaries.append((variant.title, num_parameters(model.config), curve.final_loss(), speed, right))
        rows.append((variant.title, *words))
    summary = ResultTable(
        f"copying {task.shortest} to {task.longest} random words, after {sizes.steps} updates",
        ("variant", "parameters", "final loss", "target tokens/s", "sentences right"),
        summaries,
    )
    by_length = ResultTable(
        f"share of right words, by the length of the sentence ({sizes.num_tested} new sentences each)",
        ("variant", *(f"{length} words" for length in sizes.lengths)),
        rows,
    )
    return Measurement((summary, by_length))


def right_words(model: SequenceModel, batch: Batch) -> tuple[float, float]:
    """Return the share of words that greedy search writes at the right place, and the share of right sentences."""
    _, target = sides(batch)
    is_right, is_word = written(model, batch) == target, (target != PAD) & (target != EOS)
    return share(is_right[is_word]), share(is_right.all(dim=1))
