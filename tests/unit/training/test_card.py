"""The model card says what was trained, on what, how well and what not to expect; no number without its signature."""

from pathlib import Path
from typing import Any

from clearhead.training.card import differences, model_card, write_card
from clearhead.training.config import RunConfig
from clearhead.training.outcome import KeptScore, Outcome
from clearhead.training.run import CorpusRecord, RunFolder
from tests.unit.training.configs import LEAST

BLEU = KeptScore("BLEU", 31.7219, "nrefs:1|case:mixed")
DONE = Outcome(1700, 3725.0, "patience", {"bleu": BLEU}, 1300)


def card_of(folder: Path, outcome: Outcome = DONE, **groups: Any) -> str:
    config = RunConfig.model_validate({**LEAST, **groups})
    with RunFolder.create(folder / "my_run", config) as run:
        corpus = CorpusRecord("data.train.0", {"a|`b.en": "ab12", "c.de": "cd34"}, 1013, 997, {"empty": 16, "long": 0})
        run.write_data([corpus, CorpusRecord("data.valid", {}, 101, 101)], {"pieces": 89, "sha256": "ef56"})
        write_card(run, config, outcome)
        return (run.path / "README.md").read_text(encoding="utf-8")


def test_a_score_has_its_signature(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert "On the validation set, by the best checkpoint (update 1,300):" in card
    assert "| BLEU | 31.72 | `nrefs:1¦case:mixed` |" in card


def test_the_data_is_there_with_counts_and_hashes(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert "| `data.train.0` | 1,013 | 997 | 16 empty |" in card
    assert "| `data.valid` | 101 | 101 | none |" in card
    assert "| `data.train.0` | `a¦'b.en` | `ab12` |" in card
    assert "Made by clearhead itself: copy." in card
    assert "Tokeniser: pieces 89, sha256 ef56." in card
    assert "learned from the 997 pairs above" in card


def test_settings_that_differ_are_listed_and_no_others(tmp_path: Path) -> None:
    config = RunConfig.model_validate({**LEAST, "preset": "base", "model": {"d_ff": 64}, "run": "x"})
    assert list(differences(config)) == [
        ("preset", "base", "tiny"),
        ("model.d_ff", "64", "the preset's"),
        ("training.steps", "7", "null"),
    ]
    assert "| `preset` | `base` | `tiny` |" in card_of(tmp_path, preset="base")


def test_how_it_was_trained_and_how_to_use_it(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert card.startswith("# my\\_run\n\nA Transformer that translates sentences, trained by clearhead ")
    assert "1,700 updates in 1 h 2 min; it ended because validation had stopped improving." in card
    assert f'Translator.load("{(tmp_path / "my_run").as_posix()}")' in card
    assert "fluent and wrong" in card
    assert "flatter it a little" in card
    assert "not finished" not in card


def test_a_run_without_scores_says_why(tmp_path: Path) -> None:
    card = card_of(tmp_path, Outcome(3, 61.0, "interrupted"))
    assert "None: the run had no validation set (`data.valid`)." in card
    assert "3 updates in 1 min 1 s; it ended because it was interrupted." in card
    assert "The run is not finished" in card
    assert "flatter" not in card
    valid = {"train": [{"built_in": "copy"}], "valid": {"built_in": "sort"}}
    assert "None: the run stopped before its first validation." in card_of(
        tmp_path / "second", Outcome(3, 5.0, "interrupted"), data=valid
    )


def test_a_card_can_be_written_before_the_data_is_read(tmp_path: Path) -> None:
    config = RunConfig.model_validate({**LEAST, "task": "language-model"})
    with RunFolder.create(tmp_path / "run", config) as run:
        card = model_card(run, config, Outcome(0, 0.4, "interrupted"))
    assert "The data had not been read when this was written." in card
    assert "goes on with a text" in card
    assert "/last" in card


def test_only_a_translator_is_shown_translating(tmp_path: Path) -> None:
    line = '.translate(["…"])[0].text)\n```\n'
    assert line in card_of(tmp_path)
    assert line not in card_of(tmp_path / "second", task="language-model")
