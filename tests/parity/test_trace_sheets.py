"""A model's own trace, as a worksheet, gets full marks from the marker of students' workings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from clearhead.check import mark_worksheet
from clearhead.errors import TraceError
from clearhead.explain.trace_file import save_trace, sheet_of_trace
from clearhead.model import Batch, ModelConfig, Transformer
from clearhead.model.float64 import trace_in_float64
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from clearhead.steps import Record, Trace
from clearhead.worksheet.part import part_of_sheet
from clearhead.worksheet.worksheet import Worksheet

SOURCE = [[5, 7, 11, 2, 0, 0, 0], [3, 4, 6, 8, 9, 10, 2]]
TARGET = [[5, 7, 2, 0, 0], [3, 4, 6, 8, 2]]
SHORT, LONG = 4, 7  # tokens of the two source sentences

# shape, encoder norm, positions, activation, gated, norm place, biases: each value with each shape at least once
MODELS = [
    ("encoder-decoder", "layer", "sinusoidal", "relu", False, "pre", True),
    ("encoder-decoder", "rms", "rotary", "silu", True, "pre", False),
    ("encoder-decoder", "all", "learned", "gelu", False, "post", True),
    ("encoder-decoder", "all", "none", "relu", True, "pre", False),
    ("encoder-decoder", "layer", "rotary", "gelu", True, "post", True),
    ("encoder", "layer", "learned", "silu", False, "post", False),
    ("encoder", "rms", "sinusoidal", "gelu", True, "post", True),
    ("encoder", "all", "rotary", "relu", False, "pre", True),
    ("encoder", "all", "none", "silu", True, "post", False),
    ("decoder", "layer", "rotary", "silu", False, "post", True),
    ("decoder", "rms", "learned", "relu", True, "pre", False),
    ("decoder", "rms", "none", "gelu", False, "post", True),
    ("decoder", "layer", "sinusoidal", "gelu", True, "pre", False),
]


def model_of(shape, norm, positions, activation, is_gated, norm_place, has_bias) -> Transformer:  # type: ignore[no-untyped-def]
    config = ModelConfig(
        shape=shape,
        num_classes=3 if shape == "encoder" else None,
        source_vocabulary=13,
        encoder_blocks=1,
        decoder_blocks=1,
        d_model=6,
        num_heads=3,
        d_ff=5,
        max_length=17,
        encoder_norm=norm,
        decoder_norm="layer" if norm == "all" else norm,
        norm_place=norm_place,
        positions=positions,
        activation=activation,
        is_gated=is_gated,
        has_bias=has_bias,
    )
    torch.manual_seed(1)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # gains and biases too: with 1 and 0 a missing one would not be noticed
            parameter.normal_(std=0.7)
    return model


def batch(shape: str = "encoder-decoder") -> Batch:
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    return Batch(None if shape == "decoder" else source, None if shape == "encoder" else target)


PLAIN = MODELS[0]


@pytest.mark.parametrize("options", MODELS, ids=["-".join(map(str, options)) for options in MODELS])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_every_sentence_of_a_traced_batch_gets_full_marks(options: tuple[object, ...], precision: str) -> None:
    model = model_of(*options)
    inputs = batch(str(options[0]))
    output, trace = model.trace(inputs) if precision == "float32" else trace_in_float64(model, inputs)
    for sentence in (0, 1):
        sheet = Worksheet.from_json(sheet_of_trace(trace, sentence).to_json())
        assert sheet.precision == precision
        report = mark_worksheet(sheet)
        assert report.earned == report.out_of == 2.0 * len(trace), (report.counts, report.findings[:1])
        assert not report.findings
        expected = output[sentence].detach().double().numpy()
        np.testing.assert_array_equal(sheet.answer, np.atleast_2d(expected))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_one_wrong_number_anywhere_in_a_trace_costs_marks(precision: str) -> None:
    model = model_of(*MODELS[1])
    _, trace = model.trace(batch()) if precision == "float32" else trace_in_float64(model, batch())
    sheet = sheet_of_trace(trace)
    slip = 1e-2 if precision == "float32" else 1e-5
    for index in range(0, len(sheet.trace), 7):
        report = mark_worksheet(_with_slip(sheet, index, slip))
        record = sheet.trace[index]
        assert report.earned < report.out_of, (record.where, record.symbol)
        assert report.findings


def _with_slip(sheet: Worksheet, index: int, slip: float) -> Worksheet:
    """Return the sheet with one number of one record changed, and everything after it as it was."""
    wrong = sheet.trace[index].value.copy()
    wrong[0, 0] = slip if np.isinf(wrong[0, 0]) else wrong[0, 0] + slip
    trace = Trace()
    trace.givens, old = sheet.trace.givens, sheet.trace[index].value

    def put(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(put(part) for part in value)
        return wrong if value is old else value

    for record in sheet.trace:
        inputs = {name: put(value) for name, value in record.inputs.items()}
        trace.records.append(Record(record.step, record.where, inputs, put(record.value), record.symbol))
    return replace(sheet, trace=trace)


def test_the_chain_of_a_trace_is_complete_in_its_sheet() -> None:
    _, trace = model_of(*PLAIN).trace(batch())
    sheet = sheet_of_trace(trace, 1)
    earlier_ids = {id(entry.value) for entry in sheet.trace.givens.values()}
    num_arrays = 0
    for record in sheet.trace:
        for value in record.inputs.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    assert id(part) in earlier_ids, (record.where, record.symbol)
                    num_arrays += 1
        earlier_ids.add(id(record.value))
        assert record.value.ndim == 2
        assert record.value.dtype == np.float64
    assert num_arrays > len(trace)


@pytest.mark.parametrize(("sentence", "length"), [(0, SHORT), (1, LONG)])
def test_padding_of_the_source_is_cut_off_where_the_mask_shows_it(sentence: int, length: int) -> None:
    _, trace = model_of(*MODELS[2]).trace(batch())
    sheet = sheet_of_trace(trace, sentence)
    assert len(sheet.value("X", "input*")) == length
    own = [record.value.shape for record in sheet.trace.find("softmax", "encoder*")]
    across = [record.value.shape for record in sheet.trace.find("softmax", "*cross*")]
    assert set(own) == {(length, length)}
    assert set(across) == {(5, length)}, "the target has no mask for padding, and keeps it"


def test_padding_of_the_target_is_cut_to_its_names() -> None:
    output, trace = model_of(*PLAIN).trace(batch())
    sheet = sheet_of_trace(trace, 0, tokens=["we", "go", "on", "</s>"], target_tokens=["<s>", "vamos", "ya"])
    assert {record.value.shape for record in sheet.trace.find("softmax", "*cross*")} == {(3, SHORT)}
    np.testing.assert_array_equal(sheet.answer, output[0, :3].detach().double().numpy())
    report = mark_worksheet(sheet)
    assert report.earned == report.out_of


def test_every_matrix_has_names_for_its_rows_and_columns() -> None:
    _, trace = model_of(*PLAIN).trace(batch())
    sheet = sheet_of_trace(trace, 0, "we go", ["we", "go", "on", "</s>"], ["<s>", "vamos", "ya"])
    view = sheet.to_markdown("matrices")
    assert sheet.title == "we go"
    masks = {name: g for name, g in sheet.trace.givens.items() if name.endswith("cross_attention.M")}
    assert [(g.rows, g.columns) for g in masks.values()] == [(("<s>", "vamos", "ya"), ("we", "go", "on", "</s>"))]
    assert "vamos" in view
    padded = sheet_of_trace(trace, 0, tokens=["we", "go", "on", "</s>", "-", "-", "-"])
    assert len(padded.value("X", "input*")) == SHORT, "names of padding are cut with it"


def test_a_sentence_of_only_padding_is_not_shortened() -> None:
    empty = Batch(torch.tensor([SOURCE[1], [0] * 7]), torch.tensor(TARGET))
    trace = PartTrace()
    model_of(*PLAIN).double()(empty, probe=Probe(trace))  # trace() itself refuses such a batch
    sheet = sheet_of_trace(trace, 1)
    assert sheet.trace.find("softmax", "encoder*")[0].value.tolist() == [[0.0] * 7] * 7
    report = mark_worksheet(sheet)
    assert report.earned == report.out_of


def test_tables_keep_only_the_rows_that_were_looked_up() -> None:
    model = model_of(*PLAIN)
    _, trace = trace_in_float64(model, batch())
    sheet = sheet_of_trace(trace)
    table = sheet.trace.givens["input.E"]
    used = sorted(set(SOURCE[0][:SHORT]) | {1, *TARGET[0][:-1]})
    assert table.rows == tuple(map(str, used))
    np.testing.assert_array_equal(table.value, model.encoder.embedding.weight.detach().double().numpy()[used])
    assert sheet.trace.givens["input.position.P"].value.shape == (SHORT, 6)


def test_a_part_traced_alone_equals_that_part_of_the_complete_trace() -> None:
    model, place = model_of(*PLAIN), "decoder.0.cross_attention"
    _, full_trace = trace_in_float64(model, batch())
    _, alone = trace_in_float64(model, batch(), only=[place])
    part = part_of_sheet(sheet_of_trace(full_trace, 1), place)
    other = sheet_of_trace(alone, 1, tokens=list("abcdefg"), target_tokens=list("vwxyz"))
    assert [r.value.tolist() for r in other.trace] == [r.value.tolist() for r in part.trace]
    report = mark_worksheet(other)
    assert report.earned == report.out_of > 0
    assert {entry.rows for entry in other.trace.givens.values() if entry.symbol == "M"} == {tuple("vwxyz")}


def test_the_inputs_of_a_part_traced_alone_keep_their_symbols() -> None:
    model, head = model_of(*PLAIN), "encoder.0.self_attention.head.1"
    _, alone = trace_in_float64(model, batch(), only=[head])
    assert [entry.symbol for entry in sheet_of_trace(alone).trace.givens.values()] == ["Q", "K", "V", "M"]


def test_one_head_opens_from_a_trace() -> None:
    _, trace = trace_in_float64(model_of(*PLAIN), batch())
    part = part_of_sheet(sheet_of_trace(trace), "encoder.0.self_attention.head.2")
    assert [entry.symbol for entry in part.trace.givens.values()] == ["Q", "K", "V", "M"]
    assert [record.symbol for record in part.trace] == ["Q₃", "K₃", "V₃", "S₃", "S′₃", "S″₃", "A₃", "Z₃"]
    assert "Encoder layer 1 · Self-attention · Head 3" in part.to_markdown()


def test_the_last_norms_have_their_own_headings() -> None:
    _, trace = trace_in_float64(model_of(*PLAIN), batch())
    text = sheet_of_trace(trace).to_markdown("products")
    assert "Encoder · Final norm" in text
    assert "Decoder · Final norm" in text


def test_a_fused_layer_norm_shows_the_mean_and_variance_of_its_token() -> None:
    _, trace = trace_in_float64(model_of(*PLAIN), batch())
    part = part_of_sheet(sheet_of_trace(trace), "encoder.norm")
    x = part.trace[0].inputs["x"][0]
    lines = [line for line in part.to_markdown("products").splitlines() if f"√({np.var(x):.6g} + 0.00001)" in line]
    assert len(lines) == 6, "one for each cell of the first row"


def test_the_model_itself_does_not_change() -> None:
    model = model_of(*PLAIN).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    output, trace = trace_in_float64(model, batch())
    assert output.dtype == torch.float64
    assert {record.value.dtype for record in trace} == {torch.float64}
    assert model.training
    assert {value.dtype for value in model.parameters()} == {torch.float32}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_save_trace_writes_the_complete_sheet(tmp_path: Path) -> None:
    _, trace = model_of(*PLAIN).trace(batch())
    save_trace(trace, tmp_path / "trace.json", 1, "saved")
    sheet = Worksheet.from_json((tmp_path / "trace.json").read_bytes())
    assert sheet == sheet_of_trace(trace, 1, "saved")
    assert sheet.warnings == ("Computed in float32; use trace_in_float64 for more digits.",)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"], "no temporary file is left"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"sentence": 2}, "sentence = 2, but the batch has 2 sentences. Give 0 to 1."),
        ({"sentence": -1}, "sentence = -1, but the batch has 2 sentences. Give 0 to 1."),
        ({"tokens": ["a"]}, "tokens has 1 names, but sentence 0 has 4 tokens (7 with its padding). Give 4 names, or omit tokens."),
        ({"tokens": list("abcdefgh")}, "tokens has 8 names, but sentence 0 has 4 tokens (7 with its padding). Give 4 names, or omit tokens."),
        ({"target_tokens": list("abcdef")}, "target_tokens has 6 names, but sentence 0 has 5 tokens. Give 5 names, or omit target_tokens."),
    ],
)  # fmt: skip
def test_names_and_sentences_that_do_not_fit_are_reported(arguments: dict[str, object], sentence: str) -> None:
    _, trace = model_of(*PLAIN).trace(batch())
    with pytest.raises(TraceError) as wrong:
        sheet_of_trace(trace, **arguments)  # type: ignore[arg-type]
    assert str(wrong.value) == sentence


def test_an_empty_trace_and_two_names_for_one_side_are_reported() -> None:
    with pytest.raises(TraceError, match="this trace has no steps"):
        sheet_of_trace(Trace())
    _, trace = model_of(*MODELS[9]).trace(batch("decoder"))
    with pytest.raises(TraceError, match="this trace has only a decoder"):
        sheet_of_trace(trace, tokens=list("abcde"), target_tokens=list("abcde"))
    assert sheet_of_trace(trace, tokens=list("abcde")).trace.givens["target.tokens"].rows == tuple("abcde")
