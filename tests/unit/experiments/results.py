"""The result of each experiment, measured once in a process of the tests."""

from functools import cache

from clearhead.experiments import EXPERIMENTS, Experiment


@cache
def measured(name: str) -> Experiment:
    """Return an experiment of seed 0."""
    return EXPERIMENTS[name].run(0)
