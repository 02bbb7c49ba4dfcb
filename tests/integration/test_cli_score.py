"""`clearhead score` as a user runs it: a line for each sentence, totals, and error messages."""

import json
import math
from pathlib import Path

import pytest

from clearhead.decoding.scoring import TextPair, open_scorer
from clearhead.formats import save_checkpoint
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.command import run, run_process
from tests.unit.decoding.test_scoring import LINES, make_model

TARGETS = LINES[::-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("score")
    vocabularies = train_vocabularies([(line, line) for line in LINES], TextConfig(kind="char", vocabulary=61))
    for name, changes in (("run", {}), ("writer", {"shape": "decoder"})):
        vocabularies.save(root / name)
        save_checkpoint(make_model(vocabularies, **changes).float(), root / name / "best")
    (root / "source").write_text("\n".join(LINES) + "\n")
    (root / "target").write_text("\n".join(TARGETS) + "\n")
    (root / "short").write_text("abc\n")
    (root / "long").write_text("ab" * 20 + "\nabc\n")
    (root / "empty").write_bytes(b"")
    (root / "latin").write_bytes(b"caf\xe9\n")
    return root


def test_every_sentence_has_its_line_and_the_library_agrees(folder: Path) -> None:
    done = run_process("score", "-m", "run", "source", "target", "--tokens", "--json", cwd=folder)
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    expected = list(open_scorer(folder / "run").score(TextPair(*texts) for texts in zip(LINES, TARGETS, strict=True)))
    assert [score["log_prob"] for score in lines] == pytest.approx([score.log_prob for score in expected], abs=1e-5)
    assert [score["num_tokens"] for score in lines] == [len(score.tokens) for score in expected]
    assert lines[0]["tokens"][-1] == "</s>"
    assert sum(lines[0]["log_probs"]) == pytest.approx(lines[0]["log_prob"])
    assert lines[0]["perplexity"] == pytest.approx(math.exp(-lines[0]["log_prob"] / lines[0]["num_tokens"]))


def test_columns_have_a_heading_and_the_total_is_printed_to_stderr(folder: Path) -> None:
    done = run("score", "-m", "run/best", "source", "target", cwd=folder)
    heading, *lines = done.stdout.splitlines()
    assert heading == "log_prob\tperplexity\ttokens"
    assert len(lines) == len(LINES)
    assert all(len(line.split("\t")) == 3 for line in lines)
    assert done.stderr.startswith("8 sentences, ")
    assert "perplexity" in done.stderr
    assert "(unit:token|eos:yes|vocabulary:" in done.stderr


def test_only_the_total_can_be_printed(folder: Path) -> None:
    arguments = ("score", "-m", "run", "source", "target")
    done = run(*arguments, "--total", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    total = json.loads(done.stdout)
    log_probs = [json.loads(line)["log_prob"] for line in run(*arguments, "--json", cwd=folder).stdout.splitlines()]
    assert total["log_prob"] == pytest.approx(sum(log_probs))
    assert total["perplexity"] == pytest.approx(math.exp(-sum(log_probs) / total["num_tokens"]))
    assert run(*arguments, "--total", cwd=folder).stdout.startswith("8 sentences, ")


def test_targets_can_be_read_from_a_pipe_and_empty_lines_remain(folder: Path) -> None:
    (folder / "holes").write_text("abc\n\nabc\n")
    done = run("score", "-m", "run", "holes", "-", text="abc\n\n\n", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines()[2] == "0\t\t0"
    assert done.stdout.splitlines()[3].endswith("\t1")  # only the end token


def test_a_language_model_needs_no_source(folder: Path) -> None:
    done = run("score", "-m", "writer", "target", "--total", cwd=folder)
    assert done.returncode == 0
    refused = run("score", "-m", "writer", "source", "target", cwd=folder)
    assert refused.returncode == 2
    assert "this is a language model, which reads no source" in refused.stderr


def test_lines_that_are_too_long_are_rejected_or_not_scored(folder: Path) -> None:
    arguments = ("score", "-m", "run", "long", "long")
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert "line 1: the source has 4" in done.stderr
    assert done.stderr.endswith("or skip such lines (--too-long skip).\n")
    skipped = run(*arguments, "--too-long", "skip", cwd=folder)
    assert skipped.returncode == 0
    assert skipped.stdout.splitlines()[1] == "\t\t"
    assert skipped.stderr.startswith("2 sentences, 1 too long and skipped, ")
    first_line = json.loads(run(*arguments, "--too-long", "skip", "--json", cwd=folder).stdout.splitlines()[0])
    assert first_line == {"log_prob": None, "perplexity": None, "num_tokens": None}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("-m", "run", "target"),
            "this model translates: give two files, the sentences and their translations, not 1.",
        ),
        (("-m", "rnu", "source", "target"), "rnu does not exist. Did you mean 'run'?"),
        (
            ("run", "source", "target"),
            "'run' is the folder of a model, but a text or a file is expected here. Use --model run.",
        ),
        (
            ("source", "target"),
            "no model was given. Name a run folder, a checkpoint or an OPUS-MT folder with --model.",
        ),
        (("-m", "run", "short", "target"), "short ends after 1 lines, but target has more."),
        (("-m", "run", "source", "short"), "short ends after 1 lines, but source has more."),
        (("-m", "run", "empty", "empty"), "empty is empty. Give at least one sentence."),
        (("-m", "run", "short", "latin"), "latin:1: not UTF-8: byte 0xe9 at byte 4."),
        (("-m", "run", "-", "-"), "standard input can only be read once."),
    ],
)
def test_unusable_input_is_reported_in_one_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = run("score", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_built_in_model_scores_into_the_language_that_translate_would_choose(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("The bank of the river.\n>>hi<< The bank of the river.\n")
    (tmp_path / "target").write_text("La orilla del río.\nLa orilla del río.\n")

    def log_probs(*options: str) -> list[float]:
        done = run("score", *options, "source", "target", "--json", cwd=tmp_path)
        return [json.loads(line)["log_prob"] for line in done.stdout.splitlines()]

    spanish, hindi = log_probs("-m", "tatoeba")
    assert spanish > hindi + 5  # the tag of a line wins
    assert log_probs("-m", "tatoeba", "--to", "Spanish") == log_probs("-m", "en-es") == [spanish, hindi]
    assert log_probs("-m", "tatoeba", "--to", "hi") == pytest.approx([hindi, hindi])
    assert log_probs("-m", "en-hi") == pytest.approx([hindi, hindi])
    refused = run("score", "-m", "tatoeba", "--to", "xx", "source", "target", cwd=tmp_path)
    assert "'xx'" in refused.stderr


def test_a_model_with_one_target_language_refuses_another(folder: Path) -> None:
    refused = run("score", "-m", "run", "--to", "es", "source", "target", cwd=folder)
    assert refused.returncode == 2
    assert (
        "'es' is not a target language of this model. It has one target language: remove it (--to)." in refused.stderr
    )
