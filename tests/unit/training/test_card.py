"""The model card: scores with their signatures, data, settings, commands to use the model, and its limits."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from clearhead.training.card import model_card, write_card
from clearhead.training.config import RunConfig
from clearhead.training.outcome import KeptScore, Outcome
from clearhead.training.run import RunFolder
from tests.unit.training.configs import LEAST
from tests.unit.training.fake_loop import corpus_record

BLEU = KeptScore("BLEU", 31.7219, "nrefs:1|case:mixed")
DONE = Outcome(1700, 3725.0, "patience", {"bleu": BLEU}, 1300)


def card_of(folder: Path, outcome: Outcome = DONE, **groups: Any) -> str:
    config = RunConfig.model_validate({**LEAST, **groups})
    with RunFolder.create(folder / "my_run", config) as run:
        corpus = corpus_record("data.train.0", {"a|`b.en": "ab12", "c.de": "cd34"}, 1013, 997, {"empty": 16, "long": 0})
        run.write_data(
            [corpus, corpus_record("data.valid", {}, 101, 101, {})],
            {"pieces": 89, "sha256": "ef56"},
            {"train": "0 % of the characters are unknown"},
        )
        write_card(run, config, outcome)
        return (run.path / "README.md").read_text(encoding="utf-8")


def test_a_score_has_its_signature(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert "Scores of the best checkpoint (update 1,300) on the validation set:" in card
    assert "| BLEU | 31.72 | `nrefs:1¦case:mixed` |" in card


def test_the_data_is_there_with_counts_and_hashes(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert "| `data.train.0` | 1,013 | 997 | 16 empty |" in card
    assert "| `data.valid` | 101 | 101 | none |" in card
    assert "| `data.train.0` | `a¦'b.en` | `ab12` |" in card
    assert "Built-in corpora of clearhead: copy." in card
    assert "Tokeniser: pieces 89, sha256 ef56." in card
    assert "`data.train`: 0 % of the characters are unknown." in card
    assert "It was trained only on the 997 pairs above." in card


def test_settings_that_differ_are_listed_and_no_others(tmp_path: Path) -> None:
    card = card_of(tmp_path, preset="base", model={"d_ff": 64}, run="x")
    settings = card.split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(settings) == {"preset": "base", "model": {"d_ff": 64}, "training": {"steps": 7}}


def test_the_card_says_how_it_was_trained_and_how_to_use_it(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert card.startswith("# my\\_run\n\nA translation model (encoder-decoder Transformer), trained with clearhead ")
    assert "1,700 updates in 62 min. Training ended: validation stopped improving." in card
    assert f'Translator.load("{(tmp_path / "my_run").as_posix()}")' in card
    assert "fluent and wrong" in card
    assert "slightly optimistic" in card
    assert "not finished" not in card


@pytest.mark.parametrize(
    ("model", "what"),
    [
        ({"architecture": "recurrent"}, "encoder-decoder LSTM"),
        ({"architecture": "recurrent", "cell": "gru"}, "encoder-decoder GRU"),
        ({"architecture": "convolutional"}, "encoder-decoder convolutional network"),
    ],
)
def test_the_card_names_the_architecture(tmp_path: Path, model: dict[str, str], what: str) -> None:
    assert f"A translation model ({what}), trained with" in card_of(tmp_path, model=model)


def test_a_run_without_scores_says_why(tmp_path: Path) -> None:
    card = card_of(tmp_path, Outcome(3, 61.0, "interrupted"))
    assert "None: the run had no validation set (`data.valid`)." in card
    assert "3 updates in 61 s. Training ended: the run was interrupted." in card
    assert "The run is not finished" in card
    assert "slightly optimistic" not in card
    valid = {"train": [{"built_in": "copy"}], "valid": {"built_in": "sort"}}
    assert "None: the run stopped before its first validation." in card_of(
        tmp_path / "second", Outcome(3, 5.0, "interrupted"), data=valid
    )


def test_a_card_can_be_written_before_the_data_is_read(tmp_path: Path) -> None:
    config = RunConfig.model_validate({**LEAST, "task": "language-model"})
    with RunFolder.create(tmp_path / "run", config) as run:
        card = model_card(run, config, Outcome(0, 0.4, "interrupted"))
    assert "The data had not been read when this card was written." in card
    assert "A language model (Transformer decoder)" in card


CORPORA: dict[str, dict[str, Any]] = {
    "translate": {"built_in": "phrasebook"},
    "classify": {"source": "a.txt", "target": "a.labels"},
    "language-model": {"source": "a.txt"},
}


@pytest.mark.parametrize("task", CORPORA)
def test_the_commands_of_the_card_fit_the_task(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = RunConfig.model_validate({**LEAST, "task": task, "data": {"train": [CORPORA[task]]}})
    with RunFolder.create("runs/my run", config) as run:
        card = model_card(run, config, DONE)
    use = card.split("## How to use it\n\n")[1].split("\n\n## Scores")[0] + "\n"
    golden = Path(__file__).parents[2] / "golden" / "model_card" / f"{task}.md"
    assert use == golden.read_text(encoding="utf-8")


def test_a_model_with_several_languages_is_shown_with_a_tag(tmp_path: Path) -> None:
    corpus = {"source": "a.en", "target": "a.hi", "language": "hi"}
    assert ' ">>hi<< …"\n' in card_of(tmp_path, data={"train": [corpus]})


def test_a_run_without_a_best_model_is_used_with_its_last(tmp_path: Path) -> None:
    corpus = {"source": "a.txt", "target": "a.labels"}
    ended = Outcome(3, 61.0, "interrupted")
    assert '/my_run/last").eval()' in card_of(tmp_path, ended, task="classify", data={"train": [corpus]})
