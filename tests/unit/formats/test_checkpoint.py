"""A model is saved to a folder and loaded bit for bit; missing, truncated or other files are reported."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from clearhead import __version__
from clearhead.errors import CheckpointError
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.model import Batch, ModelConfig, Transformer

SMALL = {
    "source_vocabulary": 13,
    "d_model": 6,
    "num_heads": 3,
    "d_ff": 7,
    "encoder_blocks": 2,
    "decoder_blocks": 1,
    "max_length": 11,
}
VARIANTS = {
    "pre": {},
    "post": {"norm_place": "post", "tied": "two"},
    "post with last norms": {"norm_place": "post", "has_last_norm": True},
    "two widths": {"d_decoder": 9, "tied": "none", "target_vocabulary": 17},
    "rotary, gated, rms": {
        "positions": "rotary",
        "is_gated": True,
        "has_bias": False,
        "encoder_norm": "rms",
        "decoder_norm": "rms",
    },
    "learned positions": {"positions": "learned", "has_output_bias": True, "activation": "silu"},
    "encoder": {"shape": "encoder", "num_classes": 5, "encoder_norm": "all"},
    "decoder": {"shape": "decoder"},
}


def model_of(**changes: object) -> Transformer:
    torch.manual_seed(5)
    model = Transformer(ModelConfig.model_validate({**SMALL, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model.eval()


def change_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    data = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps({name: value for name, value in data.items() if value != "GONE"}), encoding="utf-8")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(model_of(), tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def unlisted(saved: Path) -> Path:
    """A checkpoint as older versions wrote it: nothing but its content shows that it is damaged."""
    (saved / "SHA256SUMS").unlink()
    return saved


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_a_model_comes_back_bit_for_bit(changes: dict[str, object], dtype: torch.dtype, tmp_path: Path) -> None:
    model = model_of(**changes).to(dtype)
    save_checkpoint(model, tmp_path)
    again = load_checkpoint(tmp_path)
    assert again.config == model.config
    assert not again.training
    ours, theirs = model.state_dict(), again.state_dict()
    assert list(ours) == list(theirs)
    for name, tensor in ours.items():
        assert theirs[name].dtype == dtype, name
        assert torch.equal(theirs[name], tensor), name
    source, target = torch.tensor([[3, 5, 2], [7, 2, 0]]), torch.tensor([[4, 6, 8, 2], [9, 2, 0, 0]])
    assert torch.equal(again(Batch(source, target)), model(Batch(source, target)))


def test_tied_tensors_are_stored_once_and_are_tied_when_loaded(saved: Path) -> None:
    tensors = load_file(saved / "model.safetensors")
    assert "encoder.embedding.weight" in tensors
    assert not {"decoder.embedding.weight", "output.weight"} & set(tensors)
    model = load_checkpoint(saved)
    assert model.encoder is not None
    assert model.decoder is not None
    assert model.output.weight is model.decoder.embedding.weight is model.encoder.embedding.weight


def test_the_files_record_their_format_and_version(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    assert config["clearhead_model"] == 1
    assert config["clearhead_version"] == __version__
    assert config["d_model"] == 6
    with safe_open(saved / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}, "more entries would be written in a random order"
    assert sorted(path.name for path in saved.iterdir()) == ["SHA256SUMS", "config.json", "model.safetensors"]


def test_equal_models_are_equal_files(saved: Path, tmp_path: Path) -> None:
    for name in ("two", "three"):
        save_checkpoint(load_checkpoint(saved), tmp_path / name)
        for path in saved.iterdir():
            assert (tmp_path / name / path.name).read_bytes() == path.read_bytes()


def test_a_dtype_can_be_requested(saved: Path) -> None:
    assert load_checkpoint(saved, dtype=torch.float64).output.weight.dtype == torch.float64


def test_loading_does_not_change_the_random_state(saved: Path) -> None:
    before = torch.random.get_rng_state()
    load_checkpoint(saved)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_failed_save_keeps_the_old_checkpoint_and_leaves_no_other_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def fill_the_disk(tensors: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", fill_the_disk)
    with pytest.raises(CheckpointError, match="could not be written.*No space left.*No partial files remain"):
        save_checkpoint(model_of(d_ff=5), saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


def test_a_failed_move_never_mixes_old_and_new_files(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = Path.replace

    def fail_at_the_config(self: Path, target: Path) -> Path:
        if target.name == "config.json":
            raise OSError("gone")
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_the_config)
    with pytest.raises(CheckpointError, match="could not be written"):
        save_checkpoint(model_of(norm_place="post", has_last_norm=True), saved)
    assert [path.name for path in saved.iterdir()] == ["model.safetensors"]
    with pytest.raises(CheckpointError, match="has no config.json"):
        load_checkpoint(saved)


def test_saving_again_replaces_the_checkpoint(saved: Path) -> None:
    model = model_of(d_ff=5)
    save_checkpoint(model, saved)
    assert torch.equal(load_checkpoint(saved).output.weight, model.output.weight)
    assert load_checkpoint(saved).config.d_ff == 5


def test_the_files_have_the_permissions_of_new_files(saved: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")
    for path in saved.iterdir():
        assert path.stat().st_mode == plain.stat().st_mode


def test_the_model_of_another_program_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "marian"}', encoding="utf-8")
    with pytest.raises(CheckpointError, match="config.json belongs to another program.*Choose an empty folder"):
        save_checkpoint(model_of(), tmp_path)


def test_a_damaged_checkpoint_of_ours_can_be_replaced(saved: Path) -> None:
    (saved / "config.json").write_bytes(b"{")
    save_checkpoint(model_of(), saved)
    load_checkpoint(saved)


def test_a_model_whose_tie_was_cut_is_not_saved(tmp_path: Path) -> None:
    model = model_of()
    model.output.weight = torch.nn.Parameter(model.output.weight.detach().clone())
    with pytest.raises(
        CheckpointError, match=r"no longer matches its config: 1 tensor is not part of this model \(output.weight\)"
    ):
        save_checkpoint(model, tmp_path)
    assert not list(tmp_path.iterdir())


# Errors


def test_a_missing_folder_or_file_is_reported(unlisted: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere does not exist. Give the folder"):
        load_checkpoint(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="empty has no config.json. It is empty."):
        load_checkpoint(tmp_path / "empty")
    with pytest.raises(CheckpointError, match="model.safetensors is a file. Give the folder"):
        load_checkpoint(unlisted / "model.safetensors")
    (unlisted / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="run has no model.safetensors. It contains config.json."):
        load_checkpoint(unlisted)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_truncated_weights_are_reported(unlisted: Path, share: float) -> None:
    path = unlisted / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CheckpointError, match=r"model.safetensors is damaged .*has [\d,]+ bytes.*copy it again"):
        load_checkpoint(unlisted)


def test_garbage_weights_are_reported(unlisted: Path) -> None:
    for garbage in (b"\xff" * 400, b"{}" * 100, b"\x10" + b"\0" * 7 + b"{not json at all"):
        (unlisted / "model.safetensors").write_bytes(garbage)
        with pytest.raises(CheckpointError, match="is damaged"):
            load_checkpoint(unlisted)


class Bomb:
    """Creates a file if it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.mkdir, (Path("unpickled"),))  # type: ignore[return-value]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "model.pt"])
