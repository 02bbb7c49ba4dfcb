"""Checks before a model is loaded: they need no torch, and a wrong number of files or a missing one is reported."""

import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.errors import ClearheadError, ConfigError
from clearhead.explain.checks import check_test_set, checked_config, explained_heads
from clearhead.formats.checkpoint import save_checkpoint
from clearhead.model import build_model
from clearhead.model.config import ModelConfig, read_config


def test_checks_do_not_import_torch() -> None:
    code = "import sys, clearhead.explain.checks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "cat", "--sums", "encoder.9", "--json"),
        ("explain", "", "--json"),
        ("heads", "nowhere", "nowhere2"),
        ("prune", "-m", "tatoeba", "--remove", "encoder.9", "-o", "new"),
    ],
)
def test_cheap_errors_are_reported_before_torch_is_imported(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys, clearhead.cli.main as m\n"
        f"sys.argv = ['clearhead', *{arguments!r}]\n"
        "try:\n    m.main()\nexcept SystemExit as end:\n    assert end.code == 2, end.code\n"
        "sys.exit('torch was loaded' if 'torch' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("heads", " `clearhead explain` shows what it attends to in a sentence, if it has attention."),
        ("what-if", " Swap words instead, which works with every model."),
        ("pruning", " Train a smaller model instead: fewer layers, or a smaller d_model."),
    ],
)
def test_other_architectures_are_refused_with_what_works_instead(what: str, instead: str, tmp_path: Path) -> None:
    sizes = {"source_vocabulary": 7, "d_model": 6, "encoder_blocks": 1, "decoder_blocks": 1, "max_length": 5}
    model = build_model(read_config({**sizes, "architecture": "convolutional"}))
    save_checkpoint(model, tmp_path / "model")
    with pytest.raises(ConfigError) as wrong:
        checked_config(tmp_path / "model", what)
    expected = f"{what} needs the heads and layers of a Transformer, but this model is convolutional.{instead}"
    assert str(wrong.value) == expected
    assert checked_config(tmp_path / "model") == model.config
    with pytest.raises(ConfigError, match="sums are those of the heads of a Transformer, but this model is convol"):
        explained_heads(["all"], model.config)


def test_patterns_name_the_heads_of_a_pruned_model_by_their_old_numbers() -> None:
    config = ModelConfig(source_vocabulary=7, d_model=6, num_heads=3, encoder_blocks=1, decoder_blocks=1)
    pruned = config.model_copy(update={"heads_kept": {"encoder.0.self_attention": (0, 2)}})
    heads = tuple(f"encoder.0.self_attention.head.{number}" for number in range(3))
    assert explained_heads(["encoder.*"], config) == heads
    assert explained_heads(["encoder.*"], pruned) == (heads[0], heads[2])
    assert explained_heads(["all"], pruned)[:2] == (heads[0], heads[2])
    with pytest.raises(ConfigError, match="was removed from this model"):
        explained_heads([heads[1]], pruned)
    with pytest.raises(ConfigError, match="there is no head 'encoder.1.*' in this model"):
        explained_heads(["encoder.1.*"], config)


def test_projections_need_heads_and_a_page_that_is_not_too_large() -> None:
    config = ModelConfig(source_vocabulary=7, d_model=512, num_heads=8, encoder_blocks=6, decoder_blocks=6)
    assert len(explained_heads(["encoder.0.*"], config, has_projections=True)) == 8
    with pytest.raises(
        ConfigError, match=r"144 heads would take about 142 MB, .* 16 MB are written: 1.0 MB for each head"
    ):
        explained_heads(["all"], config, has_projections=True)
    with pytest.raises(ConfigError, match="projections belong to heads"):
        explained_heads([], config, has_projections=True)


def test_the_number_of_files_and_their_existence(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\n")
    one, missing = str(tmp_path / "one"), str(tmp_path / "missing")
    check_test_set([one, "-"], has_source=True)
    check_test_set([one], has_source=False)
    for files, has_source, message in (
        ([one], True, "give two files"),
        ([one, one], False, "give one file, not 2"),
        (["-", "-"], True, "standard input can only be read once"),
        ([one, missing], True, "missing does not exist"),
    ):
        with pytest.raises(ClearheadError, match=message):
            check_test_set(files, has_source=has_source)
