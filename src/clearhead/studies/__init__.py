"""Studies: arguments of lecture notes, measured, one module each (NumPy, or PyTorch for those that train models)."""

from clearhead.studies.experiment import Experiment, ResultTable
from clearhead.studies.registry import STUDIES, find_study, run_study

__all__ = ["STUDIES", "Experiment", "ResultTable", "find_study", "run_study"]
