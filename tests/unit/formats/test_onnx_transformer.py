"""The two graphs of a Transformer: their inputs and outputs, their weights, and models that they cannot be."""

import pytest

pytest.importorskip("onnx", reason="it is an extra: pip install '.[onnx]'")

from clearhead.formats.arrays import arrays_of
from clearhead.formats.onnx_graph import IR_VERSION, OPSET, OnnxGraphBuilder
from clearhead.formats.onnx_transformer import key_value_names, onnx_lacks, onnx_models
from clearhead.model import ModelConfig, Transformer
from tests.parity.engine_models import toy

SIZES = {"source_vocabulary": 31, "d_model": 12, "num_heads": 2, "d_ff": 17, "max_length": 23}


def config_of(**changes: object) -> ModelConfig:
    return ModelConfig.model_validate({**SIZES, "encoder_blocks": 1, "decoder_blocks": 2, **changes})


def test_the_graphs_state_their_inputs_outputs_opset_and_format() -> None:
    config = config_of()
    graphs = onnx_models(arrays_of(Transformer(config)))
    for model, name in ((graphs.encoder, "encoder"), (graphs.step, "step")):
        assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", OPSET)]
        assert model.ir_version == IR_VERSION
        properties = {entry.key: entry.value for entry in model.metadata_props}
        assert properties == {"clearhead_onnx": "1", "graph": name, "precision": "float32"}
    assert [value.name for value in graphs.encoder.graph.input] == ["source"]
    assert [value.name for value in graphs.encoder.graph.output] == ["is_hidden", *key_value_names(config, "memory")]
    inputs = ["tokens", "is_hidden", "length", *key_value_names(config, "memory"), *key_value_names(config, "past")]
    assert [value.name for value in graphs.step.graph.input] == inputs
    assert [value.name for value in graphs.step.graph.output] == ["logits", *key_value_names(config, "next")]


def test_a_tied_table_is_stored_once_under_its_name_in_a_checkpoint() -> None:
    model = toy(norm_place="post", sinusoids="blocks", tied="three")
    names = [tensor.name for tensor in onnx_models(arrays_of(model)).step.graph.initializer]
    assert names.count("encoder.embedding.weight") == 1
    assert "output.weight" not in names


def test_int8_takes_about_a_quarter_of_the_size() -> None:
    model = Transformer(config_of(d_model=64, d_ff=128, source_vocabulary=997))
    whole, rounded = (
        len(onnx_models(arrays_of(model), precision).step.SerializeToString())
        for precision in ("float32", "int8")  # type: ignore[arg-type]
    )
    assert rounded < 0.35 * whole


def test_equal_constants_are_stored_once() -> None:
    builder = OnnxGraphBuilder({}, "float32")
    assert builder.constant(0.5) == builder.constant(0.5) != builder.constant(0.25)
    assert builder.constant(0.5) != builder.constant([0.5])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"positions": "rotary"}, "it does not support rotary positions"),
        ({"architecture": "recurrent", "d_ff": None, "num_heads": None}, "the model is recurrent"),
        ({"shape": "decoder"}, "the model has the shape decoder"),
        ({"decoder_blocks": 0}, "it needs at least one decoder layer"),
        ({"encoder_norm": "all"}, "it does not support a norm over all numbers of a sentence"),
        ({"d_model": 4096, "d_ff": 32768, "encoder_blocks": 7}, "a graph can have at most 2 GiB"),
    ],
)
def test_what_the_graphs_cannot_be_is_named(changes: dict[str, object], reason: str | None) -> None:
    options = {**SIZES, "encoder_blocks": 1, "decoder_blocks": 2, **changes}
    found = onnx_lacks(ModelConfig.model_validate({key: own for key, own in options.items() if own is not None}))
    assert (found is None) if reason is None else (found is not None and found.endswith(reason))
