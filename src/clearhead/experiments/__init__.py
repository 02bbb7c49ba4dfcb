"""Small experiments that measure common arguments of lecture notes, one module each (NumPy; Matplotlib to draw)."""

from clearhead.experiments.experiment import Experiment, ResultTable
from clearhead.experiments.registry import EXPERIMENTS, find_experiment

__all__ = ["EXPERIMENTS", "Experiment", "ResultTable", "find_experiment"]
