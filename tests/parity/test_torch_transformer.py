"""The blocks of torch.nn.Transformer and the same blocks here: the same states under the same masks, in and out."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from clearhead.errors import CheckpointError
from clearhead.model import Mask, ModelConfig, Transformer
from clearhead.steps import NO_TRACE
from tests.parity.torch_module import from_torch_transformer, to_torch_transformer

TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-12}
CONFIG = ModelConfig(source_vocabulary=23, target_vocabulary=29, tied="two", max_length=17)
BASE: dict[str, Any] = {
    "d_model": 14, "nhead": 7, "num_encoder_layers": 2, "num_decoder_layers": 3, "dim_feedforward": 11, "dropout": 0.3, "batch_first": True,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "post-norm, relu": {},
    "pre-norm, relu": {"norm_first": True},
    "post-norm, gelu, batch second": {"activation": "gelu", "batch_first": False, "nhead": 2},
    "pre-norm, gelu, other epsilon": {"activation": "gelu", "norm_first": True, "layer_norm_eps": 1e-3},
    "pre-norm, silu, no bias": {"activation": functional.silu, "norm_first": True, "bias": False},
    "post-norm, relu module, no bias": {"activation": nn.ReLU(), "bias": False},
}
EACH = pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
SOURCE = torch.tensor([[3, 5, 7, 11, 2], [13, 2, 0, 0, 0]])
TARGET = torch.tensor([[1, 4, 6, 8, 9, 10, 2], [1, 12, 14, 2, 0, 0, 0]])


def torch_of(**changes: Any) -> nn.Transformer:
    """Return a random nn.Transformer in which every number matters, including biases and norms."""
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nn.Transformer warns of its own nested tensors
        module = nn.Transformer(**{**BASE, **changes})
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return module.eval()


def states_of(module: nn.Transformer, model: Transformer, mask: Tensor, keys: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the module's encoder and decoder states over our embeddings; `mask` (T, T) is True where it may attend."""
    assert model.encoder is not None
    assert model.decoder is not None
    places = torch.arange(7)[None]
    x, y = model.encoder.embed(SOURCE, places[:, :5], NO_TRACE), model.decoder.embed(TARGET, places, NO_TRACE)
    is_turned = not module.encoder.layers[0].self_attn.batch_first
    x, y = (embedded.transpose(0, 1) if is_turned else embedded for embedded in (x, y))
    memory = module.encoder(x, src_key_padding_mask=SOURCE == 0)
    hidden = None if keys is None else ~keys
    states = module.decoder(y, memory, tgt_mask=~mask, tgt_key_padding_mask=hidden, memory_key_padding_mask=SOURCE == 0)
    return (memory.transpose(0, 1), states.transpose(0, 1)) if is_turned else (memory, states)


def assert_same_states(module: nn.Transformer, model: Transformer, dtype: torch.dtype) -> None:
    causal = torch.ones(7, 7, dtype=torch.bool).tril()
    narrow = causal & torch.ones(7, 7, dtype=torch.bool).triu(-2)  # each token sees itself and two before it
    keys = TARGET != 0
    masks = {
        "causal": (causal, None, Mask(is_causal=True)),
        "a band of three": (narrow, None, Mask(explicit=narrow)),
        "causal, padding hidden": (causal, keys, Mask(keys=keys, is_causal=True)),
        "everything": (torch.ones_like(causal), None, Mask()),
    }
    for name, (allowed, hidden, mask) in masks.items():
        for is_learning in (True, False):  # without gradients nn.TransformerEncoder uses another code path
            with torch.set_grad_enabled(is_learning):
                memory, states = states_of(module, model, allowed, hidden)
                ours = model.encode(SOURCE)
                again = model.decode_states(TARGET, ours, mask=mask)
            # relative to the largest number: rounding errors of float32 add up over six post-norm layers
            gap = ((ours.states - memory)[SOURCE != 0].abs().max() / memory.abs().max()).item()
            assert gap < TOLERANCES[dtype], f"{name}: encoder states differ by {gap}"
            gap = ((again - states).abs().max() / states.abs().max()).item()
            assert gap < TOLERANCES[dtype], f"{name}: decoder states differ by {gap}"


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@EACH
def test_the_same_states_come_from_the_same_numbers(changes: dict[str, Any], dtype: torch.dtype) -> None:
    module = torch_of(**changes).to(dtype)
    model = from_torch_transformer(module, CONFIG)
    assert model.output.weight.dtype == dtype
    assert not model.training
    assert_same_states(module, model, dtype)
    assert_same_states(to_torch_transformer(model), model, dtype)


@EACH
def test_a_round_trip_changes_no_bit_and_no_setting(changes: dict[str, Any]) -> None:
    module = torch_of(**changes)
    again = to_torch_transformer(from_torch_transformer(module, CONFIG))
    before, after = module.state_dict(), again.state_dict()
    for name, tensor in before.items():
        assert torch.equal(after[name], tensor), name
    assert all(name.endswith(".bias") and not after[name].any() for name in set(after) - set(before))
    for layer in (again.encoder.layers[1], again.decoder.layers[2]):
        theirs = module.encoder.layers[1]
        assert (layer.norm_first, layer.norm1.eps) == (theirs.norm_first, theirs.norm1.eps)
        assert layer.dropout.p == layer.dropout1.p == layer.self_attn.dropout == 0.3


