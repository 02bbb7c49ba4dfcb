"""`clearhead train` as a user runs it: configs with mistakes, folders that are in use, Ctrl-C, and its help."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clearhead.training import progress
from clearhead.training.outcome import Stopped
from tests.command import run
from tests.unit.training.fake_loop import FakeLoop, put_in_place

GOLDEN = Path(__file__).parents[1] / "golden"
CONFIG = "data:\n  train:\n    - built_in: copy\ntraining: {steps: 7}\n"
# The verb in a separate process, with a loop that prints that it has started and then waits for a signal.
AROUND = """
import sys, time
from types import ModuleType
import clearhead.training.progress as progress
progress.find_spec = lambda name: None
loop = ModuleType("clearhead.training.loop")
def slow(*arguments, **options):
    print("begun", file=sys.stderr, flush=True)
    time.sleep(60)
loop.train = slow
sys.modules["clearhead.training.loop"] = loop
import clearhead.cli.main as m
sys.argv = ["clearhead", "train", *{arguments!r}]
m.main()
"""


def waiting_command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", AROUND.format(arguments=list(arguments))]


def train(folder: Path, *arguments: str, stops: tuple[Stopped, ...] = ("steps",)) -> subprocess.CompletedProcess[str]:
    """Call the verb with a loop that learns nothing: its exit code and its messages come from the verb."""
    (folder / "my.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "find_spec", lambda name: None)
        put_in_place(patch, FakeLoop(stops=list(stops)))
        return run("train", *arguments, cwd=folder)


def test_ten_mistakes_are_reported_in_ten_sentences_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "ten_mistakes.yaml").write_bytes((GOLDEN / "ten_mistakes.yaml").read_bytes())
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("x\n")
    done = run("train", "ten_mistakes.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (GOLDEN / "ten_mistakes.txt").read_text(encoding="utf-8")
    assert done.stderr.count("\n") == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ten_mistakes.yaml", "train.de", "train.en"]


def test_mistakes_in_changes_are_reported_with_those_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(CONFIG + "prest: tiny\n")
    done = run("train", "my.yaml", "--set", "training.rte=3e-4", "--set", "model.d_modle=3", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "clearhead: --set training.rte=3e-4: training.rte is not a setting. Did you mean 'rate'?",
        "my.yaml: prest is not a setting. Did you mean 'preset'?",
        "--set model.d_modle=3: model.d_modle is not a setting. Did you mean 'd_model'?",
    ]


def test_the_help_of_the_config_is_printed() -> None:
    done = run("train", "--help-config")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\ntraining.rate = null   [a number above 0 and at most 1000, or null]\n" in done.stdout
    assert "\nmodel.d_model = 512   [a whole number from 1 to 65536]\n" in done.stdout
    fields = json.loads(run("train", "--help-config", "--json").stdout)
    assert {field["path"] for field in fields} >= {"training.rate", "model.d_model", "data.train.0.source", "text.kind"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            (),
            "clearhead: train needs text or a config: clearhead train train.en train.es, or clearhead train "
            "configs/phrasebook.yaml. All settings: --help-config.\n",
        ),
        (
            ("--resume",),
            "clearhead: --resume needs a run: give its folder with --run, or the config that it was started with.\n",
        ),
        (
            ("--resume", "--run", "nothing"),
            "clearhead: nothing does not exist, so there is nothing to resume. To start a new run, do not resume.\n",
        ),
        (
            ("--resume", "--run", "nothing", "--seeds", "3"),
            "clearhead: --seeds needs the config, also to resume: clearhead train CONFIG --resume --seeds N.\n",
        ),
        (
            (".",),
            "clearhead: .: this is a folder. Give a config file, or resume the run in that folder (--resume --run .).\n",
        ),
        (("no\x1bsuch.yaml",), "clearhead: no\\x1bsuch.yaml: there is no such file.\n"),
    ],
)
def test_a_config_that_cannot_be_trained_is_reported_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = run("train", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)
    assert list(tmp_path.iterdir()) == []


def test_a_run_ends_with_its_scores_and_their_signatures(tmp_path: Path) -> None:
    done = train(tmp_path, "my.yaml", "--set", "training.steps=11")
    assert done.returncode == 0
    assert done.stdout == (
        "11 updates in 3,725.0 s: all updates are done.\n"
        "BLEU 31  nrefs:1|case:mixed|version:2\n"
        "The model, its model card and its metrics are in runs/my.\n"
    )
    assert "update 5/11 · loss 0.5\n" in done.stderr
    assert (tmp_path / "runs" / "my" / "README.md").is_file()


def test_the_outcome_of_a_run_can_be_json(tmp_path: Path) -> None:
    done = train(tmp_path, "my.yaml", "--run", "here", "--json")
    assert json.loads(done.stdout) == {
        **{"run": "here", "steps": 7, "seconds": 3725.0, "stopped": "steps", "best_step": 5},
        "scores": {"bleu": {"name": "BLEU", "value": 31.0, "signature": "nrefs:1|case:mixed|version:2"}},
    }


def test_a_run_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    assert train(tmp_path, "my.yaml").returncode == 0
    again = train(tmp_path, "my.yaml")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("clearhead: runs/my already contains a run (finished after 7 updates")
    assert again.stderr.endswith(
        "Choose another folder, or resume it with training.steps=14 to train it for longer "
        "(--resume --run runs/my --set training.steps=14).\n"
    )


def test_an_interrupted_run_says_how_to_resume_and_resumes(tmp_path: Path) -> None:
    first = train(tmp_path, "my.yaml", stops=("interrupted",))
    assert first.returncode == 130
    assert first.stderr.endswith("clearhead: interrupted. To resume: clearhead train --resume --run runs/my\n")
    second = train(tmp_path, "--resume", "--run", "runs/my")
    assert second.returncode == 0
    with_config = train(tmp_path, "my.yaml", "--resume", "--set", "training.steps=13")
    assert "13 updates" in with_config.stdout


def test_control_c_before_the_first_update_says_how_to_resume(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(CONFIG)
    process = subprocess.Popen(
        waiting_command("my.yaml"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (130, "")
    assert errors == "clearhead: interrupted. To resume: clearhead train --resume --run runs/my\n"


def test_two_processes_cannot_train_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(CONFIG)
    process = subprocess.Popen(waiting_command("my.yaml"), stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    other = train(tmp_path, "--resume", "--run", "runs/my")
    process.kill()
    process.communicate(timeout=20)
    assert other.returncode == 2
    assert other.stderr.startswith(f"clearhead: runs/my is in use: process {process.pid} (since ")
    assert train(tmp_path, "--resume", "--run", "runs/my").returncode == 0


def test_seeds_end_with_a_mean_and_a_spread(tmp_path: Path) -> None:
    done = train(tmp_path, "my.yaml", "--seeds", "3")
    assert done.returncode == 0
    assert done.stdout == (
        "seed 1: 7 updates, BLEU 31\nseed 2: 7 updates, BLEU 32\nseed 3: 7 updates, BLEU 33\n"
        "BLEU 32 ± 1 (3 seeds; nrefs:1|case:mixed|version:2)\n"
        "The runs are in runs/my, with all numbers in seeds.json.\n"
    )
    stopped = train(tmp_path, "my.yaml", "--seeds", "3", "--run", "b", "--json", stops=("steps", "interrupted"))
    assert stopped.returncode == 130
    assert list(json.loads(stopped.stdout)["seeds"]) == ["1", "2"]
    assert stopped.stderr.endswith("To resume: clearhead train CONFIG --resume --run b --seeds 3\n")
    assert run("train", "my.yaml", "--seeds", "1", cwd=tmp_path).returncode == 2


def test_without_torch_the_message_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text(CONFIG)
    code = (
        "import sys\nsys.modules['torch'] = None\nimport clearhead.cli.main as m\n"
        "sys.argv = ['clearhead', 'train', 'my.yaml']\nm.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "clearhead: train needs torch, which is not installed. Run pip install '.[train]' in a clone of clearhead.\n"
    )
