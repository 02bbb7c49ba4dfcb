"""Which variants of a deep Transformer train at all: residuals, norms and their place, warm-up, three learning rates.

The variants are built here from a Transformer of the library and are not settings of a model: nobody should train or
publish a model without residuals. Each model must reverse short sentences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from clearhead.experiments.colours import BLUE, GREY, INK, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import ModelConfig, Transformer
from clearhead.model.layers import Residual
from clearhead.steps import NO_TRACE, Tracer
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, loss_on, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "stability"
_NOT_FINITE = 1e9  # replaces the loss of a run that stopped, since JSON has no infinity
SIZE = (11.0, 5.2)


@dataclass(frozen=True)
class Build:
    """How a variant differs from a Transformer: the place of the norm, what replaces it, and the residuals."""

    norm_place: str = "pre"
    norm: str = "layer"
    has_residuals: bool = True


VARIANTS: Mapping[str, Build] = {
    "pre-norm": Build(),
    "post-norm": Build("post"),
    "no norms": Build(norm="none"),
    "no residuals (pre)": Build(has_residuals=False),
    "no residuals (post)": Build("post", has_residuals=False),
    "batch norm (pre)": Build(norm="batch"),
    "batch norm (post)": Build("post", "batch"),
}


@dataclass(frozen=True)
class StabilitySizes:
    """The sizes of the models and of the data."""

    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2)
    lengths: tuple[int, int] = (3, 6)  # words of a sentence
    steps: int = 250
    batch: int = 32
    width: int = 32
    blocks: int = 6
    num_test: int = 200


SMALL = StabilitySizes()


class BatchNorm(nn.Module):
    """γ (x - μ) / √(σ² + ε) + β for each feature, over all tokens of a batch, padding included.

    As in networks for images, running averages replace mean and variance outside of training.
    """

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width, eps=epsilon)

    def forward(self, x: Tensor, keys: Tensor | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Normalise every feature; such a variant has no trace."""
        y: Tensor = self.norm(x.flatten(0, 1)).view_as(x)
        return y


