"""Traces of recurrent and convolutional models as worksheets: full marks, and the steps of the exercises by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from clearhead import solve
from clearhead.check import mark_worksheet
from clearhead.errors import TraceError
from clearhead.explain.trace_file import sheet_of_trace
from clearhead.model import Batch, build_model
from clearhead.model.base import SequenceModel
from clearhead.model.config import read_config
from clearhead.model.float64 import trace_in_float64
from clearhead.worksheet.part import part_of_sheet
from clearhead.worksheet.worksheet import Worksheet

SOURCE = [[5, 7, 2, 0, 0], [3, 4, 6, 8, 2]]
TARGET = [[5, 2, 0], [3, 4, 2]]
SHORT, LONG = 3, 5  # tokens of the two source sentences
TOKENS, TARGET_TOKENS = ["we", "go", "home", "now", "</s>"], ["<s>", "vamos", "ya"]
RECURRENT: dict[str, Any] = {"architecture": "recurrent", "encoder_blocks": 1, "decoder_blocks": 1}
CONVOLUTIONAL: dict[str, Any] = {"architecture": "convolutional", "encoder_blocks": 2, "decoder_blocks": 1}
MODELS = [
    RECURRENT | {"cell": "gru", "attention": "scaled", "decoder_blocks": 2},
    RECURRENT | {"cell": "lstm", "attention": "additive"},
    RECURRENT | {"cell": "gru", "attention": "multiplicative", "is_bidirectional": False, "has_input_feeding": True},
    RECURRENT | {"cell": "lstm", "attention": "none"},
    RECURRENT | {"cell": "gru", "shape": "encoder", "num_classes": 3},
    RECURRENT | {"cell": "lstm", "shape": "decoder"},
    CONVOLUTIONAL,
    CONVOLUTIONAL | {"shape": "encoder", "num_classes": 3, "kernel": 5},
    CONVOLUTIONAL | {"shape": "decoder"},
]


def make_model(options: dict[str, Any]) -> SequenceModel:
    torch.manual_seed(1)
    model = build_model(read_config({"source_vocabulary": 11, "d_model": 4, "max_length": 17, **options})).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases too: with 0 a missing one would not be noticed
            parameter.normal_(std=0.7)
    return model


def batch(options: dict[str, Any]) -> Batch:
    shape = options.get("shape")
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    return Batch(None if shape == "decoder" else source, None if shape == "encoder" else target)


def names_of(options: dict[str, Any]) -> dict[str, list[str]]:
    shape = options.get("shape")
    if shape == "decoder":
        return {"tokens": TARGET_TOKENS}
    return {"tokens": TOKENS} if shape == "encoder" else {"tokens": TOKENS, "target_tokens": TARGET_TOKENS}


@pytest.mark.parametrize("options", MODELS, ids=["-".join(map(str, options.values())) for options in MODELS])
def test_every_sentence_of_a_traced_batch_gets_full_marks(options: dict[str, Any]) -> None:
    model, inputs = make_model(options), batch(options)
    for precision, (output, trace) in {
        "float32": model.trace(inputs),
        "float64": trace_in_float64(model, inputs),
    }.items():
        for sentence, names in ((0, {}), (1, names_of(options))):
            sheet = Worksheet.from_json(sheet_of_trace(trace, sentence, **names).to_json())  # type: ignore[arg-type]
            assert sheet.precision == precision
            report = mark_worksheet(sheet)
            assert report.earned == report.out_of == 2.0 * len(trace), (report.counts, report.findings[:1])
            expected = output[sentence].detach().double().numpy()
            np.testing.assert_array_equal(sheet.answer, np.atleast_2d(expected))


def part_of(options: dict[str, Any], place: str) -> Worksheet:
    _, trace = trace_in_float64(make_model(options), batch(options))
    return part_of_sheet(sheet_of_trace(trace, 1, "", TOKENS, TARGET_TOKENS), place)


def given(sheet: Worksheet, symbol: str) -> Any:
    """Return a given matrix, a vector without its second axis."""
    value = next(entry.value for entry in sheet.trace.givens.values() if entry.symbol == symbol)
    return value.tolist() if value.ndim == 1 or len(value) > 1 else value[0].tolist()


def test_a_step_of_a_gru_is_the_exercise_with_its_weights() -> None:
    part = part_of(MODELS[0], "encoder.0.forward.time.2")
    assert "Encoder layer 1 · Forward direction · Time step 3 · Update gate" in part.to_markdown()
    gates = {
        gate: {name: given(part, f"{name}_{letter}") for name in "WUbc"}
        for gate, letter in (("reset", "r"), ("update", "z"), ("candidate", "n"))
    }
    exercise = {"kind": "recurrent", "X": [given(part, "x₃")], "gru": gates, "h0": given(part, "h_forward₂")}
    sheet = solve(exercise)
    np.testing.assert_allclose(part.value("h_forward₃"), sheet.answer, rtol=0, atol=1e-12)
    lines = [(record.step.name, record.symbol.replace("_forward₃", "₁").replace("₃", "₁")) for record in part.trace]
    assert lines == [(record.step.name, record.symbol) for record in sheet.trace][1:], "all but x₁ = row 1 of X"


def test_a_step_of_an_lstm_is_the_exercise_with_its_weights() -> None:
    part = part_of(MODELS[1], "encoder.0.reverse.time.3")
    gates = {}
    for gate, letter in {"forget": "f", "input": "i", "candidate": "g", "output": "o"}.items():
        biases = np.add(given(part, f"b_{letter}"), given(part, f"c_{letter}"))
        weights = {name: given(part, f"{name}_{letter}") for name in "WU"}
        gates[gate] = weights | {"b": biases.tolist()}  # an exercise has one bias
    states = {"h0": given(part, "h_reverse₅″"), "c0": given(part, "c₅″")}  # this direction reads the last token first
    sheet = solve({"kind": "recurrent", "X": [given(part, "x₄")], "lstm": gates, **states})
    np.testing.assert_allclose(part.value("h_reverse₄"), sheet.answer, rtol=0, atol=1e-12)


def test_the_directions_of_a_layer_have_different_names() -> None:
    _, trace = trace_in_float64(make_model(MODELS[0]), batch(MODELS[0]))
    sheet = sheet_of_trace(trace, 0)
    page = part_of_sheet(sheet, "encoder.0.time.0").to_markdown()
    assert "h₁ = \\[h<sub>forward₁</sub>; h<sub>reverse₁</sub>\\]" in page
    single = make_model(MODELS[0] | {"is_bidirectional": False})
    _, trace = trace_in_float64(single, batch(MODELS[0]))
    assert sheet_of_trace(trace, 0).value("h₁", "encoder.0.*").shape == (1, single.config.d_model)


@pytest.mark.parametrize(
    ("number", "score", "weights"),
    [(0, "scaled-dot", ()), (1, "additive", ("W_s", "v")), (2, "multiplicative", ())],
)
def test_a_step_of_attention_is_the_exercise_with_its_states(number: int, score: str, weights: tuple[str, ...]) -> None:
    options = MODELS[number]
    _, trace = trace_in_float64(make_model(options), batch(options))
    sheet = sheet_of_trace(trace, 1, "", TOKENS, TARGET_TOKENS)
    part = part_of_sheet(sheet, "decoder.*.cross_attention.time.1")
    assert " · Cross-attention · Time step 2" in part.to_markdown()
    query = next(record.inputs["parts"][1] for record in part.trace if record.step.name == "join")
    exercise: dict[str, Any] = {
        "kind": "seq2seq-attention", "h": sheet.value("H₅", "encoder.*").tolist(), "s": query[0].tolist(),
        "score": score, "W_c": given(part, "W_c"), **{name: given(part, name) for name in weights},
    }  # fmt: skip
    if score != "scaled-dot":
        name = {"additive": "W_h", "multiplicative": "W"}[score]
        exercise[name] = given(sheet, name)
    worked = solve(exercise)
    np.testing.assert_allclose(part.value("α₂"), worked.value("α"), rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.value("s̃₂"), worked.answer, rtol=0, atol=1e-12)
    report = mark_worksheet(part)
    assert report.earned == report.out_of > 0


@pytest.mark.parametrize(("place", "padding"), [("encoder.1.convolution", "same"), ("decoder.0.convolution", "causal")])
def test_a_convolution_is_the_exercise_with_its_filter(place: str, padding: str) -> None:
    part = part_of(CONVOLUTIONAL, place)
    assert " · Convolution" in part.to_markdown()
    record = next(record for record in part.trace if record.step.name == "convolve")
    taps = [tap.tolist() for tap in record.inputs["taps"]]
    exercise = {"kind": "convolution", "X": record.inputs["x"].tolist(), "taps": taps, "padding": padding}
    sheet = solve(exercise | {"b": record.inputs["b"].tolist()})
    np.testing.assert_allclose(record.value, sheet.answer, rtol=0, atol=1e-12)
    report = mark_worksheet(part)
    assert report.earned == report.out_of > 0


@pytest.mark.parametrize(("options", "place"), [(MODELS[0], "encoder.0.reverse.time.1"), (MODELS[6], "decoder.*")])
def test_a_wrong_number_of_a_part_costs_marks(options: dict[str, Any], place: str) -> None:
    sheet = part_of(options, place)
    for number in range(0, len(sheet.trace), 4):
        value = sheet.trace[number].value
        before, value.flags.writeable = value[0, 0], True
        value[0, 0] = 1e-3 if np.isinf(before) else before + 1e-3
        report = mark_worksheet(sheet)
        assert report.earned < report.out_of, sheet.trace[number].symbol
        value[0, 0] = before


def test_a_time_step_traced_alone_equals_that_step_of_the_complete_trace() -> None:
    place, model = "encoder.0.forward.time.2", make_model(MODELS[0])
    _, alone = trace_in_float64(model, batch(MODELS[0]), only=[place])
    part = part_of(MODELS[0], place)
    assert [r.value.tolist() for r in sheet_of_trace(alone, 1).trace] == [r.value.tolist() for r in part.trace]


def test_padding_of_a_convolution_is_cut_and_its_windows_with_it() -> None:
    _, trace = trace_in_float64(make_model(CONVOLUTIONAL), batch(CONVOLUTIONAL))
    for sentence, length in ((0, SHORT), (1, LONG)):
        sheet = sheet_of_trace(trace, sentence)
        shapes = {record.value.shape for record in sheet.trace.find("convolve", "encoder.*")}
        assert shapes == {(length, 4)}
    assert sheet_of_trace(trace, 1, target_tokens=["<s>", "vamos"]).answer.shape == (2, 11), "a decoder can be cut"


@pytest.mark.parametrize(
    ("options", "sentence", "message"),
    [
        (MODELS[0], 0, "tokens has 3 names, but sentence 0 has 5 tokens with its padding, which is part of the steps of this model. Trace the sentence alone, or give 5 names."),
        (CONVOLUTIONAL, 1, "tokens has 3 names, but sentence 1 has 5 tokens. Give 5 names, or omit tokens."),
    ],
)  # fmt: skip
def test_tokens_that_others_depend_on_are_not_cut(options: dict[str, Any], sentence: int, message: str) -> None:
    _, trace = trace_in_float64(make_model(options), batch(options))
    with pytest.raises(TraceError) as wrong:
        sheet_of_trace(trace, sentence, tokens=TOKENS[:3])
    assert str(wrong.value) == message
