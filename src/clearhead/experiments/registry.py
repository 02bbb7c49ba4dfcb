"""The experiments by name, and how a name that is almost right is answered."""

from collections.abc import Mapping
from types import ModuleType

from clearhead.errors import ClearheadError, did_you_mean
from clearhead.experiments import cost, leak, norms, order, positions, static, variance

# A module has TITLE, SIZE (of its picture, in inches), run(seed) -> Experiment, and draw(result, figure).
EXPERIMENTS: Mapping[str, ModuleType] = {
    "variance": variance,
    "positions": positions,
    "order": order,
    "norms": norms,
    "static": static,
    "leak": leak,
    "cost": cost,
}


def find_experiment(name: str) -> ModuleType:
    """Return the experiment of that name, or say which there are."""
    if name not in EXPERIMENTS:
        near = did_you_mean(name, EXPERIMENTS)
        raise ClearheadError(f"'{name}' is not an experiment.{near} Experiments: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
