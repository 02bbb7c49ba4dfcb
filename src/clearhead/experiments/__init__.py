"""What lecture notes argue in words, measured: one small file for each argument. numpy; matplotlib only to draw."""

from clearhead.experiments.experiment import Experiment, ResultTable
from clearhead.experiments.registry import EXPERIMENTS, find_experiment

__all__ = ["EXPERIMENTS", "Experiment", "ResultTable", "find_experiment"]