def test_settings_are_read_from_the_module_and_the_rest_from_the_config() -> None:
    config = from_torch_transformer(torch_of(activation="gelu"), CONFIG).config
    assert config == CONFIG.model_copy(
        update={
            "d_model": 14, "num_heads": 7, "encoder_blocks": 2, "decoder_blocks": 3, "d_ff": 11, "norm_place": "post", "activation": "gelu",
            "has_last_norm": True, "dropout": 0.3, "attention_dropout": 0.3, "activation_dropout": 0.3,
        }
    )  # fmt: skip


def test_the_three_dropout_rates_stay_separate() -> None:
    config = CONFIG.model_copy(
        update={"d_model": 6, "num_heads": 3, "dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.4}
    )
    again = from_torch_transformer(to_torch_transformer(Transformer(config)), CONFIG).config
    assert (again.dropout, again.attention_dropout, again.activation_dropout) == (0.1, 0.2, 0.4)


def test_a_post_norm_model_without_last_norms_has_none_in_torch() -> None:
    config = CONFIG.model_copy(
        update={"d_model": 6, "num_heads": 3, "norm_place": "post", "encoder_blocks": 1, "decoder_blocks": 1}
    )
    torch.manual_seed(1)
    model = Transformer(config).double().eval()
    module = to_torch_transformer(model)
    assert module.encoder.norm is None
    assert_same_states(module, model, torch.float64)
    assert from_torch_transformer(module, CONFIG).config.ends_with_norm is False


def test_shifts_of_norms_are_kept_if_projections_have_no_bias() -> None:
    config = CONFIG.model_copy(
        update={"d_model": 6, "num_heads": 3, "has_bias": False, "encoder_blocks": 1, "decoder_blocks": 1}
    )
    torch.manual_seed(1)
    model = Transformer(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    assert_same_states(to_torch_transformer(model), model, torch.float64)


def test_converting_a_model_does_not_change_the_random_state() -> None:
    config = CONFIG.model_copy(update={"d_model": 6, "num_heads": 3})
    model = Transformer(config)
    before = torch.random.get_rng_state()
    to_torch_transformer(model)
    assert torch.equal(torch.random.get_rng_state(), before)


# Errors


def different_layers(module: nn.Transformer) -> None:
    module.decoder.layers[1].activation = functional.gelu


def no_last_norm(module: nn.Transformer) -> None:
    module.encoder.norm = None


def other_last_norm(module: nn.Transformer) -> None:
    module.encoder.norm, module.decoder.norm = nn.RMSNorm(14), nn.RMSNorm(14)


def tanh_gelu(module: nn.Transformer) -> None:
    module.encoder.layers[0].activation = nn.GELU(approximate="tanh")


def custom_encoder(module: nn.Transformer) -> None:
    module.encoder = nn.Identity()


def no_layers(module: nn.Transformer) -> None:
    module.encoder.layers = nn.ModuleList()


def other_keys(module: nn.Transformer) -> None:
    module.decoder.layers[0].multihead_attn = nn.MultiheadAttention(14, 7, kdim=5, vdim=5, batch_first=True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (different_layers, "differ in activation: relu, gelu. They must be the same"),
        (no_last_norm, "the last norms of this nn.Transformer differ"),
        (other_last_norm, r"2 tensors are not part of this model \(encoder.norm.weight, decoder.norm.weight\)"),
        (tanh_gelu, "activation is GELU. Supported: relu, gelu, silu"),
        (custom_encoder, "custom encoder or decoder"),
        (no_layers, "no layers on one side"),
        (other_keys, r"1 tensor is missing \(decoder.layers.0.multihead_attn.in_proj_weight\)"),
    ],
)
def test_a_module_that_is_not_the_usual_one_is_refused(change: Any, sentence: str) -> None:
    module = torch_of()
    change(module)
    with pytest.raises(CheckpointError, match=sentence):
        from_torch_transformer(module, CONFIG)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shape": "decoder"}, "its shape is decoder"),
        ({"d_decoder": 9}, "d_decoder = 9 is not d_model = 6"),
        ({"is_gated": True, "encoder_norm": "rms"}, "its feed-forward network is gated; its norms are not layer norms"),
        ({"positions": "rotary"}, "rotary"),
        ({"scale_scores": False}, "its attention scores are not scaled"),
        ({"encoder_blocks": 0}, "one side has no layers"),
    ],
)
def test_a_model_that_torch_does_not_support_is_rejected(changes: dict[str, Any], sentence: str) -> None:
    small = {
        "source_vocabulary": 13,
        "tied": "two",
        "d_model": 6,
        "num_heads": 3 if "positions" not in changes else 1,
        "max_length": 5,
    }
    with pytest.raises(CheckpointError, match=sentence):
        to_torch_transformer(Transformer(ModelConfig.model_validate({**small, **changes})))


def test_a_config_that_contradicts_the_module_is_reported() -> None:
    config = ModelConfig(source_vocabulary=23, positions="rotary", d_model=8, num_heads=1)
    with pytest.raises(
        CheckpointError,
        match="does not match this nn.Transformer: model: rotary positions need heads of even width.*Change one of them",
    ):
        from_torch_transformer(torch_of(d_model=21), config)
