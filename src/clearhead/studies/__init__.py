"""Studies: arguments of lecture notes, measured on models that are trained for it, one module each (PyTorch)."""

from clearhead.studies.registry import STUDIES, StudyEntry, find_study, run_study

__all__ = ["STUDIES", "StudyEntry", "find_study", "run_study"]