class NoNorm(nn.Module):
    """The identity where a norm stands."""

    def forward(self, x: Tensor, keys: Tensor | None = None, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Return x."""
        return x


class NoResidual(Residual):
    """f(norm(x)) or norm(f(x)), without adding x."""

    def after(self, x: Tensor, y: Tensor, keys: Tensor | None, trace: Tracer) -> Tensor:
        """Return the output y of the sublayer, normalised for post-norm."""
        return super().after(torch.zeros_like(y), y, keys, trace)


@dataclass(frozen=True)
class StabilityOutcome:
    """How one training ended."""

    variant: str
    has_warm_up: bool
    rate: float
    loss: float  # held-out; infinite if the training diverged
    diverged_at: int | None

    def verdict(self, chance: float) -> str:
        """Return in words how it ended; `chance` is the loss of a model that has learned only how often words occur."""
        if self.diverged_at is not None or self.loss > 2 * chance:
            return "diverged"
        if self.loss < 0.1 * chance:
            return "learned"
        return "learning" if self.loss < 0.75 * chance else "stuck"


def run(seed: int, sizes: StabilitySizes = SMALL, show: Show = silent) -> Experiment:
    """Train every variant with and without warm-up at every rate."""
    task = Task("reverse", *sizes.lengths)
    test = held_out(task.batch, sizes.num_test, seed)
    runs = [(name, warm, rate) for name in VARIANTS for warm in (True, False) for rate in sizes.rates]
    outcomes = []
    for number, (name, has_warm_up, rate) in enumerate(runs, start=1):
        recipe = StudyRecipe(sizes.steps, rate, sizes.batch, warm_up=sizes.steps // 5 if has_warm_up else 0)
        model = make_model(VARIANTS[name], task, sizes, seed)
        curve = Learner(task.batch, recipe, seed, show).train(model, f"model {number} of {len(runs)}, {name}, {rate:g}")
        loss = math.inf if curve.has_diverged else loss_on(model, test)
        outcomes.append(
            StabilityOutcome(name, has_warm_up, rate, loss, len(curve.losses) + 1 if curve.has_diverged else None)
        )
    chance = math.log(task.num_words)
    rows = []
    for name in VARIANTS:
        for has_warm_up in (True, False):
            chosen = [one for one in outcomes if (one.variant, one.has_warm_up) == (name, has_warm_up)]
            cells: list[Cell] = [shown(one, chance) for one in chosen]
            rows.append((name, "yes" if has_warm_up else "no", *cells))
    table = ResultTable(
        f"held-out loss (nats) after {sizes.steps} updates, {sizes.blocks} + {sizes.blocks} layers of width "
        f"{sizes.width}; guessing words costs {chance:.2f}",
        ("variant", "warm-up", *(f"rate {rate:g}" for rate in sizes.rates)),
        tuple(rows),
    )
    losses = np.array([one.loss if math.isfinite(one.loss) else _NOT_FINITE for one in outcomes])
    arrays = {"losses": losses.reshape(len(VARIANTS), 2, len(sizes.rates)), "rates": np.array(sizes.rates)}
    arrays["chance"] = np.array(chance)
    claim = (
        "Residual connections give stronger gradients, norms make training faster and stable, layer norm is the right "
        "one, and warm-up is needed."
    )
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, describe(outcomes, chance), (table,), arrays)


def shown(outcome: StabilityOutcome, chance: float) -> Cell:
    """Return the loss and the verdict, as one cell."""
    if outcome.diverged_at is not None:
        return f"diverged at {outcome.diverged_at}"
    return f"{outcome.loss:.3g} {outcome.verdict(chance)}"


def make_model(build: Build, task: Task, sizes: StabilitySizes, seed: int) -> Transformer:
    """Return a model of a variant with the same random weights as all others."""
    torch.manual_seed(seed)
    config = ModelConfig.model_validate(
        {
            "source_vocabulary": task.vocabulary,
            "encoder_blocks": sizes.blocks,
            "decoder_blocks": sizes.blocks,
            "d_model": sizes.width,
            "d_ff": 2 * sizes.width,
            "num_heads": 4,
            "dropout": 0.0,
            "norm_place": build.norm_place,
            "max_length": task.longest + 1,
        }
    )
    model = Transformer(config)
    for block in model.blocks():
        residuals = block.get_submodule("residuals")
        assert isinstance(residuals, nn.ModuleList)
        for index, residual in enumerate(residuals):
            if not build.has_residuals:
                residuals[index] = residual = NoResidual(config.d_model, "layer", config)
            residual.norm = replaced(residual.get_submodule("norm"), build, config)
    for stack in (model.encoder, model.decoder):
        assert stack is not None
        if stack.last_norm is not None:
            stack.last_norm = replaced(stack.last_norm, build, config)
    return model


def replaced(norm: nn.Module, build: Build, config: ModelConfig) -> nn.Module:
    """Return what replaces a layer norm."""
    if build.norm == "batch":
        return BatchNorm(config.d_model, config.epsilon)
    return NoNorm() if build.norm == "none" else norm


def describe(outcomes: list[StabilityOutcome], chance: float) -> str:
    """Return the finding."""
    has_learned = {(one.variant, one.has_warm_up, one.rate): one.verdict(chance) == "learned" for one in outcomes}
    counts = {
        name: sum(is_so for (variant, _, _), is_so in has_learned.items() if variant == name) for name in VARIANTS
    }
    number = len(outcomes) // len(VARIANTS)
    ranked = sorted((name for name in VARIANTS if counts[name]), key=lambda name: -counts[name])
    never = [name for name in VARIANTS if not counts[name]]
    parts = [f"{name} in {counts[name]}" for name in ranked]
    sentences = [f"Of {number} runs each, these learned the task: {'; '.join(parts) if parts else 'none'}."]
    if never:
        sentences.append(f"Never: {'; '.join(never)}.")
    warm, cold = (sum(is_so for (_, warm, _), is_so in has_learned.items() if warm == one) for one in (True, False))
    sentences.append(f"With warm-up {warm} of {len(outcomes) // 2} runs learned, without it {cold}.")
    rescued = [
        f"{name} at {rate:g}"
        for (name, is_warm, rate), is_so in has_learned.items()
        if is_warm and is_so and not has_learned[name, False, rate]
    ]
    if rescued:
        sentences.append(f"Only with warm-up learned: {'; '.join(rescued)}.")
    losses = {
        (one.variant, one.has_warm_up, one.rate): one.loss for one in outcomes if one.verdict(chance) != "diverged"
    }
    gains = {
        (name, rate): losses[name, False, rate] - loss
        for (name, is_warm, rate), loss in losses.items()
        if is_warm and (name, False, rate) in losses
    }
    if gains:
        name, rate = max(gains, key=gains.__getitem__)
        sentences.append(
            f"Warm-up helps most with {name} at {rate:g}: {losses[name, True, rate]:.3g} instead of "
            f"{losses[name, False, rate]:.3g} nats."
        )
    return " ".join(sentences)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw a grid: one row for every variant, one column for every rate, with and without warm-up."""
    losses, chance, rates = result.arrays["losses"], float(result.arrays["chance"]), result.arrays["rates"]
    plots = figure.subplots(1, 2, sharey=True)
    colours = {
        "learned": (BLUE, 0.55),
        "learning": (BLUE, 0.2),
        "stuck": (VERMILION, 0.3),
        "diverged": (VERMILION, 0.7),
    }
    for index, (axes, title) in enumerate(zip(plots, ("with warm-up", "without warm-up"), strict=True)):
        for (row, column), loss in np.ndenumerate(losses[:, index]):
            verdict = StabilityOutcome("", True, 0.0, float(loss), None).verdict(chance)
            colour, alpha = colours[verdict]
            # Rectangles of transparent colour, not an image: their colour can change in dark mode.
            axes.bar(column, -0.94, 0.96, bottom=row + 0.47, color=colour, alpha=alpha, linewidth=0)
            text = f"{loss:.3g}\n{verdict}" if loss < _NOT_FINITE else verdict
            axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=11)
        axes.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axes.set_yticks(range(len(VARIANTS)), list(VARIANTS))
        axes.set(title=title, xlabel="learning rate", xlim=(-0.5, len(rates) - 0.5), ylim=(len(VARIANTS) - 0.5, -0.5))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    note = f"Numbers: held-out loss in nats per token; guessing words costs {chance:.2f}."
    figure.supxlabel(note, fontsize=11, color=GREY, x=0.99, ha="right")
