"""The options of a cluster on the command line."""

from pathlib import Path

import pytest

from clearhead.cli.translate_cluster import ClusterOptions
from clearhead.cli.translate_progress import interrupted
from clearhead.decoding.windowed_job import JobInterrupted
from clearhead.errors import ConfigError
from tests.command import run


def test_workers_need_a_cluster() -> None:
    assert not ClusterOptions().is_used
    assert ClusterOptions("auto", 3).is_used
    with pytest.raises(ConfigError, match=r"^--workers is the number of workers of a Ray cluster\. Give --ray too\.$"):
        _ = ClusterOptions(None, 3).is_used


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("-i", "source"),
            "a cluster reads a file and writes a file. Name both (--input, --output).",
        ),
        (
            ("-o", "target", "A dog."),
            "a cluster reads a file and writes a file. Name both (--input, --output).",
        ),
        (
            ("-i", "source", "-o", "target", "--explain", "x.json"),
            "--explain writes one file from one process, so it cannot be used with --ray.",
        ),
        (
            ("-i", "notes.md", "-o", "target.md"),
            "--ray only applies to lines, but notes.md is translated as a document. Remove --ray, or add --no-document "
            "to translate the lines of the file.",
        ),
    ],
)
def test_a_cluster_translates_only_a_file_of_lines(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    for name in ("source", "notes.md"):
        (tmp_path / name).write_text("A dog.\n")
    outcome = run("translate", "--ray", "auto", *arguments, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", f"clearhead: {sentence}\n")


def test_an_interruption_says_how_to_continue(capsys: pytest.CaptureFixture[str]) -> None:
    assert interrupted(KeyboardInterrupt()).exit_code == 130
    assert interrupted(JobInterrupted(1234)).exit_code == 130
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
