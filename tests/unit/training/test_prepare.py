"""The inputs of a run: data, vocabularies, a new or an existing model, and what does not fit together."""

import gc
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import CheckpointError, ConfigError, DataError
from clearhead.formats import from_marian
from clearhead.formats.weights import own_tensors
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.prepare import collection_paused, make_model, open_model
from clearhead.training.run import RunFolder
from tests.unit.training.runs import Result, same, settings_of, train
from tests.unit.training.test_loop import interrupt_at

NO_VALID: dict[str, Any] = {"valid": None}
LABELLED = [("a b", "low"), ("a c", "low"), ("x y", "high"), ("y z", "high"), ("b b", "low"), ("z z x", "high")]
PROGRAM = """
import sys
import torch
from clearhead.training.loop import train
from clearhead.training.prepare import warming_up
assert "torch._dynamo" not in sys.modules, "loaded too soon: nothing is left to do meanwhile"
with warming_up(torch.device("cpu")):
    pass
assert "torch._dynamo" in sys.modules
"""


def tsv(path: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    return {"tsv": str(path), "source_field": "1", "target_field": "2"}


@pytest.fixture
def earlier(full_run: Result) -> Result:
    return full_run


def start(model: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return changes that leave the sizes to what is started from."""
    sizes = dict.fromkeys(("encoder_blocks", "decoder_blocks", "d_model", "d_ff", "num_heads"))
    return {"model": {**sizes, **(model or {})}}


def only_started(folder: Path, place: str | Path, **changes: Any) -> Result:
    """Return a run of one update of no size, so that its weights are those that it started from."""
    training = {"init_from": str(place), "steps": 1, "rate": 1e-30, **changes.pop("training", {})}
    return train(folder, training=training, **{**start(), **changes})


@pytest.mark.parametrize("part", ["", "best", "last", "checkpoints/step-00000012"])
def test_a_run_starts_from_the_weights_of_another(earlier: Result, tmp_path: Path, part: str) -> None:
    result = only_started(tmp_path / "run", earlier.folder / part)
    assert same(result.tensors(), earlier.tensors("best/model.safetensors"))
    spelled = "tokeniser/joint.spm"
    assert (result.folder / spelled).read_bytes() == (earlier.folder / spelled).read_bytes()


def test_only_dropout_can_differ(earlier: Result, tmp_path: Path) -> None:
    result = only_started(tmp_path / "run", earlier.folder, **start({"dropout": 0.35}))
    assert json.loads((result.folder / "last/config.json").read_text())["dropout"] == 0.35
    assert same(result.tensors(), earlier.tensors("best/model.safetensors"))
    with pytest.raises(
        ConfigError, match=r"model\.d_model = 64, but .* has 12\. Remove model\.d_model from the config\."
    ):
        only_started(tmp_path / "other", earlier.folder, **start({"d_model": 64}))


def test_a_run_resumes_when_its_initial_model_no_longer_exists(
    earlier: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(earlier.folder, tmp_path / "copy", ignore=shutil.ignore_patterns(".lock"))
    options = {**start(), "training": {"init_from": str(tmp_path / "copy")}}
    uninterrupted_run = train(tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)
        train(tmp_path / "run", **options)
    config_of = (tmp_path / "copy/config.yaml").read_bytes()
    shutil.rmtree(tmp_path / "copy")
    (tmp_path / "copy").mkdir()
    assert config_of
    gone_on = train(tmp_path / "run", resume=True, **options)
    assert same(uninterrupted_run.tensors(), gone_on.tensors())


def test_a_task_of_another_shape_is_refused(earlier: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has the shape encoder-decoder, but task = 'language-model' needs decoder"):
        only_started(tmp_path / "run", earlier.folder, task="language-model", validation={"metric": None})


def test_a_folder_without_a_model_is_refused(earlier: Result, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CheckpointError, match="contains no model. Give a run folder, one of its checkpoints, or an OPUS-MT"
    ):
        only_started(
            tmp_path / "run",
            tmp_path / "empty",
            text={"tokeniser": str(earlier.folder), "vocabulary": None, "kind": None},
        )


def test_a_vocabulary_of_another_size_is_refused(earlier: Result, tmp_path: Path) -> None:
    other = train(
        tmp_path / "other", training={"steps": 1}, text={"kind": "char"}, data=NO_VALID, validation={"metric": None}
    )
    with pytest.raises(
        CheckpointError, match=r"has vocabularies of \d+ and \d+ tokens, but the tokeniser has .*remove text.tokeniser"
    ):
        only_started(tmp_path / "run", earlier.folder, text={"tokeniser": str(other.folder)})


def test_data_longer_than_the_positions_of_the_model_is_refused(tmp_path: Path) -> None:
    short = train(tmp_path / "short", model={"max_length": 32}, data={"max_tokens": 32}, training={"steps": 1})
    with pytest.raises(
        ConfigError,
        match=r"data\.max_tokens = 64, but the model has positions for 32 tokens\. Set data\.max_tokens: 32\.",
    ):
        only_started(tmp_path / "run", short.folder, data={"max_tokens": 64})


def test_validation_removes_sentences_without_positions_and_reports_it(tmp_path: Path) -> None:
    pairs = [("a b c", "c b a"), ("b c", "c b"), ("a " * 40, "b"), ("c", "a " * 40)]
    train_corpus = tsv(tmp_path / "train.tsv", [("a b c", "c b a"), ("c a", "b")])
    valid = tsv(tmp_path / "valid.tsv", pairs)
    result = train(
        tmp_path / "run",
        model={"max_length": 32},
        data={"max_tokens": 32, "train": [train_corpus], "valid": {**valid, "built_in": None}},
        training={"steps": 2},
    )
    assert "valid: 2 pairs" in result.output
    assert "valid.tsv: removed from 4 pairs: 2 over max_tokens." in result.output
    assert result.outcome.best_step == 2


def test_changed_validation_data_is_noted_when_a_run_is_resumed(tmp_path: Path) -> None:
    corpora = {
        "train": [tsv(tmp_path / "train.tsv", [("a b c", "c b a"), ("c a", "b")])],
        "valid": {**tsv(tmp_path / "valid.tsv", [("a b", "b a")]), "built_in": None},
    }
    train(tmp_path / "run", data=corpora, training={"steps": 2})
    note = "The validation data has changed since this run was started: its scores before and after are not comparable"
    same_data = train(tmp_path / "run", resume=True, data=corpora, training={"steps": 3})
    assert note not in same_data.output
    tsv(tmp_path / "valid.tsv", [("a b", "b a"), ("c", "c")])
    assert note in train(tmp_path / "run", resume=True, data=corpora, training={"steps": 4}).output
    assert "valid_pairs" not in (tmp_path / "run/README.md").read_text()


def test_a_validation_set_that_no_model_could_read_is_refused(tmp_path: Path) -> None:
    train_corpus = tsv(tmp_path / "train.tsv", [("a b c", "c b a"), ("c a", "b")])
    valid = tsv(tmp_path / "valid.tsv", [("a " * 40, "b")])
    with pytest.raises(DataError, match=r"no pair remains"):
        train(
            tmp_path / "run",
            model={"max_length": 32},
            data={"max_tokens": 32, "train": [train_corpus], "valid": {**valid, "built_in": None}},
        )


def test_unchanged_data_is_not_read_again(earlier: Result, tmp_path: Path) -> None:
    first = train(tmp_path / "run", training={"steps": 2})
    assert "train: 997 pairs, converted to tokens." in first.output
    again = train(tmp_path / "run", resume=True, training={"steps": 3})
    assert "train: 997 pairs, unchanged." in again.output
    data_report = json.loads((tmp_path / "run/data.json").read_text())
    assert [corpus["path"] for corpus in data_report["corpora"]] == ["data.train.0", "data.valid"]
    assert data_report["corpora"][0]["kept"] == 997
    statistics = TextStatistics.load(tmp_path / "run")
    assert statistics.several_sentences is not None
    assert statistics.word_pieces is not None
    assert statistics.log_probs is not None
    assert data_report["coverage"].keys() == {"train", "valid"}
    for use, coverage in data_report["coverage"].items():
        assert f"{use}: {coverage}." in first.output
        assert coverage.startswith("0 % of the ")


# Labels


def classified(folder: Path, pairs: list[tuple[str, str]], **changes: Any) -> Result:
    data = {"train": [tsv(folder.with_suffix(".tsv"), pairs)], "valid": None}
    model = {"decoder_blocks": None}
    return train(
        folder, **{"task": "classify", "data": data, "model": model, "validation": {"metric": None}, **changes}
    )


def labels_of(result: Result) -> list[str]:
    labels: list[str] = json.loads((result.folder / "tokeniser/tokeniser.json").read_text())["labels"]
    return labels


def test_a_tokeniser_from_elsewhere_brings_no_labels_and_the_data_does(earlier: Result, tmp_path: Path) -> None:
    result = classified(tmp_path / "run", LABELLED, text={"tokeniser": str(earlier.folder)}, training={"steps": 2})
    assert labels_of(result) == ["high", "low"]
    assert json.loads((result.folder / "last/config.json").read_text())["num_classes"] == 2


def test_a_classifier_started_from_another_keeps_its_labels_in_their_order(tmp_path: Path) -> None:
    first = classified(tmp_path / "first", [*LABELLED, ("q", "middle")], training={"steps": 2})
    assert labels_of(first) == ["high", "low", "middle"]
    options = {**start({"decoder_blocks": None}), "training": {"steps": 1, "init_from": str(first.folder)}}
    few = [pair for pair in [*LABELLED, ("b", "middle")] if pair[1] != "high"]
    assert labels_of(classified(tmp_path / "second", few, **options)) == ["high", "low", "middle"]
    with pytest.raises(
        ConfigError, match="has the labels high, low, middle, but the data has others: lowest. Rename them"
    ):
        classified(tmp_path / "third", [*few, ("c", "lowest")], **options)


# OPUS-MT


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MarianMT folder as transformers writes it, with the tokeniser of OPUS-MT beside it."""
    from transformers import MarianConfig, MarianMTModel

    from clearhead.text.config import TextConfig
    from clearhead.text.train import train_vocabularies
    from tests.unit.text.sentences import PAIRS

    folder = tmp_path_factory.mktemp("opus")
    vocabularies = train_vocabularies(PAIRS, TextConfig(vocabulary=59, is_joint=False, normalisation="none"))
    pieces: dict[str, int] = {"</s>": 0, "<unk>": 1}
    for side in (vocabularies.source, vocabularies.target):
        side.save(folder / f"{'source' if side is vocabularies.source else 'target'}.spm")
        for piece in side.pieces(range(4, side.size)):
            pieces.setdefault(piece, len(pieces))
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces))
    config = MarianConfig(
        vocab_size=len(pieces), d_model=12, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=3, encoder_ffn_dim=17, decoder_ffn_dim=17, max_position_embeddings=37,
        pad_token_id=len(pieces) - 1, eos_token_id=0, decoder_start_token_id=len(pieces) - 1, bos_token_id=0,
        forced_eos_token_id=0, activation_function="swish", scale_embedding=True, share_encoder_decoder_embeddings=True,
    )  # fmt: skip
    config.decoder_attention_heads = 2
    torch.manual_seed(3)
    MarianMTModel(config).save_pretrained(folder)
    return folder


