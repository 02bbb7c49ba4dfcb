"""A Trace keeps what was done in order; NO_TRACE keeps nothing."""

import numpy as np
import pytest

from clearhead.errors import TraceError
from clearhead.steps import NO_TRACE, Given, NoTrace, Record, Trace
from clearhead.steps.vocabulary import ADD, MASK, MIX


def small_trace() -> Trace:
    trace = Trace()
    x = np.arange(6.0).reshape(2, 3)
    trace.give("x", x, rows=("a", "b"))
    trace.at("decoder", 1).record(ADD, x + x, a=x, b=x)
    trace.at("decoder", 1, "self_attention").record(MASK, x, symbol="S", scores=x, allowed=x, fill=float("-inf"))
    return trace


def test_children_write_into_the_same_list_under_their_place() -> None:
    trace = small_trace()
    assert len(trace) == 2
    assert [record.where for record in trace] == ["decoder.1", "decoder.1.self_attention"]
    assert trace[0].symbol == "X"
    assert trace[1].symbol == "S"


def test_find_matches_step_place_and_symbol() -> None:
    trace = small_trace()
    assert trace.find(step="add") == [trace[0]]
    assert trace.find(where="*.self_attention") == [trace[1]]
    assert trace.find(symbol="S", step="add") == []


def test_axes_are_counted_from_the_end() -> None:
    assert Record(MIX, "", {}, np.zeros((5, 7)), "Z").axes == "QE"
    assert Record(MIX, "", {}, np.zeros((2, 3, 5, 7)), "Z").axes == "BHQE"
    assert Record(MIX, "", {}, 1.0, "Z").axes == ""


def test_a_value_is_given_once() -> None:
    trace = small_trace()
    with pytest.raises(TraceError, match="'x' was given twice"):
        trace.give("x", 1)


def test_a_record_must_have_the_inputs_of_its_step() -> None:
    with pytest.raises(AssertionError):
        Trace().record(ADD, 1, a=1)


def test_no_trace_keeps_nothing_and_is_its_own_child() -> None:
    assert isinstance(NO_TRACE, NoTrace)
    assert NO_TRACE.at("encoder", 0) is NO_TRACE
    NO_TRACE.give("x", 1)
    NO_TRACE.record(ADD, 1, a=1, b=2)
    assert not NO_TRACE.is_on
    assert Trace().is_on


def test_traces_are_equal_to_the_last_bit_or_not_at_all() -> None:
    assert small_trace() == small_trace()
    other = small_trace()
    other.records[0].value[1, 2] = np.nextafter(other.records[0].value[1, 2], 99)
    assert other != small_trace()
    assert Given("a", "a", 1) != Given("a", "a", 2)
    assert small_trace() != "a trace"