def test_a_pickle_is_refused_and_never_opened(
    unlisted: Path, name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (unlisted / "model.safetensors").unlink()
    (unlisted / name).write_bytes(pickle.dumps(Bomb(), protocol=protocol))
    for path in (unlisted, unlisted / name):
        with pytest.raises(CheckpointError, match=f"{name} is a pickle, which can run any code.*save_file"):
            load_checkpoint(path)
    assert not (tmp_path / "unpickled").exists()


def test_a_zip_archive_of_pytorch_is_refused_under_any_name(unlisted: Path) -> None:
    torch.save({"a": torch.ones(3)}, unlisted / "model.safetensors")
    with pytest.raises(CheckpointError, match="is a pickle"):
        load_checkpoint(unlisted)


def test_a_header_length_that_looks_like_a_pickle_is_not_taken_for_one(unlisted: Path) -> None:
    path = unlisted / "model.safetensors"
    tensors = load_file(path)
    for length in (0x0280, 0x0480, 0x0580):  # its first two bytes are those of a pickle
        length += 0x10000
        save_file(tensors, path, {"note": ""})
        header = int.from_bytes(path.read_bytes()[:8], "little")
        save_file(tensors, path, {"note": "x" * (length - header)})
        assert int.from_bytes(path.read_bytes()[:8], "little") == length
        load_checkpoint(unlisted)


def test_a_git_lfs_pointer_is_reported(unlisted: Path) -> None:
    (unlisted / "model.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", encoding="utf-8"
    )
    with pytest.raises(CheckpointError, match="is a Git LFS pointer, not the weights. Run git lfs pull"):
        load_checkpoint(unlisted)


def test_weights_that_do_not_fit_the_config_are_named_and_counted(unlisted: Path) -> None:
    change_config(unlisted, encoder_blocks=3, d_ff=5, clearhead_version="0.0.7")
    with pytest.raises(CheckpointError) as wrong:
        load_checkpoint(unlisted)
    message = str(wrong.value)
    assert "12 tensors are missing (encoder_blocks.2.self_attention.packed.weight, " in message
    assert (
        "9 tensors are of another shape (encoder_blocks.0.feed_forward.first.weight is 7×6 instead of 5×6, " in message
    )
    assert f"They were written by clearhead 0.0.7; this is {__version__}." in message
    assert "Take both files from one checkpoint" in message
    change_config(unlisted, encoder_blocks=1, d_ff=7)
    with pytest.raises(
        CheckpointError, match=r"12 tensors are not part of this model \(encoder_blocks.1.feed_forward.first.bias, "
    ):
        load_checkpoint(unlisted)


def test_a_tensor_that_does_not_contain_real_numbers_is_reported(unlisted: Path) -> None:
    tensors = load_file(unlisted / "model.safetensors")
    tensors["encoder_blocks.0.feed_forward.first.bias"] = torch.arange(7)
    save_file(tensors, unlisted / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"not float16.*\(encoder_blocks.0.feed_forward.first.bias is int64\)"):
        load_checkpoint(unlisted)


def test_a_newer_format_is_reported_with_the_version_to_install(unlisted: Path) -> None:
    change_config(unlisted, clearhead_model=2, clearhead_version="9.1.0")
    with pytest.raises(
        CheckpointError, match=r"is in format 2, written by clearhead 9.1.0.*Install clearhead 9.1.0 or later"
    ):
        load_checkpoint(unlisted)


@pytest.mark.parametrize("number", ["one", 0, True, 1.0])
def test_a_format_that_is_not_a_number_is_reported(unlisted: Path, number: object) -> None:
    change_config(unlisted, clearhead_model=number)
    with pytest.raises(CheckpointError, match="is not a format. This clearhead reads 1."):
        load_checkpoint(unlisted)


def test_a_config_of_another_program_is_reported(unlisted: Path) -> None:
    change_config(unlisted, clearhead_model="GONE", model_type="marian")
    with pytest.raises(
        CheckpointError, match="not the config of a clearhead model. Read it with clearhead.formats.from_marian"
    ):
        load_checkpoint(unlisted)


def test_a_wrong_or_unknown_setting_is_reported_with_the_file(unlisted: Path) -> None:
    change_config(unlisted, num_heads=4, depth=3)
    with pytest.raises(CheckpointError, match=r"config.json: model.depth is not a setting.*written by clearhead"):
        load_checkpoint(unlisted)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "is not JSON"), ("[1]", "contains a list"), ("[" * 100_000, "is not JSON"), ("\xff", "is not JSON")],
)
def test_a_config_that_is_not_an_object_is_reported(unlisted: Path, text: str, sentence: str) -> None:
    (unlisted / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=sentence):
        load_checkpoint(unlisted)


