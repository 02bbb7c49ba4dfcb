"""Attention scores with and without the division by √d, for several widths; one head and many heads of equal width.

A score is a sum of d products, so that without the division its variance grows with the width d of a head. Softmax then
gives nearly all weight to one token, its gradient vanishes, and the queries and keys learn slowly.
"""

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from clearhead.experiments.colours import BLUE, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, ModelConfig, TrainableModel, build_model
from clearhead.studies.learning import (
    Learner,
    Show,
    StudyRecipe,
    held_out,
    loss_on,
    set_training,
    share_right,
    silent,
)
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "score-scaling"
SIZE = (11.0, 4.6)
_SCALINGS = {True: "scaled", False: "unscaled"}
_CLEAR = 0.05  # nats: a smaller difference of losses is not called one


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


@dataclass(frozen=True)
class ScalingOutcome:
    """A model before and after training: one row of the table."""

    width: int
    num_heads: int
    is_scaled: bool
    num_parameters: int
    variance: float  # of the scores before training
    largest_weight: float  # mean of a query's largest weight before training
    gradient: float  # norm of the gradient of the weights of queries and keys before training
    loss: float
    share_right: float

    def cells(self) -> tuple[Cell, ...]:
        """Return the row of the table."""
        scaling = _SCALINGS[self.is_scaled]
        before = self.variance, self.largest_weight, self.gradient
        return self.width, self.num_heads, scaling, self.num_parameters, *before, self.loss, 100 * self.share_right


def run(seed: int, sizes: ScalingSizes = SMALL, show: Show = silent) -> Experiment:
    """Train models of every width with one head and with many, with and without scaling, on reversed sentences."""
    task = Task("reverse", sizes.length, sizes.length)
    recipe = StudyRecipe(sizes.steps, sizes.rate, sizes.batch, warm_up=sizes.steps // 10)
    learner, test = Learner(task.batch, recipe, seed, show), held_out(task.batch, sizes.num_test, seed)
    variants = list(product(sizes.widths, (1, sizes.num_heads), _SCALINGS))
    outcomes = []
    for number, (width, num_heads, is_scaled) in enumerate(variants, start=1):
        torch.manual_seed(seed)
        model = build_model(make_config(task, width, num_heads, is_scaled=is_scaled))
        variance, weight, gradient = look_at_scores(model, test)
        heads = "one head" if num_heads == 1 else f"{num_heads} heads"
        learner.train(model, f"model {number} of {len(variants)}, width {width}, {heads}, {_SCALINGS[is_scaled]}")
        count = sum(parameter.numel() for parameter in model.parameters())
        results = loss_on(model, test), share_right(model, test)
        outcomes.append(ScalingOutcome(width, num_heads, is_scaled, count, variance, weight, gradient, *results))
    table = ResultTable(
        f"reversing {sizes.length} words, {sizes.steps} updates; scores of the encoder's attention before training",
        (
            *("width", "heads", "scores", "parameters", "variance of scores", "largest weight"),
            *("gradient of W_Q, W_K", "held-out loss", "sentences right (%)"),
        ),
        tuple(outcome.cells() for outcome in outcomes),
    )
    arrays = {"widths": np.array(sizes.widths, dtype=np.float64)}
    for kind, num_heads in (("one head", 1), ("many heads", sizes.num_heads)):
        for is_scaled, scaling in _SCALINGS.items():
            chosen = [one for one in outcomes if (one.num_heads, one.is_scaled) == (num_heads, is_scaled)]
            arrays[f"loss, {kind}, {scaling}"] = np.array([one.loss for one in chosen])
            arrays[f"weight, {kind}, {scaling}"] = np.array([one.largest_weight for one in chosen])
    arrays["many"] = np.array(float(sizes.num_heads))
    claim = (
        "The variance of a score grows with the width of a head. Without the division by √d, softmax saturates and its "
        "gradient vanishes; many heads see several relations between words where one head sees one."
    )
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, describe(outcomes), (table,), arrays)


def make_config(task: Task, width: int, num_heads: int, *, is_scaled: bool) -> ModelConfig:
    """Return the config of a model with one layer per side."""
    return ModelConfig(
        source_vocabulary=task.vocabulary,
        encoder_blocks=1,
        decoder_blocks=1,
        d_model=width,
        d_ff=width,
        num_heads=num_heads,
        scale_scores=is_scaled,
        dropout=0.0,
        max_length=task.longest + 1,
    )


