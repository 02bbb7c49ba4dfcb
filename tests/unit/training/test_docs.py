"""The pages about training are complete: the generated one, and the lists that are written by hand."""

import re
from pathlib import Path
from typing import get_args

import pytest

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.training import launch, run
from clearhead.training.config import RunConfig, load_run_config
from clearhead.training.config_help import config_fields
from tests.generated_pages import generated_page
from tests.unit.training.configs import mistakes_of, written

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guide"


@pytest.fixture(scope="module")
def train_page() -> str:
    return (GUIDE / "train.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data_page() -> str:
    return (GUIDE / "data.md").read_text(encoding="utf-8")


def test_every_setting_is_on_the_page_with_its_section() -> None:
    page = generated_page("guide/config.md")
    assert len(list(config_fields())) > 50
    for field in config_fields():
        group, _, name = field.path.rpartition(".")
        sections = {"data.valid": "data.train", "data.test": "data.train", "data.train.0": "data.train"}
        group = sections.get(group, group or "Top level")
        section = page.partition(f"\n## {group}\n")[2].partition("\n## ")[0]
        assert f"\n| `{name}` |" in section, f"{field.path} is not on the page"


@pytest.mark.parametrize("page", ["docs/guide/train.md"])
def test_the_config_for_two_files_of_the_user_can_be_read(page: str, tmp_path: Path) -> None:
    shown = re.search(
        r"```yaml\n((?:# own\.yaml\n)?data:\n  train:\n    - source.*?)```", (ROOT / page).read_text(), re.S
    )
    assert shown, "the page has lost its config"
    config = load_run_config(written(tmp_path, shown[1]), check_files=False)
    assert config.data.train[0].target == "data/train.es"
    assert config.training.epochs == 20


def test_the_mistakes_on_the_page_are_what_a_config_gets(
    train_page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = train_page.partition("$ clearhead train mistakes.yaml\nclearhead: ")[2].partition("\n```")[0].splitlines()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.en").write_text("Yes.\n")
    monkeypatch.chdir(tmp_path)
    config = {
        "data": {"train": [{"source": "data/train.en", "traget": "data/train.es"}]},
        "training": {"stpes": 100, "rate": "fast"},
        "text": {"kind": "word", "sampling": 0.2},
    }
    mistakes = mistakes_of(written(tmp_path, config, "mistakes.yaml"))
    assert len(lines) == 4
    assert [line.partition(": ")[2] for line in lines] == [mistake.partition(": ")[2] for mistake in mistakes]


def test_the_page_names_every_section_and_every_file_of_a_run(train_page: str) -> None:
    for name in RunConfig.model_fields:
        assert name == "run" or f"`{name}`" in train_page, f"{name} is not explained"
    folder = run.RunFolder("runs/own")
    named = [run.CONFIG, run.ENVIRONMENT, run.DATA, run.METRICS, run.OUTCOME, run.CARD]
    named += [
        path.name for path in (folder.path / "tokeniser", folder.checkpoints, folder.best, folder.last, folder.curves)
    ]
    shown = train_page.partition("## The run folder")[2].partition("```\n\n")[0]
    for name in named:
        assert re.search(rf"\b{re.escape(name)}\b", shown), f"{name} is not in the folder on the page"


def test_the_page_lists_what_can_change_when_a_run_is_resumed(train_page: str) -> None:
    section = train_page.partition("**Settings that you can change**")[2].partition("```")[0]
    often = {
        "checkpoint_every",
        "keep_checkpoints",
        "log_every",
        "every",
        "run",
    }  # "how often it logs, validates and saves"
    for path in launch._MAY_CHANGE:
        name = path.rpartition(".")[2]
        assert name in often or f"`{name}`" in section, f"{path} may change, and the page does not say so"


def test_the_page_of_data_names_every_setting_of_data_and_every_built_in_corpus(data_page: str) -> None:
    for name in {*DataConfig.model_fields} - {"train", "valid", "test"}:
        assert f"`{name}" in data_page, f"{name} is not explained"
    built_in = get_args(CorpusConfig.model_fields["built_in"].annotation)[0]
    for name in get_args(built_in):
        assert re.search(rf"\b{name}\b", data_page)


def test_the_glossary_has_the_words_of_training() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = (
        "packed row, bucket, token budget, epoch, update, label smoothing, teacher forcing, checkpoint, run folder, R-Drop, "
        "EMA, early stopping, subword sampling, byte fallback"
    )
    for word in words.split(", "):
        assert f"| {word} |" in glossary