def test_a_config_that_is_not_utf8_is_reported(unlisted: Path) -> None:
    (unlisted / "config.json").write_bytes(b"\xff\xfe{\x00")
    with pytest.raises(CheckpointError, match="config.json cannot be read"):
        load_checkpoint(unlisted)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(CheckpointError, match="could not be written"):
        save_checkpoint(model_of(), tmp_path / "file" / "run")


@pytest.mark.parametrize(
    "changes",
    [
        {"d_ff": 10**18},
        {"source_vocabulary": 10**30},
        {"d_model": 10**9},
        {"max_length": 10**9},
        {"d_model": 2**16, "num_heads": 1, "max_length": 2**20, "encoder_blocks": 0, "decoder_blocks": 0},
        {"auto_map": {"AutoModel": "evil.Model"}, "trust_remote_code": True},
    ],
)
def test_sizes_are_refused_before_any_memory_is_taken_for_them(unlisted: Path, changes: dict[str, object]) -> None:
    change_config(unlisted, **changes)
    with pytest.raises(
        CheckpointError, match=r"config\.json: model: max_length|is not a whole number|is not a setting"
    ):
        load_checkpoint(unlisted)


def test_the_name_of_a_tensor_is_shortened_and_cannot_control_the_terminal(unlisted: Path) -> None:
    tensors = load_file(unlisted / "model.safetensors")
    save_file({**tensors, "\x1b[31m\n" + "x" * 9999: torch.ones(1)}, unlisted / "model.safetensors")
    with pytest.raises(CheckpointError) as wrong:
        load_checkpoint(unlisted)
    assert "1 tensor is not part of this model (\\x1b[31m\\nxxx" in str(wrong.value)
    assert len(str(wrong.value)) < 600


def test_links_to_the_files_of_a_model_are_followed(saved: Path, tmp_path: Path) -> None:
    linked = tmp_path / "snapshot"  # as in the cache of a model hub
    linked.mkdir()
    for name in ("config.json", "model.safetensors"):
        (linked / name).symlink_to(saved / name)
    assert load_checkpoint(linked).config == load_checkpoint(saved).config
    (linked / "config.json").unlink()
    (linked / "config.json").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        load_checkpoint(linked)