def look_at_scores(model: TrainableModel, batch: Batch) -> tuple[float, float, float]:
    """Return the variance of the encoder's scores, the mean largest weight, and the gradient of W_Q and W_K."""
    set_training(model, is_training=False)
    with torch.no_grad():
        _, trace = model.trace(batch, "encoder.0.self_attention*")
    scores = torch.stack([cast(torch.Tensor, record.value) for record in trace.find("scale", "*")])
    weights = torch.stack([cast(torch.Tensor, record.value) for record in trace.find("softmax", "*")])
    model.loss(batch).mean.backward()  # type: ignore[no-untyped-call]
    packed = dict(model.named_parameters())["encoder_blocks.0.self_attention.packed.weight"]
    assert packed.grad is not None
    width = packed.shape[0] // 3
    gradient = float(packed.grad[: 2 * width].norm())  # rows of Q, K and V
    return float(scores.var()), float(weights.amax(dim=-1).mean()), gradient


def describe(outcomes: list[ScalingOutcome]) -> str:
    """Return the finding."""
    sentences = []
    for heads in dict.fromkeys(outcome.num_heads for outcome in outcomes):
        rows = {(one.width, one.is_scaled): one for one in outcomes if one.num_heads == heads}
        widths = sorted({width for width, _ in rows})
        widest = rows[widths[-1], False]
        hurt = [width for width in widths if rows[width, False].loss > rows[width, True].loss + _CLEAR]
        name = "one head" if heads == 1 else f"{heads} heads"
        where = f"hurts at {width_list(hurt)}" if hurt else "hurts at no width"
        sentences.append(
            f"With {name}, leaving out the division {where}: at width {widths[-1]} the scores start with a variance of "
            f"{widest.variance:.3g} (scaled {rows[widths[-1], True].variance:.2g}) and a largest weight of "
            f"{widest.largest_weight:.2f} ({rows[widths[-1], True].largest_weight:.2f}), and the loss ends at "
            f"{widest.loss:.3g} ({rows[widths[-1], True].loss:.3g})."
        )
    scaled = {(one.width, one.num_heads): one.loss for one in outcomes if one.is_scaled}
    many = max(heads for _, heads in scaled)
    better = [width for width, heads in scaled if heads == many and scaled[width, many] < scaled[width, 1] - _CLEAR]
    worse = [width for width, heads in scaled if heads == many and scaled[width, many] > scaled[width, 1] + _CLEAR]
    parts = [
        f"a {word} loss than one at {width_list(widths)}"
        for word, widths in (("lower", better), ("higher", worse))
        if widths
    ]
    comparison = f"{many} heads have {' and '.join(parts)}" if parts else f"one head and {many} heads learn alike"
    return " ".join([*sentences, f"Scaled, {comparison}.", describe_gradient(outcomes)])


def describe_gradient(outcomes: list[ScalingOutcome]) -> str:
    """Return a sentence on the gradient before training, in the widest model with one head."""
    width = max(outcome.width for outcome in outcomes)
    gradients = {one.is_scaled: one.gradient for one in outcomes if (one.width, one.num_heads) == (width, 1)}
    ratio = gradients[False] / gradients[True]
    change = f"{ratio:.3g} times as large" if ratio >= 1 else f"only {ratio:.3g} of what it is with it"
    return (
        f"Before training, the gradient of W_Q and W_K without the division is {change} (width {width}, one head): "
        f"softmax is saturated, but this gradient {'has not vanished' if ratio >= 1 else 'is smaller'}."
    )


def width_list(widths: list[int]) -> str:
    """Return widths in words."""
    return f"width{'s' if len(widths) > 1 else ''} {', '.join(map(str, widths))}"


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the largest weight before training and the loss after it, against the width."""
    weights, losses = figure.subplots(1, 2)
    widths, many = result.arrays["widths"], f"{result.arrays['many']:.0f} heads"
    for axes, what in ((weights, "weight"), (losses, "loss")):
        for scaling, colour in (("scaled", BLUE), ("unscaled", VERMILION)):
            for kind, style in (("one head", "o-"), ("many heads", "s--")):
                label = f"{scaling}, {many if kind == 'many heads' else kind}"
                axes.plot(widths, result.arrays[f"{what}, {kind}, {scaling}"], style, color=colour, label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(widths, [f"{width:.0f}" for width in widths])
        axes.set_xlabel("width of the model")
        axes.set_ylim(bottom=0)
    weights.set(title="Before training", ylabel="largest attention weight of a query", ylim=(0, 1))
    losses.set(title="After training", ylabel="held-out loss per token (nats)")
    losses.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
