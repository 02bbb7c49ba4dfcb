"""The tensors of a recurrent model, counted by hand."""

from clearhead.formats.recurrent_shapes import recurrent_tensors
from clearhead.model.config import read_config


def tensors(**changes: object) -> dict[str, tuple[int, ...]]:
    sizes = {"source_vocabulary": 11, "encoder_blocks": 1, "decoder_blocks": 2, "d_model": 6}
    return dict(recurrent_tensors(read_config({"architecture": "recurrent", **sizes, **changes})))


def test_an_lstm_with_attention() -> None:
    encoder = {
        f"encoder.layers.0.{direction}_cell.{name}": shape
        for direction in ("forward", "reverse")
        for name, shape in {  # four gates, and half of the width for each direction
            "weight_ih_l0": (12, 6),
            "weight_hh_l0": (12, 3),
            "bias_ih_l0": (12,),
            "bias_hh_l0": (12,),
        }.items()
    }
    decoder = {
        f"decoder.layers.{number}.{name}": shape
        for number in range(2)
        for name, shape in {
            "weight_ih_l0": (24, 6),
            "weight_hh_l0": (24, 6),
            "bias_ih_l0": (24,),
            "bias_hh_l0": (24,),
        }.items()
    }
    assert tensors() == {
        "encoder.embedding.weight": (11, 6),
        **encoder,
        **decoder,
        "decoder.bridge.weight": (24, 6),  # a state and a cell state for each of two layers
        "decoder.bridge.bias": (24,),
        "decoder.attention.output.weight": (6, 12),
    }


def test_a_gru_has_three_gates_and_one_state() -> None:
    shapes = tensors(cell="gru", is_bidirectional=False, attention="additive", has_input_feeding=True, tied="none")
    assert shapes["encoder.layers.0.forward_cell.weight_ih_l0"] == (18, 6)
    assert not any("reverse" in name for name in shapes)
    assert shapes["decoder.layers.0.weight_ih_l0"] == (18, 12)  # a token and the last attentional state
    assert shapes["decoder.layers.1.weight_ih_l0"] == (18, 6)
    assert shapes["decoder.bridge.weight"] == (12, 6)
    attention = {name: shape for name, shape in shapes.items() if name.startswith("decoder.attention")}
    assert attention == {
        "decoder.attention.query.weight": (6, 6),
        "decoder.attention.key.weight": (6, 6),
        "decoder.attention.score.weight": (1, 6),
        "decoder.attention.output.weight": (6, 12),
    }
    assert shapes["output.weight"] == (11, 6)


def test_a_language_model_has_no_bridge() -> None:
    shapes = tensors(shape="decoder")
    assert shapes["decoder.embedding.weight"] == (11, 6)
    assert not any(name.startswith(("decoder.bridge", "decoder.attention", "encoder", "output")) for name in shapes)
