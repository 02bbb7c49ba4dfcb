"""The options of a cluster on the command line, and the messages of a job on it."""

from pathlib import Path

import pytest

from clearhead.cli.cluster_options import ClusterOptions, absolute_model
from clearhead.cli.translate_cluster import show_interruption
from clearhead.errors import ConfigError
from tests.command import run
from tests.small_run import make_run


def test_workers_need_a_cluster() -> None:
    assert not ClusterOptions().is_used
    assert ClusterOptions("auto", 3).is_used
    with pytest.raises(ConfigError, match=r"^--workers is the number of workers of a Ray cluster\. Give --ray too\.$"):
        _ = ClusterOptions(None, 3).is_used


def test_workers_get_an_absolute_path_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    model = absolute_model(Path("run"))
    assert (model.folder, model.vocabularies) == (tmp_path / "run" / "best", tmp_path / "run")


def test_an_interruption_says_how_to_continue(capsys: pytest.CaptureFixture[str]) -> None:
    show_interruption(0)
    show_interruption(1234)
    assert capsys.readouterr().err == (
        "clearhead: interrupted.\n"
        "clearhead: interrupted. 1,234 lines are done. To continue, run the same command with --resume.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--resume",), "--resume continues an output file. Name the file with --output FILE."),
        (
            ("--total", "-o", "x"),
            "--total prints only the total, so --output has nothing to write. Remove one of them.",
        ),
        (
            ("--total", "--max-perplexity", "3"),
            "--total prints only the total, so --max-perplexity has nothing to write. Remove one of them.",
        ),
        (
            ("--tokens", "--max-perplexity", "3"),
            "--max-perplexity prints the pairs themselves. To get their tokens too, give --json.",
        ),
        (("--workers", "2"), "--workers is the number of workers of a Ray cluster. Give --ray too."),
        (("-o", "source"), "source is read, and the output would overwrite it."),
    ],
)
def test_options_of_scoring_that_contradict_each_other_are_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text("a dog\n")
    done = run("score", "-m", "en-es", "source", "target", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}")
    assert done.stderr.count("\n") == 1


def test_standard_input_cannot_be_scored_on_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("a dog\n")
    done = run("score", "-m", "en-es", "source", "-", "--ray", "auto", text="ein Hund\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "clearhead: standard input cannot be read on a cluster. Save it as a file, and name the file.\n",
    )
