"""The vocabulary that all packages share: steps, records and traces.

Standard library only, so that a torch model and a numpy worksheet can both use it.
"""

from clearhead.steps.step import AXES, Input, Step
from clearhead.steps.trace import NO_TRACE, Given, NoTrace, Record, Trace, Tracer
from clearhead.steps.trace_data import trace_from_data, trace_to_data
from clearhead.steps.vocabulary import STEPS

__all__ = [
    "AXES",
    "NO_TRACE",
    "STEPS",
    "Given",
    "Input",
    "NoTrace",
    "Record",
    "Step",
    "Trace",
    "Tracer",
    "trace_from_data",
    "trace_to_data",
]
