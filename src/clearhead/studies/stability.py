"""Which variants of a deep Transformer train at all: residuals, norms and their place, warm-up, three learning rates.

The variants are built here from a Transformer of the library and are not settings of a model: nobody should train or
publish a model without residuals. Each model must reverse short sentences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clearhead.model import ModelConfig, Transformer
from clearhead.model.layers import Residual
from clearhead.steps import NO_TRACE, Tracer
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, loss_on
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import Task
from clearhead.studies.variants import shared_settings, small_transformer

CLAIM = (
    "Residual connections give stronger gradients, norms make training faster and stable, layer norm is the right "
    "one, and warm-up is needed."
)
_WARM_UPS = {"yes": 0.2, "no": 0.0}  # share of the updates
_LIMITS = {"learned": 0.1, "learning": 0.75, "stuck": 2.0, "diverged": math.inf}  # times the loss of guessing
PANELS = (Panel("How the trainings of each variant ended", tuple(_LIMITS), "variant", tables={1: ""}, label="number"),)


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
    counts: Rows = []
    for name, build in VARIANTS.items():
        endings: list[str] = []
        for word, share in _WARM_UPS.items():
            cells = []
            for rate in sizes.rates:
                recipe = StudyRecipe(sizes.steps, rate, sizes.batch, warm_up=int(share * sizes.steps))
                model = make_model(build, task, sizes, seed)
                curve = Learner(task.batch, recipe, seed, show).train(model, f"{name}, warm-up: {word}, rate {rate:g}")
                diverged_at = f"diverged at {len(curve.losses) + 1}"
                cells.append(diverged_at if curve.has_diverged else shown(loss_on(model, test), chance))
            rows.append((name, word, *cells))
            endings += cells
        counts.append((name, *(sum(verdict in cell for cell in endings) for verdict in _LIMITS)))
    losses = ResultTable(
        f"held-out loss (nats) after {sizes.steps} updates, {sizes.blocks} + {sizes.blocks} layers of width "
        f"{sizes.width}; guessing words costs {chance:.2f}",
        ("variant", "warm-up", *(f"rate {rate:g}" for rate in sizes.rates)),
        rows,
    )
    return Measurement((losses, ResultTable("how the trainings ended", ("variant", *_LIMITS), counts)))


def shown(loss: float, chance: float) -> str:
    """Return the loss and a verdict; `chance` is the loss of a model that has learned only how often words occur."""
    verdict = next((word for word, limit in _LIMITS.items() if loss < limit * chance), "diverged")
    return f"{loss:.3g} {verdict}"


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
