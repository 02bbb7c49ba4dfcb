"""Which variants of a deep Transformer train at all: residuals, norms and their place, warm-up, three learning rates.

The variants are built here from a Transformer of the library and are not settings of a model: nobody should train or
publish a model without residuals. Each model must reverse short sentences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from clearhead.model import ModelConfig, Transformer
from clearhead.model.layers import Residual
from clearhead.plots import BLUE, INK, VERMILION
from clearhead.steps import NO_TRACE, Tracer
from clearhead.studies.experiment import Experiment, Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, loss_on
from clearhead.studies.tasks import Task
from clearhead.studies.variants import shared_settings, small_transformer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIM = (
    "Residual connections give stronger gradients, norms make training faster and stable, layer norm is the right "
    "one, and warm-up is needed."
)
SIZE = (11.0, 5.2)
_WARM_UPS = {"yes": 0.2, "no": 0.0}  # share of the updates
_COLOURS = {
    "learned": (BLUE, 0.55),
    "learning": (BLUE, 0.2),
    "stuck": (VERMILION, 0.3),
    "diverged": (VERMILION, 0.7),
}


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


def run(seed: int, sizes: StabilitySizes, show: Show) -> Measurement:
    """Train every variant with and without warm-up at every rate."""
    task = Task("reverse", *sizes.lengths)
    test = held_out(task.batch, sizes.num_test, seed)
    chance = math.log(task.num_words)
    rows: Rows = []
    for (name, build), (word, share) in product(VARIANTS.items(), _WARM_UPS.items()):
        cells = []
        for rate in sizes.rates:
            recipe = StudyRecipe(sizes.steps, rate, sizes.batch, warm_up=int(share * sizes.steps))
            model = make_model(build, task, sizes, seed)
            curve = Learner(task.batch, recipe, seed, show).train(model, f"{name}, warm-up: {word}, rate {rate:g}")
            diverged_at = len(curve.losses) + 1 if curve.has_diverged else None
            cells.append(f"diverged at {diverged_at}" if diverged_at else shown(loss_on(model, test), chance))
        rows.append((name, word, *cells))
    table = ResultTable(
        f"held-out loss (nats) after {sizes.steps} updates, {sizes.blocks} + {sizes.blocks} layers of width "
        f"{sizes.width}; guessing words costs {chance:.2f}",
        ("variant", "warm-up", *(f"rate {rate:g}" for rate in sizes.rates)),
        rows,
    )
    return Measurement((table,), finding_of(table))


def shown(loss: float, chance: float) -> str:
    """Return the loss and a verdict; `chance` is the loss of a model that has learned only how often words occur."""
    limits = {"learned": 0.1 * chance, "learning": 0.75 * chance, "stuck": 2 * chance, "diverged": math.inf}
    verdict = next((word for word, limit in limits.items() if loss < limit), "diverged")
    return f"{loss:.3g} {verdict}"


def finding_of(table: ResultTable) -> str:
    """Return the finding in words."""
    learned = [(row[0], row[1]) for row in table.rows for cell in row[2:] if str(cell).endswith("learned")]
    counts = [f"{name} {sum(name == variant for variant, _ in learned)}" for name in VARIANTS]
    warm = sum(word == "yes" for _, word in learned)
    return (
        f"Runs that learned the task, of {2 * len(table.columns[2:])} each: {'; '.join(counts)}. With warm-up {warm} "
        f"runs learned it, and without {len(learned) - warm}."
    )


def make_model(build: Build, task: Task, sizes: StabilitySizes, seed: int) -> Transformer:
    """Return a model of a variant with the same random weights as all others."""
    shared = shared_settings(task.vocabulary, sizes.blocks, task.longest)
    config = small_transformer({**shared, "norm_place": build.norm_place}, sizes.width)
    torch.manual_seed(seed)
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


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw a grid of the cells with their verdicts in colour, which lines or bars would not show."""
    (table,) = result.tables
    for axes, word in zip(figure.subplots(1, 2, sharey=True), _WARM_UPS, strict=True):
        rows = [row for row in table.rows if row[1] == word]
        for (row, column), cell in np.ndenumerate(np.array(rows)[:, 2:]):
            colour, alpha = next(look for verdict, look in _COLOURS.items() if verdict in cell)
            # Rectangles of transparent colour, not an image: their colour can change in dark mode.
            axes.bar(column, -0.94, 0.96, bottom=row + 0.47, color=colour, alpha=alpha, linewidth=0)
            axes.text(column, row, cell.replace(" ", "\n", 1), ha="center", va="center", color=INK, fontsize=11)
        axes.set_xticks(range(len(table.columns) - 2), table.columns[2:])
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.set(title=f"warm-up: {word}", xlabel="held-out loss (nats)", ylim=(len(rows) - 0.5, -0.5))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
