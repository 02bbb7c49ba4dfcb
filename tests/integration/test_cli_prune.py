"""`clearhead prune` as a user runs it: a smaller folder, tables, and error messages."""

import json
from pathlib import Path

import pytest

from tests.command import run
from tests.small_run import TEXTS, make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("prune")
    make_run(root / "run")
    for side, name in enumerate(("source", "target")):
        (root / name).write_text("".join(f"{pair[side]}\n" for pair in TEXTS), encoding="utf-8")
    return root


def test_a_smaller_model_is_written_and_translates(folder: Path) -> None:
    done = run("prune", "-m", "run", "source", "target", "--keep", "0.5", "--steps", "1", "-o", "small", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "Heads kept"
    assert "The smaller model is in small." in done.stderr
    config = json.loads((folder / "small" / "config.json").read_text())
    assert sum(map(len, config["heads_kept"].values())) < 10
    assert run("translate", "-m", "small", "the red cat", cwd=folder).returncode == 0


def test_json_has_every_step(folder: Path) -> None:
    done = run("prune", "-m", "run", "source", "target", "--sweep", "--steps", "1", "--no-bleu", "--json", cwd=folder)
    data = json.loads(done.stdout)
    assert [step["heads"] for step in data["steps"]] == [10, 0, 10, 8, 10, 6, 10, 6]
    assert data["signatures"]["bleu"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to remove: give one of --keep SHARE, --remove HEAD or --sweep."),
        (("--keep", "0.5", "--sweep"), "--keep and --sweep cannot be combined. Give one of them."),
        (("--keep", "0.5"), "the smaller model needs a folder, which must be new. Give it with --output FOLDER."),
        (
            ("--keep", "1.5", "-o", "new"),
            "1.5 is not a share of heads to keep. Give a number above 0 and at most 1, such as 0.5 for half (--keep).",
        ),
        (
            ("--sweep", "-o", "new"),
            "--sweep only measures and writes no model. Remove --output and --fine-tune, or use --keep.",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("prune", "-m", "run", "source", "target", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().removeprefix("clearhead: ").removeprefix("error: ") == message


def test_an_unknown_head_is_answered_with_those_there_are(folder: Path) -> None:
    done = run("prune", "-m", "run", "source", "target", "--remove", "encoder.0.head.9", "-o", "new", cwd=folder)
    assert done.returncode == 2
    assert "there is no head 'encoder.0.head.9' in this model" in done.stderr
    assert "encoder.0.self_attention.head.0-1" in done.stderr


def test_the_table_says_how_heads_were_chosen(folder: Path) -> None:
    text = ("prune", "-m", "run", "source", "target", "--no-bleu", "--format", "markdown")
    named = run(*text, "--remove", "encoder.0.self_attention.head.1", "-o", "named", cwd=folder)
    assert "the heads that you named are removed" in named.stdout
    assert "by importance" not in named.stdout
    assert "by importance" in run(*text, "--keep", "0.5", "--steps", "1", "-o", "half", cwd=folder).stdout