def test_a_run_starts_from_an_opus_mt_folder_and_learns(opus: Path, tmp_path: Path) -> None:
    from tests.unit.text.sentences import PAIRS

    pairs = tsv(tmp_path / "train.tsv", list(PAIRS))
    options: dict[str, Any] = {
        **start({"dropout": 0.0}), "data": {"train": [pairs], "valid": None, "max_tokens": 37},
        "text": {"kind": None, "vocabulary": None}, "validation": {"metric": None},
    }  # fmt: skip
    started = train(tmp_path / "started", **options, training={"init_from": str(opus), "steps": 1, "rate": 1e-30})
    theirs = dict(from_marian(opus).float().named_parameters())
    tensors = started.tensors()
    assert tensors.keys() <= theirs.keys()
    assert all(torch.allclose(tensor, theirs[name], rtol=0, atol=1e-20) for name, tensor in tensors.items())
    tuned = train(
        tmp_path / "tuned", **options,
        training={"init_from": str(opus), "steps": 60, "rate": 0.01, "label_smoothing": 0.0, "log_every": 10},
    )  # fmt: skip
    losses = [line["loss"] for line in tuned.metrics()]
    assert losses[-1] < losses[0] - 1, losses
    assert (tuned.folder / "tokeniser/tokeniser.json").is_file()


