"""The attention weights of a model's heads, at the top of the page."""

import re
from dataclasses import replace

import numpy as np

from clearhead import Rounding, solve
from clearhead.worksheet.render.attention_map import attention_map, attention_steps
from clearhead.worksheet.rounding import Digits
from clearhead.worksheet.view import MatrixView, SheetView


def test_the_attention_maps_of_a_trace_come_first_and_have_no_blanks() -> None:
    trace = replace(solve("lets-go-encoder"), kind="trace")
    for text in (trace.to_html("matrices"), trace._repr_html_()):
        assert text.count('class="map"') == 1
        assert text.index('class="map"') < text.index("<figure")
    for text in (trace.to_html("results"), trace.to_html("matrices", ["A"]), solve("lets-go-encoder").to_html()):
        assert 'class="map"' not in text


def test_only_the_attention_weights_are_mapped() -> None:
    trace = replace(solve("lets-go"), kind="trace")
    steps = attention_steps(SheetView(trace))
    assert {step.matrix.symbol for step in steps} <= {"A"}
    assert not any(step.record.where.endswith("output") for step in steps), "a softmax over words is no attention"


def test_an_attention_map_of_many_tokens_is_elided() -> None:
    value = np.full((37, 41), 1 / 41)
    text = attention_map(MatrixView("A", value, (), (), Digits(value, Rounding())), "<b>A</b>")
    assert 'class="map dense"' in text
    assert len(re.findall(r"<td class=h0>0\.02</td>", text)) == 32 * 32
    assert text.count("<td class=gap>") == 33 + 32
