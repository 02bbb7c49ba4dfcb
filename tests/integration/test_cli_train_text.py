"""`clearhead train train.en train.es`: plan, training, test and samples without a config, in seconds on a CPU."""

import json
import re
import shutil
from itertools import islice
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from clearhead.data.phrasebook import pairs
from clearhead.training import plan, progress
from tests.command import run

SMALL = ("--set", "model.d_model=24", "--set", "model.d_ff=29", "--set", "training.device=cpu")


def write_text(folder: Path, number: int = 1000) -> None:
    english, spanish = zip(*islice(pairs("train"), number), strict=True)
    (folder / "train.en").write_text("\n".join(english) + "\n")
    (folder / "train.es").write_text("\n".join(spanish) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a planned run that was stopped by its time before the end, so that it can be resumed."""
    place = tmp_path_factory.mktemp("planned")
    write_text(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "find_spec", lambda name: None)
        done = run(
            *("train", "train.en", "train.es", "--minutes", "0.1", *SMALL, "--set", "training.minutes=0.001"),
            cwd=place,
        )
    assert done.returncode == 0, done.stderr
    (place / "stdout.txt").write_text(done.stdout)
    (place / "stderr.txt").write_text(done.stderr)
    return place


def test_a_plan_is_printed_with_a_reason_for_each_choice(folder: Path) -> None:
    log = (folder / "stderr.txt").read_text()
    assert "1,000 pairs: 800 for training, 100 for validation, 100 for the test.\n" in log
    assert [log.count(text) for text in ("train: 800 pairs", "valid: 100 pairs", "Learning the")] == [1, 1, 1]
    for name in ("vocabulary", "model", "batch", "regularisation", "length", "rate", "schedule", "average"):
        assert f"\n{name} " in log
    assert "\nvocabulary      2,000 pieces  " in log
    assert "million parameters · " in log
    assert " target tokens/s on the CPU\none epoch takes " in log
    assert "Warning: 1,000 pairs are very little text: " in log


def test_a_run_ends_with_test_scores_ten_samples_and_the_command_that_uses_it(folder: Path) -> None:
    output = (folder / "stdout.txt").read_text()
    assert "\nTest sentences, which were not used for training:\nBLEU " in output
    assert output.count("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:") == 2
    assert [output.count(f"\n  {word} ") for word in ("source", "translation", "reference")] == [10, 10, 10]
    (line,) = (line for line in output.splitlines() if line.startswith("To use it: "))
    command = line.removeprefix("To use it: clearhead translate -m runs/train-en-es ")
    done = run("translate", "-m", "runs/train-en-es", json.loads(command), cwd=folder)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "Scores on the test set (`data.test`)" in (folder / "runs" / "train-en-es" / "README.md").read_text()


def test_a_poor_training_ends_with_the_reason_and_what_to_do(folder: Path) -> None:
    output = (folder / "stdout.txt").read_text()
    verdict, *warnings = output[output.index("\nThe model is not usable yet: ") :].strip().split("\n\n")
    assert " on the test sentences" in verdict
    assert re.search(r"It stopped after [\d,]+ of [\d,]+ updates: resume the training\.$", verdict)
    assert warnings[0].startswith("1,000 pairs are very little text: ")
    card = (folder / "runs" / "train-en-es" / "README.md").read_text()
    assert "\n- The model is not usable yet: " in card


def test_a_resumed_run_measures_nothing_and_equals_one_that_was_never_stopped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    monkeypatch.delattr(plan, "measure")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    planned = tmp_path / "runs" / "train-en-es"
    steps = yaml.safe_load((planned / "plan.yaml").read_text())["training"]["steps"]
    before = json.loads((planned / "outcome.json").read_text())
    assert before["stopped"] == "minutes"
    assert before["steps"] < steps
    without_limit = ("--set", "training.minutes=null")
    done = run("train", "--resume", "--run", "runs/train-en-es", *without_limit, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = run("train", "runs/train-en-es/plan.yaml", "--run", "again", *without_limit, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    # The best model may be that of the extra validation at the end of the time, so the last ones are compared.
    weights = [load_file(place / "last" / "model.safetensors") for place in (planned, tmp_path / "again")]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    outcomes = [json.loads((place / "outcome.json").read_text()) for place in (planned, tmp_path / "again")]
    assert [outcome["steps"] for outcome in outcomes] == [steps, steps]


def test_an_interrupted_plan_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    write_text(tmp_path, 300)
    monkeypatch.setattr(plan, "hold_out", interrupt)
    done = run("train", "train.en", "train.es", "--minutes", "0.1", *SMALL, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "clearhead: interrupted before the plan was complete. Start the same command again.\n"


def test_the_plan_alone_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    write_text(tmp_path, 300)
    metric = ("--set", "validation.metric=bleu")  # a setting that needs a validation set
    done = run("train", "train.en", "train.es", "--plan", "--minutes", "0.05", "--json", *SMALL, *metric, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["pairs"] == 239  # one pair occurs twice
    assert data["tokens_per_second"] > 0
    assert data["parameters"] > 0
    assert {choice["name"] for choice in data["choices"]} >= {"model", "rate", "length"}
    assert all(choice["reason"] for choice in data["choices"])
    model = next(choice for choice in data["choices"] if choice["name"] == "model")
    assert (model["value"], model["reason"]) == ("d_model 24, d_ff 29", "your setting")
    assert model["settings"]["model.d_model"] == 24
    assert data["warnings"][0].startswith("300 pairs are very little text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en", "train.es"]


def test_the_plan_of_a_config_is_its_size_speed_and_time(tmp_path: Path) -> None:
    config = "data: {train: [{built_in: copy}], max_pairs: 97}\ntraining: {steps: 7, device: cpu, batch_tokens: 96}\n"
    (tmp_path / "my.yaml").write_text(config + "model: {d_model: 24, d_ff: 29}\n")
    done = run("train", "my.yaml", "--plan", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " million parameters · " in done.stdout
    assert "\n7 updates of 96 tokens · one epoch takes " in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["my.yaml"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("train.en",), "clearhead: train.en is one file of plain text, so there are no translations to learn from. "),
        (("train.en", "short.es"), "clearhead: train.en: 12 lines, but short.es has 3. "),
        (("train.en", "binary.es"), "clearhead: binary.es is not a text file: NUL byte in line 1. "),
        (("train.en", "train.es"), "clearhead: 12 pairs are too few to train on: "),
        (
            ("same.en", "same.es"),
            "clearhead: The two sides are identical in 100 % of the pairs: the model will learn to copy. Are both "
            "files in the same language? To train on this text nevertheless, force it (--force).",
        ),
        (("train.en", "train.es", "--resume"), "clearhead: --resume and --seeds are not for text files. "),
        (("my.yaml", "--minutes", "3"), "clearhead: --minutes is for text files (clearhead train train.en train.es). "),
        (("my.yaml", "--force"), "clearhead: --force is for text files (clearhead train train.en train.es). "),
        (("my.yaml", "--plan", "--resume"), "clearhead: --plan does not train, so --resume and --seeds do not apply "),
        (
            ("train.en", "train.es", "--set", "training.rte=3"),
            "clearhead: --set: training.rte is not a setting. Did you mean 'rate'?",
        ),
    ],
)
def test_wrong_input_gets_one_clear_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    write_text(tmp_path, 12)
    (tmp_path / "short.es").write_text("uno\ndos\ntres\n")
    for name in ("same.en", "same.es"):
        (tmp_path / name).write_text("".join(f"{index}\n" for index in range(30)))
    (tmp_path / "binary.es").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "my.yaml").write_text("data: {train: [{built_in: copy}]}\ntraining: {steps: 7}\n")
    done = run("train", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
