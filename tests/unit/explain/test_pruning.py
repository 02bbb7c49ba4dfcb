"""Pruning in steps: which heads go first, how many, what is measured, and the folder that is written."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
import torch

from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, ConfigError
from clearhead.explain.head_importance import head_importance, losses_without, mean_loss
from clearhead.explain.head_tables import pruning_table, to_csv
from clearhead.explain.pruned_model import (
    PruneRequest,
    fine_tune,
    open_for_pruning,
    prune,
    run_config,
)
from clearhead.explain.pruning import heads_in, least_important, step_counts, sweep
from clearhead.formats import load_checkpoint
from clearhead.formats.model_folder import find_model
from clearhead.model import Transformer
from tests.small_run import TEXTS, make_run
from tests.unit.training.runs import train

FAST = PruneRequest(keep=0.5, num_steps=2, search=SearchSettings(), num_lines=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("prune")
    make_run(root / "run")
    for side, name in enumerate(("source", "target")):
        (root / name).write_text("".join(f"{pair[side]}\n" for pair in TEXTS), encoding="utf-8")
    return root


def files(folder: Path) -> list[str]:
    return [str(folder / "source"), str(folder / "target")]


def test_the_numbers_of_heads_fall_in_equal_steps() -> None:
    assert step_counts(144, 72, 4) == [144, 126, 108, 90, 72]
    assert step_counts(3, 1, 8) == [3, 2, 1]
    assert step_counts(10, 10, 8) == [10]
    assert step_counts(6, 0, 3) == [6, 4, 2, 0]


@pytest.mark.parametrize("keep", [0.0, -0.5, 1.5])
def test_a_share_outside_0_and_1_is_refused(keep: float) -> None:
    message = f"{keep:g} is not a share of heads to keep. Give a number above 0 and at most 1, such as 0.5 for half."
    with pytest.raises(ConfigError, match=re.escape(message)):
        PruneRequest(keep=keep)


def test_the_least_important_heads_of_a_part_go_first(folder: Path) -> None:
    opened = open_for_pruning(folder / "run", files(folder), FAST, "cpu")
    pairs = opened.text.pairs
    importance = head_importance(opened.model, pairs)
    for part in ("all", "cross"):
        chosen = least_important(opened.model, pairs, 3, part)
        others = [head for head in heads_in(opened.model.config, part) if head not in chosen]
        assert max(importance[head] for head in chosen) <= min(importance[head] for head in others)
    assert mean_loss(opened.model, pairs) == pytest.approx(losses_without(opened.model, pairs)[None].mean)


def test_a_pruned_folder_translates_like_any_other(folder: Path, tmp_path: Path) -> None:
    opened = open_for_pruning(folder / "run", files(folder), FAST, "cpu")
    report = prune(opened, tmp_path / "small", FAST)
    assert [row.total for row in report.rows] == [10, 8, 5]
    model = load_checkpoint(tmp_path / "small")
    assert sum(parameter.numel() for parameter in model.parameters()) == report.rows[-1].num_parameters
    assert report.rows[-1].num_parameters < report.rows[0].num_parameters
    sources = [source for source, _ in TEXTS]
    texts = [
        [translation.text for translation in Translator.load(tmp_path / "small", engine=engine).translate(sources)]
        for engine in ("torch", "numpy")
    ]
    assert texts[0] == texts[1]
    data = json.loads((tmp_path / "small" / "pruning.json").read_text())
    assert data["heads_kept"] == {where: list(heads) for where, heads in model.config.heads_kept.items()}
    assert [step["heads"] for step in data["steps"]] == [10, 8, 5]
    assert [path.name for path in tmp_path.iterdir()] == ["small"], "no temporary folder remains"
    again = open_for_pruning(tmp_path / "small", files(folder), FAST, "cpu")
    assert [row.total for row in prune(again, tmp_path / "smaller", FAST).rows] == [5, 3, 2]


def test_heads_are_removed_by_name(folder: Path, tmp_path: Path) -> None:
    request = PruneRequest(heads=("decoder.1.*.head.*",), search=None)
    opened = open_for_pruning(folder / "run", files(folder), request, "cpu")
    report = prune(opened, tmp_path / "small", request)
    assert report.heads_kept == {"decoder.1.self_attention": (), "decoder.1.cross_attention": ()}
    assert report.rows[-1].bleu is None
    unknown = PruneRequest(heads=("encoder.9.self_attention.head.0",), search=None)
    with pytest.raises(ConfigError, match=r"there is no head 'encoder\.9\.self_attention\.head\.0' in this model"):
        prune(opened, tmp_path / "other", unknown)
    assert not (tmp_path / "other").exists()


def test_a_sweep_measures_every_kind_of_attention_down_to_no_heads(folder: Path) -> None:
    opened = open_for_pruning(folder / "run", files(folder), FAST, "cpu")
    report = sweep(opened.model, opened.text, FAST.num_steps)
    assert [(row.part, row.total) for row in report.rows] == [
        *[("all", 10), ("all", 5), ("all", 0)],
        *[("encoder", 10), ("encoder", 9), ("encoder", 8)],
        *[("decoder", 10), ("decoder", 8), ("decoder", 6)],
        *[("cross", 10), ("cross", 8), ("cross", 6)],
    ]
    table = pruning_table(report)
    assert table.columns[:6] == ("removed from", "heads", "encoder", "decoder", "cross", "parameters")
    assert table.rows[-1][:5] == ("cross", "6", "2", "4", "0")
    rows = list(csv.DictReader(io.StringIO(to_csv(report.rows))))
    assert [float(row["loss"]) for row in rows] == [row.loss.value for row in report.rows]


def test_what_cannot_be_pruned_is_refused_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no config\.yaml that names a validation text, .* Give two files"):
        open_for_pruning(folder / "run", [], FAST, "cpu")
    (tmp_path / "model.bin").touch()
    with pytest.raises(ConfigError, match=r"exported to CTranslate2, whose steps are fused away"):
        open_for_pruning(tmp_path, files(folder), FAST, "cpu")
    opened = open_for_pruning(folder / "run", files(folder), FAST, "cpu")
    with pytest.raises(CheckpointError, match=r"exists already\. Choose a new folder\."):
        prune(opened, tmp_path, FAST)


def test_the_validation_text_of_a_run_is_used_and_a_pruned_model_is_trained_on(tmp_path: Path) -> None:
    result = train(tmp_path / "run")
    opened = open_for_pruning(result.folder, [], PruneRequest(num_lines=5), "cpu")
    assert len(opened.text.texts) == 5
    prune(opened, tmp_path / "small", PruneRequest(keep=0.5, search=None))
    config = run_config(find_model(result.folder))
    assert config is not None
    outcome = fine_tune(config, tmp_path / "small", tmp_path / "small-tuned", 4)
    assert outcome.steps == 4
    tuned = load_checkpoint(tmp_path / "small-tuned" / "last")
    assert isinstance(tuned, Transformer)
    assert tuned.config.heads_kept == load_checkpoint(tmp_path / "small").config.heads_kept
    assert not torch.equal(tuned.output.weight, load_checkpoint(tmp_path / "small").output.weight)
