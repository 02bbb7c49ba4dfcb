"""Read exercises, solve them step by step with numpy and show the working. Never imports torch."""

from clearhead.worksheet.problem import Problem
from clearhead.worksheet.reading import load_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet

__all__ = ["Problem", "Rounding", "Worksheet", "load_problem", "solve"]