def test_a_new_model_takes_its_vocabulary_from_the_tokeniser_and_its_sizes_from_the_config(full_run: Result) -> None:
    vocabularies = Vocabularies.load(full_run.folder)
    with RunFolder.reopen(full_run.folder) as folder:
        model = make_model(settings_of(model={"d_ff": 19}), vocabularies, folder)
    assert (model.config.source_vocabulary, model.config.d_ff, model.config.d_model) == (
        vocabularies.source.size,
        19,
        12,
    )
    assert (model.config.pad, model.config.bos, model.config.eos) == (
        vocabularies.target.pad, vocabularies.target.bos, vocabularies.target.eos,
    )  # fmt: skip


def test_the_model_of_a_run_is_its_best(full_run: Result) -> None:
    model = open_model(full_run.folder)
    assert same(dict(own_tensors(model)), full_run.tensors("best/model.safetensors"))


def test_a_model_without_some_heads_is_trained_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads_kept = {"encoder.0.self_attention": [1], "decoder.0.cross_attention": []}
    options = {"model": {"heads_kept": heads_kept}}
    uninterrupted_run = train(tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 6)
        train(tmp_path / "run", **options)
    gone_on = train(tmp_path / "run", resume=True, **options)
    assert same(uninterrupted_run.tensors(), gone_on.tensors())
    assert gone_on.tensors()["encoder_blocks.0.self_attention.packed.weight"].shape == (18, 12)
    assert json.loads((gone_on.folder / "last/config.json").read_text())["heads_kept"] == heads_kept
    started = only_started(tmp_path / "started", gone_on.folder, **start({"heads_kept": heads_kept}))
    assert same(started.tensors(), gone_on.tensors("best/model.safetensors"))


def test_collection_is_paused_within_the_block_only() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled()


def test_collection_stays_off_if_it_was_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_compiler_is_loaded_beside_other_work_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
