"""From a path to the parts of a model: found, loaded, and named where one is missing or damaged."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError
from clearhead.files.manifest import MANIFEST
from clearhead.formats import load_checkpoint
from clearhead.formats.model_folder import (
    find_model,
    is_model_folder,
    load_config,
    load_model,
    load_statistics,
    load_vocabularies,
    run_of,
)
from clearhead.model import Transformer
from clearhead.text.statistics import TextStatistics
from tests.small_run import make_run
from tests.unit.text.test_marian import make_folder


def load_parts(path: Path) -> Transformer:
    folder = find_model(path)
    load_vocabularies(folder)
    load_config(folder)
    return load_model(folder)


def load_translator(path: Path) -> Translator:
    return Translator.load(path, engine="torch")


@pytest.mark.parametrize("load", [load_parts, load_translator])
def test_what_is_missing_in_a_model_is_named(tmp_path: Path, load: Callable[[Path], object]) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere does not exist\..*Give a run folder"):
        find_model(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="contains no model"):
        find_model(tmp_path)
    run = make_run(tmp_path / "run")
    assert find_model(run).folder == find_model(run / "best").folder == run / "best"
    assert find_model(run / "best").vocabularies == run
    load(run)
    weights = (run / "best" / "model.safetensors").read_bytes()
    (run / "best" / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(CheckpointError, match=r"model\.safetensors has changed .*Copy it again"):
        load(run)
    (run / "best" / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged .*copy it again"):
        load(run)
    (run / "best" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load(run)
    (run / "tokeniser" / "joint.spm").unlink()
    with pytest.raises(CheckpointError, match=r"joint\.spm does not exist"):
        load(run)
    (run / "best" / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json is not JSON"):
        load(run)
    (run / "best" / "config.json").unlink()
    (run / "best" / "model.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match=r"best has no config\.json"):
        load(run)


def test_a_model_is_found_by_any_of_its_folders(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "best").rename(run / "last")
    assert find_model(run).folder == run / "last"
    assert not find_model(run).is_marian
    (run / "checkpoints").mkdir()
    (run / "last").rename(run / "checkpoints" / "7")
    assert find_model(run / "checkpoints" / "7").vocabularies == run_of(run / "checkpoints" / "7") == run
    assert is_model_folder(run / "checkpoints" / "7")
    assert not is_model_folder(run)
    assert not is_model_folder("no\0path")
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"file is a file, but a folder is required\."):
        find_model(tmp_path / "file")
    with pytest.raises(CheckpointError, match=r"rum does not exist\. Did you mean 'run'\?"):
        find_model(tmp_path / "rum")


def test_a_tokeniser_with_ids_that_the_model_does_not_have_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    config = json.loads((run / "best/config.json").read_text())
    num_tokens = config["source_vocabulary"]
    (run / "best/config.json").write_text(json.dumps({**config, "source_vocabulary": num_tokens - 1}))
    engines: tuple[EngineName, ...] = ("torch", "ctranslate2")
    for engine in engines:
        with pytest.raises(
            CheckpointError,
            match=rf"best: the source vocabulary has ids up to {num_tokens - 1}, but the model has {num_tokens - 1} tokens",
        ):
            Translator.load(run, engine=engine)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_weights_that_are_not_finite_are_refused(
    tmp_path: Path, engine: EngineName, number: float, dtype: torch.dtype
) -> None:
    run = make_run(tmp_path / "run")
    path = run / "best/model.safetensors"
    tensors = {name: tensor.to(dtype) for name, tensor in load_file(path).items()}
    name = sorted(tensors)[3]
    tensors[name].view(-1)[0] = number
    save_file(tensors, path)
    (path.parent / MANIFEST).unlink()
    with pytest.raises(
        CheckpointError, match=rf"model.safetensors is not usable: {name} contains numbers that are NaN or"
    ):
        Translator.load(run, engine=engine)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_weights_beyond_the_range_of_float16_are_refused_in_float16(tmp_path: Path, engine: EngineName) -> None:
    run = make_run(tmp_path / "run")
    path = run / "best/model.safetensors"
    tensors = load_file(path)
    tensors["output.weight"][3, 5] = 7e4
    save_file(tensors, path)
    (path.parent / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match=r"^output.weight has numbers beyond ±65,504, the range of float16\. Use"):
        Translator.load(run, engine=engine, device="cpu", precision="float16")
    Translator.load(run, engine=engine, device="cpu", precision="float32")


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_weights_that_overflow_are_refused(tmp_path: Path, engine: EngineName) -> None:
    run = make_run(tmp_path / "run")
    path = run / "best/model.safetensors"
    tensors = load_file(path)
    tensors["decoder_blocks.0.cross_attention.output.weight"][:] = 3e38
    save_file(tensors, path)
    (path.parent / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match=r"best cannot be used: its weights overflow in float32, so that .* NaN"):
        Translator.load(run, engine=engine, device="cpu")


def test_the_last_model_is_not_used_in_place_of_an_incomplete_best_one(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    shutil.copytree(run / "best", run / "last")
    (run / "best" / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"best has no config\.json, which describes its weights"):
        find_model(run)


def test_a_run_that_has_only_checkpoints_names_one(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "checkpoints").mkdir()
    (run / "best").rename(run / "checkpoints" / "step-00000020")
    with pytest.raises(CheckpointError, match=r"run has no best or last model yet\. .* such as .*step-00000020\."):
        find_model(run)
    find_model(run / "checkpoints" / "step-00000020")


def test_a_model_without_a_tokeniser_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    alone = tmp_path / "alone" / "below" / "best"
    alone.mkdir(parents=True)
    for path in (run / "best").iterdir():
        (alone / path.name).write_bytes(path.read_bytes())
    with pytest.raises(
        CheckpointError, match=r"best has no tokeniser: .*Copy tokeniser/ of the run too, next to the model\."
    ):
        load_vocabularies(find_model(alone))
    assert find_model(alone).fingerprint == find_model(run / "best").fingerprint, "a copy is the same model"


def test_another_weight_or_config_is_another_fingerprint(tmp_path: Path) -> None:
    folders = [make_run(tmp_path / str(seed), seed=seed) / "best" for seed in (2, 3)]
    assert len({find_model(folder).fingerprint for folder in folders}) == 2
    before = find_model(folders[0]).fingerprint
    (folders[0] / MANIFEST).unlink()
    (folders[0] / "config.json").write_text((folders[0] / "config.json").read_text() + " ")
    assert find_model(folders[0]).fingerprint != before
    assert len(before) == 32


@pytest.mark.parametrize("place", [0.2, 0.6, 0.99])
def test_the_fingerprint_covers_all_weights(tmp_path: Path, place: float) -> None:
    folder = make_run(tmp_path, seed=2) / "best"
    (folder / MANIFEST).unlink()
    before = find_model(folder).fingerprint
    _flip(folder / "model.safetensors", place)
    assert find_model(folder).fingerprint != before


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_changed_file_of_a_model_is_named_by_every_way_to_load_it(tmp_path: Path, name: str) -> None:
    folder = make_run(tmp_path, seed=2) / "best"
    _flip(folder / name, 0.99)
    loaders: list[Callable[[], object]] = [
        lambda: load_model(find_model(folder)),
        lambda: load_checkpoint(folder),
        lambda: find_model(folder).fingerprint,
    ]
    for load in loaders:
        with pytest.raises(CheckpointError, match=f"best/{name} has changed since it was written"):
            load()


def test_a_folder_without_hashes_loads_with_a_note(tmp_path: Path) -> None:
    folder = make_run(tmp_path, seed=2) / "best"
    assert find_model(folder).notes == ()
    (folder / MANIFEST).unlink()
    load_model(find_model(folder))
    load_checkpoint(folder)
    assert "best has no SHA256SUMS, so its files were not verified" in find_model(folder).notes[0]


def _flip(path: Path, place: float) -> None:
    """Change one bit; in a JSON file, of a digit, so that it stays JSON."""
    content = bytearray(path.read_bytes())
    content[content.rindex(b"0") if path.suffix == ".json" else int(len(content) * place)] ^= 1
    path.write_bytes(content)


def test_a_model_that_is_replaced_after_it_was_hashed_is_not_used(tmp_path: Path) -> None:
    folder = make_run(tmp_path, seed=2) / "best"
    model = find_model(folder)
    model.verify()
    make_run(tmp_path, seed=3)
    with pytest.raises(CheckpointError, match=r"best was replaced by another process while .* Run it again\."):
        load_model(model)
    load_model(find_model(folder))


def test_the_source_language_is_that_of_the_training_files_of_opus_mt_or_of_the_description(tmp_path: Path) -> None:
    opus = make_folder(tmp_path)
    (opus / "config.json").write_text('{"model_type": "marian"}')
    assert load_statistics(find_model(opus)) == TextStatistics(source_language="en")
    run = make_run(tmp_path / "run")
    assert load_statistics(find_model(run)) == TextStatistics()
    directions = [{"source": "es", "target": "en"}, {"source": "es", "target": "hi"}]
    (run / "best" / "model.json").write_text(json.dumps({"directions": directions, "licence": "free"}))
    assert load_statistics(find_model(run)).source_language == "es"
    TextStatistics(source_language="de", several_sentences=0.5).save(run)
    assert load_statistics(find_model(run)) == TextStatistics(source_language="de", several_sentences=0.5)
