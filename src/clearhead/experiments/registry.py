"""The experiments by name."""

from collections.abc import Iterable, Mapping
from types import ModuleType

from clearhead.errors import ClearheadError, did_you_mean
from clearhead.experiments import cost, leak, norms, order, positions, static, variance

# A module has TITLE, run(seed) -> Experiment, and PANELS of its plot. Where these would not show what it argues, it has
# SIZE (in inches) and draw(result, figure) instead.
EXPERIMENTS: Mapping[str, ModuleType] = {
    "variance": variance,
    "positions": positions,
    "order": order,
    "norms": norms,
    "static": static,
    "leak": leak,
    "cost": cost,
}


def find_experiment(name: str, other_names: Iterable[str] = ()) -> ModuleType:
    """Return the experiment with this name; the error for an unknown name lists all names and `other_names`."""
    if name not in EXPERIMENTS:
        names = [*EXPERIMENTS, *other_names]
        near = did_you_mean(name, names)
        raise ClearheadError(f"'{name}' is not an experiment.{near} Experiments: {', '.join(names)}.")
    return EXPERIMENTS[name]
