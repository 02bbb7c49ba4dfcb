"""A trace as plain data, and back."""

import numpy as np
import pytest

from clearhead.errors import TraceError
from clearhead.steps.trace_data import trace_from_data, trace_to_data
from clearhead.steps.vocabulary import ADD
from tests.unit.steps.test_trace import small_trace


def test_data_and_back_is_the_same_trace() -> None:
    trace = small_trace()
    data = trace_to_data(trace)
    assert data["records"][0]["inputs"] == {"a": {"given": "x"}, "b": {"given": "x"}}
    assert trace_from_data(data, np.asarray) == trace


def test_an_unknown_input_breaks_the_chain() -> None:
    trace = small_trace()
    trace.record(ADD, np.zeros(1), a=np.zeros(1), b=trace[0].value)
    with pytest.raises(
        TraceError, match="input 'a' of step 'add' is neither a given value nor the result of an earlier step"
    ):
        trace_to_data(trace)


def test_broken_data_is_refused_with_a_reason() -> None:
    data = trace_to_data(small_trace())
    data["records"][0]["step"] = "ad"
    with pytest.raises(TraceError, match="'ad' is not a step. Did you mean 'add'"):
        trace_from_data(data, np.asarray)
    with pytest.raises(TraceError, match="not a trace written by clearhead"):
        trace_from_data({"layout": "rows"}, np.asarray)
