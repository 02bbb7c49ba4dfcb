"""The head that alignments are read from is rated on files and saved with the model."""

from pathlib import Path

import pytest

from clearhead.decoding.head_choice import read_choice
from clearhead.errors import ConfigError, DataError
from clearhead.explain.head_selection import select_head
from clearhead.formats import save_checkpoint
from clearhead.model import ModelConfig, build_model
from tests.small_run import TEXTS, make_run


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in TEXTS[:3]))
    return str(tmp_path / "source"), str(tmp_path / "target")


def test_every_head_is_rated_and_the_best_is_saved(tmp_path: Path, files: tuple[str, str]) -> None:
    run = make_run(tmp_path / "run")
    selection = select_head(run, *files)
    assert len(selection.scores) == 12, "two blocks, two heads and their mean, two rows"
    errors = [score.value for _, score in selection.scores]
    assert errors == sorted(errors)
    assert selection.choice.error == errors[0]
    assert selection.choice.chosen_by == "counted links"
    assert read_choice(run) == selection.choice
    assert selection.path == run / "best" / "alignment.json"


def test_gold_links_choose_the_head_if_they_are_given(tmp_path: Path, files: tuple[str, str]) -> None:
    (tmp_path / "gold").write_text("0-0\n0-0\n0-0\n")
    selection = select_head(make_run(tmp_path / "run"), *files, str(tmp_path / "gold"))
    assert selection.choice.chosen_by == "gold links"
    assert selection.choice.signature.endswith("|links:gold|teacher-forced:yes")


def test_files_that_do_not_fit_are_named(tmp_path: Path, files: tuple[str, str]) -> None:
    run = make_run(tmp_path / "run")
    (tmp_path / "gold").write_text("0-0\n")
    with pytest.raises(DataError, match="gold has 1 lines, but there are 3 sentences"):
        select_head(run, *files, str(tmp_path / "gold"))
    with pytest.raises(ConfigError, match="both files are the same"):
        select_head(run, files[0], files[0])
    (tmp_path / "target").write_text("ein Hund\n")
    with pytest.raises(DataError, match="source has 3 lines, but .*target has 1"):
        select_head(run, *files)
    assert not (run / "best" / "alignment.json").exists()


def test_a_model_without_attention_has_no_head_to_choose(tmp_path: Path, files: tuple[str, str]) -> None:
    run = make_run(tmp_path / "run")
    sizes = {"source_vocabulary": 151, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 6}
    model = build_model(ModelConfig(architecture="recurrent", attention="none", **sizes))
    save_checkpoint(model, run / "best")
    with pytest.raises(ConfigError, match="no attention to the source, so no head can be chosen"):
        select_head(run, *files)
