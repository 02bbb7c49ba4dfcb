"""Attention scores with and without the division by √d, for several widths; one head and many heads of equal width.

A score is a sum of d products, so that without the division its variance grows with the width d of a head. Softmax then
gives nearly all weight to one token, its gradient vanishes, and the queries and keys learn slowly.
"""

from dataclasses import dataclass
from itertools import product

import torch

from clearhead.model import Batch, SequenceModel
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, loss_on, share_right
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import Task
from clearhead.studies.variants import num_parameters, seeded_model, shared_settings, small_transformer

CLAIM = (
    "The variance of a score grows with the width of a head. Without the division by √d, softmax saturates and its "
    "gradient vanishes; many heads see several relations between words where one head sees one."
)
_SCALINGS = {True: "scaled", False: "unscaled"}
_COLUMNS = (
    *("width", "heads", "scores", "parameters", "variance of scores", "largest weight"),
    *("gradient of W_Q, W_K", "held-out loss", "sentences right (%)"),
)
PANELS = (
    Panel("Before training", ("largest weight",), "width", by=("heads", "scores"), log="x"),
    Panel("Before training", ("gradient of W_Q, W_K",), "width", by=("heads", "scores"), log="xy"),
    Panel("After training", ("held-out loss",), "width", by=("heads", "scores"), log="x"),
)


@dataclass(frozen=True)
class ScalingSizes:
    """The sizes of the models and of the data."""

    widths: tuple[int, ...] = (64, 128, 256, 512)
    num_heads: int = 8  # of the models with many heads
    length: int = 5  # words of a sentence
    batch: int = 16
    steps: int = 300
    num_test: int = 200
    rate: float = 1e-3  # the same for all widths


SMALL = ScalingSizes()


def run(seed: int, sizes: ScalingSizes, show: Show) -> Measurement:
    """Train models of every width with one head and with many, with and without scaling, on reversed sentences."""
    task = Task("reverse", sizes.length, sizes.length)
    recipe = StudyRecipe(sizes.steps, sizes.rate, sizes.batch, warm_up=sizes.steps // 10)
    learner, test = Learner(task.batch, recipe, seed, show), held_out(task.batch, sizes.num_test, seed)
    variants = list(product(sizes.widths, (1, sizes.num_heads), _SCALINGS.items()))
    rows: Rows = []
    for number, (width, num_heads, (is_scaled, scaling)) in enumerate(variants, start=1):
        model = make_model(task, width, num_heads, seed, is_scaled=is_scaled)
        before = look_at_scores(model, test)
        learner.train(model, f"model {number} of {len(variants)}, width {width}, heads: {num_heads}, {scaling}")
        after = loss_on(model, test), 100 * share_right(model, test)
        rows.append((width, num_heads, scaling, num_parameters(model.config), *before, *after))
    table = ResultTable(
        f"reversing {sizes.length} words, {sizes.steps} updates; scores of the encoder's attention before training",
        _COLUMNS,
        rows,
    )
    return Measurement((table,))


def make_model(task: Task, width: int, num_heads: int, seed: int, *, is_scaled: bool) -> SequenceModel:
    """Return an untrained model with one layer per side."""
    changes = {"d_ff": width, "num_heads": num_heads, "scale_scores": is_scaled}
    shared = shared_settings(task.vocabulary, 1, task.longest)
    return seeded_model(small_transformer({**shared, **changes}, width), seed)


def look_at_scores(model: SequenceModel, batch: Batch) -> tuple[float, float, float]:
    """Return the variance of the encoder's scores, the mean largest weight, and the gradient of W_Q and W_K."""
    with torch.no_grad():
        _, trace = model.trace(batch, "encoder.0.self_attention*")
    scores, weights = (torch.stack([record.value for record in trace.find(step, "*")]) for step in ("scale", "softmax"))
    model.loss(batch).mean.backward()  # type: ignore[no-untyped-call]
    gradient = model.get_parameter("encoder_blocks.0.self_attention.packed.weight").grad
    assert gradient is not None
    queries, keys, _ = gradient.chunk(3)
    return float(scores.var()), float(weights.amax(dim=-1).mean()), float(torch.cat((queries, keys)).norm())
