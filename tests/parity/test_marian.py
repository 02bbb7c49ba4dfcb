"""MarianMT of Transformers and the same model here: the same states, logits and translations, and the same files back."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats import export_marian, from_marian, from_marian_tensors, import_marian, load_checkpoint, to_marian
from clearhead.model import ModelConfig, Transformer

transformers = pytest.importorskip("transformers", reason="MarianMT is compared with Hugging Face Transformers")

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10}
BASE: dict[str, Any] = {
    "vocab_size": 53, "pad_token_id": 52, "decoder_start_token_id": 52, "eos_token_id": 0, "forced_eos_token_id": None,
    "d_model": 12, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
    "encoder_ffn_dim": 19, "decoder_ffn_dim": 19, "max_position_embeddings": 31, "activation_function": "swish", "scale_embedding": True,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "as OPUS-MT": {},
    "deep and shallow, relu, unscaled": {"encoder_layers": 5, "decoder_layers": 1, "activation_function": "relu", "scale_embedding": False},
    "gelu, wide": {"activation_function": "gelu", "d_model": 28, "encoder_attention_heads": 7, "decoder_attention_heads": 7, "encoder_ffn_dim": 11, "decoder_ffn_dim": 11},
    "separate vocabularies": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 59, "activation_function": "silu"},
    "separate vocabularies, output of its own": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 61, "tie_word_embeddings": False},
    "one vocabulary, nothing tied": {"tie_word_embeddings": False},
    "odd width, one head, starts from eos": {"d_model": 13, "encoder_attention_heads": 1, "decoder_attention_heads": 1, "decoder_start_token_id": 0, "bos_token_id": 5},
}  # fmt: skip
EACH = pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)


def marian_of(changes: dict[str, Any]) -> Any:
    """Return a random MarianMT model in which every number matters, including norms and the bias of the logits."""
    torch.manual_seed(11)
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**BASE, **changes})).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.3)
        model.final_logits_bias.normal_()
    return model


def sources(pad: int = 52) -> torch.Tensor:
    return torch.tensor([[7, 3, 11, 5, 19, 2, 0], [13, 17, 4, 0, pad, pad, pad], [29, 0, pad, pad, pad, pad, pad]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    marian_of({}).save_pretrained(tmp_path / "marian")
    return tmp_path / "marian"


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@EACH
def test_states_and_logits_are_those_of_transformers(changes: dict[str, Any], dtype: torch.dtype) -> None:
    marian = marian_of(changes).to(dtype)
    model = from_marian_tensors(marian.config.to_dict(), marian.state_dict())
    assert model.output.weight.dtype == dtype
    source = sources()
    start = marian.config.decoder_start_token_id
    target = torch.tensor([[start, 3, 9, 27, 6], [start, 8, 1, 2, 31], [start, 50, 49, 48, 47]])
    with torch.no_grad():
        theirs = marian(input_ids=source, attention_mask=source != 52, decoder_input_ids=target)
        memory = model.encode(source)
        logits = model.decode(target, memory)
    is_real = source != 52
    assert theirs.logits.std() > 0.1, "a model whose logits hardly differ proves nothing"
    wide = theirs.logits.abs().max().clamp(min=1)
    encoder_gap = (memory.states - theirs.encoder_last_hidden_state)[is_real].abs().max()
    logit_gap = (logits - theirs.logits).abs().max() / wide
    assert encoder_gap < TOLERANCES[dtype], encoder_gap
    assert logit_gap < TOLERANCES[dtype], logit_gap


@EACH
def test_greedy_words_are_those_of_transformers(changes: dict[str, Any]) -> None:
    marian = marian_of(changes).double()
    model = from_marian_tensors(marian.config.to_dict(), marian.state_dict())
    source, steps = sources(), 17
    assert marian.generation_config.num_beams in (None, 1), "greedy"
    with torch.no_grad():
        theirs = marian.generate(
            input_ids=source,
            attention_mask=(source != 52).long(),
            max_new_tokens=steps,
            no_repeat_ngram_size=1,
            bad_words_ids=[[52]],
        )
        ours = greedy(model, source, steps)
    assert len({*theirs.flatten().tolist()}) > 10, "a model that writes few words proves nothing"
    assert theirs.tolist() == ours[:, : theirs.shape[1]].tolist()


def greedy(model: Transformer, source: torch.Tensor, steps: int) -> torch.Tensor:
    """Return the start token and `steps` words, one at a time with the cache; padding after eos.

    No word is written twice, because a random model would repeat one word forever; padding is never written.
    """
    memory = model.encode(source)
    cache = model.start_cache(memory, len(source), source.device)
    tokens = torch.full((len(source), 1), model.config.start_id)
    is_done = torch.zeros(len(source), dtype=torch.bool)
    for _ in range(steps):
        logits = model.decode(tokens[:, -1:], memory, cache)[:, -1]
        logits[:, model.config.pad] = float("-inf")
        best = logits.scatter(1, tokens, float("-inf")).argmax(dim=-1)
        best = torch.where(is_done, model.config.pad, best)
        is_done |= best == model.config.eos
        tokens = torch.cat((tokens, best[:, None]), dim=1)
    return tokens


@EACH
def test_the_cache_gives_the_logits_of_the_complete_sentence(changes: dict[str, Any]) -> None:
    marian = marian_of(changes).double()
    model = from_marian_tensors(marian.config.to_dict(), marian.state_dict())
    memory = model.encode(sources())
    target = torch.tensor(
        [[model.config.start_id, 3, 9], [model.config.start_id, 8, 1], [model.config.start_id, 50, 49]]
    )
    cache = model.start_cache(memory, 3, target.device)
    one_by_one = torch.cat([model.decode(target[:, i : i + 1], memory, cache) for i in range(3)], dim=1)
    assert (one_by_one - model.decode(target, memory)).abs().max() < 1e-10


@EACH
def test_a_round_trip_through_files_changes_no_bit(changes: dict[str, Any], tmp_path: Path) -> None:
    marian = marian_of(changes)
    marian.save_pretrained(tmp_path / "first")
    to_marian(from_marian(tmp_path / "first"), tmp_path / "second")
    again, loading_info = transformers.MarianMTModel.from_pretrained(tmp_path / "second", output_loading_info=True)
    assert not any(loading_info[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys")), loading_info
    before, after = marian.state_dict(), again.state_dict()
    unshared = set(before) ^ set(after)
    assert unshared <= {"model.shared.weight"}, unshared
    for name in set(before) - unshared:
        assert torch.equal(before[name], after[name]), name
    settings = [
        "vocab_size",
        "decoder_vocab_size",
        "d_model",
        "encoder_layers",
        "decoder_layers",
        "encoder_attention_heads",
    ]
    settings += [
        "decoder_attention_heads",
        "encoder_ffn_dim",
        "decoder_ffn_dim",
        "max_position_embeddings",
        "scale_embedding",
    ]
    settings += [
        "pad_token_id",
        "eos_token_id",
        "decoder_start_token_id",
        "dropout",
        "attention_dropout",
        "tie_word_embeddings",
    ]
    for name in settings:
        assert getattr(again.config, name) == getattr(marian.config, name), name
    assert again.generation_config.decoder_start_token_id == marian.config.decoder_start_token_id
    assert again.generation_config.bad_words_ids == [[52]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_the_dtype_of_the_file_is_kept(dtype: torch.dtype, tmp_path: Path) -> None:
    marian_of({}).to(dtype).save_pretrained(tmp_path / "first")
    model = from_marian(tmp_path / "first")
    assert model.output.weight.dtype == dtype
    to_marian(model, tmp_path / "second")
    assert transformers.MarianMTModel.from_pretrained(tmp_path / "second", dtype="auto").dtype == dtype
    assert from_marian(tmp_path / "first", dtype=torch.float32).output.weight.dtype == torch.float32


def test_our_own_post_norm_model_is_written_for_transformers(tmp_path: Path) -> None:
    """Without biases anywhere: MarianMT gets zeros."""
    torch.manual_seed(3)
    config = ModelConfig(
        source_vocabulary=53, d_model=12, num_heads=3, d_ff=19, encoder_blocks=1, decoder_blocks=2, max_length=31,
        norm_place="post", sinusoids="blocks", has_bias=False, pad=52, bos=1, eos=0, start="bos",
    )  # fmt: skip
    model = Transformer(config).eval()
    to_marian(model, tmp_path)
    marian = transformers.MarianMTModel.from_pretrained(tmp_path)
    source, target = sources(), torch.tensor([[1, 3, 9], [1, 8, 2], [1, 50, 49]])
    with torch.no_grad():
        theirs = marian(input_ids=source, attention_mask=source != 52, decoder_input_ids=target).logits
        ours = model.decode(target, model.encode(source))
    assert (ours - theirs).abs().max() < 1e-5


# What files repeat or omit


def parts() -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    marian = marian_of({})
    return marian.config.to_dict(), dict(marian.state_dict())


@pytest.mark.parametrize("name_in_file", ["model.shared.weight", "model.encoder.embed_tokens.weight", "lm_head.weight"])
def test_a_shared_table_can_be_stored_under_any_of_its_names(name_in_file: str) -> None:
    config, tensors = parts()
    model = from_marian_tensors(config, tensors)
    names = [
        "model.shared.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    ]
    some = {name: tensor for name, tensor in tensors.items() if name not in names or name == name_in_file}
    assert torch.equal(from_marian_tensors(config, some).output.weight, model.output.weight)


def test_an_omitted_bias_is_zero() -> None:
    config, tensors = parts()
    assert tensors.pop("final_logits_bias").abs().max() > 0
    bias = from_marian_tensors(config, tensors).output.bias
    assert torch.equal(bias, torch.zeros(53))


def test_tables_that_should_be_equal_but_differ_are_rejected() -> None:
    config, tensors = parts()
    tensors["lm_head.weight"] = tensors["lm_head.weight"] + 1
    with pytest.raises(CheckpointError, match="lm_head.weight are one table, but their numbers differ"):
        from_marian_tensors(config, tensors)


def test_learned_positions_are_rejected() -> None:
    config, tensors = parts()
    name = "model.decoder.embed_positions.weight"
    assert name in tensors, "Transformers holds the table, and it is accepted as it is"
    tensors[name] = tensors[name] + 0.1
    with pytest.raises(CheckpointError, match=f"{name} is not the usual table"):
        from_marian_tensors(config, tensors)


# Errors


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decoder_attention_heads": 4}, "different numbers of heads"),
        ({"decoder_ffn_dim": 4}, "different feed-forward widths"),
        ({"activation_function": "gelu_new"}, "activation_function = 'gelu_new' (supported: relu, gelu, silu, swish)"),
        ({"normalize_before": True, "add_final_layer_norm": True}, "normalize_before is true, but MarianMT is post-norm; add_final_layer_norm"),
        ({"normalize_embedding": True}, "normalize_embedding is true"),
        ({"static_position_embeddings": False}, "its positions are learned"),
        ({"decoder_start_token_id": 7}, "decoder_start_token_id = 7 is not pad, eos or bos"),
        ({"eos_token_id": [0, 3]}, "eos_token_id = [0, 3]"),
        ({"is_encoder_decoder": False}, "it has only a decoder"),
        ({"model_type": "bart"}, "config.json is of a 'bart' model"),
        ({"d_model": "wide"}, "config.json is not a MarianMT config: d_model = 'wide'"),
        ({"pad_token_id": None}, "pad_token_id = null"),
        ({"d_model": 14}, "num_heads = 3 does not divide d_model = 14"),
        ({"encoder_layers": 3}, "16 tensors are missing (model.encoder.layers.2.self_attn_layer_norm.weight, "),
        ({"vocab_size": 60}, "model.shared.weight is 53×12 instead of 60×12, final_logits_bias is 53 instead of 60"),
        ({"decoder_layers": 1}, "26 tensors are not part of this model (model.decoder.layers.1."),
    ],
)  # fmt: skip
def test_an_unsupported_config_is_reported(changes: dict[str, Any], sentence: str, folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
    with pytest.raises(CheckpointError) as wrong:
        from_marian(folder)
    assert sentence in str(wrong.value)
    assert str(wrong.value).startswith(str(folder))


def test_pickled_weights_are_rejected_with_the_code_that_converts_them(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        CheckpointError, match="pytorch_model.bin is a pickle.*MarianMTModel as M; M.from_pretrained.*save_pretrained"
    ):
        from_marian(folder)


MARIAN_LIKE: dict[str, Any] = {
    "source_vocabulary": 13, "d_model": 6, "num_heads": 1, "d_ff": 7, "encoder_blocks": 1, "decoder_blocks": 1,
    "max_length": 11, "norm_place": "post", "sinusoids": "blocks",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"norm_place": "pre"}, "it is pre-norm"),
        ({"has_last_norm": True}, "a norm after its last layer"),
        ({"encoder_norm": "all"}, "its norms are all and layer"),
        ({"decoder_norm": "rms", "is_gated": True}, "its norms are layer and rms (MarianMT: layer); its feed-forward network is gated"),
        ({"positions": "rotary"}, "its positions are rotary"),
        ({"scale_scores": False}, "its attention scores are not scaled"),
        ({"positions": "learned"}, "its positions are learned"),
        ({"sinusoids": "pairs"}, "sines and cosines alternate"),
        ({"d_decoder": 9, "tied": "two"}, "d_decoder = 9 is not d_model = 6"),
        ({"epsilon": 1e-6}, "epsilon = 1e-06 (MarianMT: 1e-05)"),
        ({"shape": "decoder"}, "it is a decoder, not an encoder-decoder"),
        ({"shape": "encoder", "num_classes": 3}, "it is an encoder, not an encoder-decoder"),
    ],
)  # fmt: skip
def test_a_model_that_marian_does_not_support_is_rejected(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    model = Transformer(ModelConfig.model_validate({**MARIAN_LIKE, **changes}))
    with pytest.raises(CheckpointError) as wrong:
        to_marian(model, tmp_path)
    assert sentence in str(wrong.value)
    assert not list(tmp_path.iterdir())


# Complete folders


def test_the_files_of_the_tokenizer_are_copied_with_the_model(folder: Path, tmp_path: Path) -> None:
    for name in ("source.spm", "target.spm", "vocab.json"):
        (folder / name).write_bytes(b"of " + name.encode())
    model = import_marian(folder, tmp_path / "checkpoint")
    assert torch.equal(load_checkpoint(tmp_path / "checkpoint").output.weight, model.output.weight)
    export_marian(tmp_path / "checkpoint", tmp_path / "back")
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (tmp_path / "back" / name).read_bytes() == b"of " + name.encode()
    before = transformers.MarianMTModel.from_pretrained(folder).state_dict()
    after = transformers.MarianMTModel.from_pretrained(tmp_path / "back").state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_checkpoint_and_a_marian_folder_do_not_overwrite_each_other(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="belongs to another program"):
        import_marian(folder, folder)
    import_marian(folder, tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match="is not a MarianMT config and would be overwritten"):
        export_marian(tmp_path / "checkpoint", tmp_path / "checkpoint")
