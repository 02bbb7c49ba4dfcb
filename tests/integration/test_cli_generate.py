"""`clearhead generate` as a user runs it: prompts in, texts out, also as they grow, and error messages."""

import json
import math
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.cli.generate import TextStream
from clearhead.decoding.generation import open_generator
from clearhead.decoding.search.settings import SearchSettings
from tests.command import run
from tests.small_halves import make_classifier_run, make_writer_run
from tests.small_run import make_run

PROMPTS = ["the red cat", "a bird"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("generate")
    make_writer_run(root / "writer")
    make_classifier_run(root / "classifier")
    make_run(root / "translator")
    (root / "prompts").write_text("\n".join(PROMPTS) + "\n")
    return root


def expected_texts(folder: Path, settings: SearchSettings) -> list[str]:
    return [text.text_of(0) for text in open_generator(folder / "writer").generate(PROMPTS, settings) if text]


def test_every_prompt_is_continued_on_its_line(folder: Path) -> None:
    arguments = ("generate", "-m", "writer", "--max-tokens", "5")
    done = run(*arguments, text="\n".join(PROMPTS), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected_texts(folder, SearchSettings(max_length=5))
    assert run(*arguments, "-i", "prompts", cwd=folder).stdout == done.stdout
    assert run(*arguments, *PROMPTS, "-o", "out", cwd=folder).stdout == ""
    assert (folder / "out").read_text() == done.stdout


def test_a_prompt_of_unknown_words_keeps_its_space_and_is_reported(folder: Path) -> None:
    done = run("generate", "-m", "writer", "--max-tokens", "2", "zebra", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("zebra ")
    assert done.stderr == (
        "clearhead: the vocabulary of the model has no word of this text ('zebra'), so that the continuation does not "
        "depend on it.\n"
    )
    record = json.loads(run("generate", "-m", "writer", "--json", "a zebra", cwd=folder).stdout)
    assert record["unknown_words"] == ["zebra"]


def test_samples_are_listed_with_their_scores_and_follow_the_seed(folder: Path) -> None:
    arguments = ("generate", "-m", "writer", "--max-tokens", "5", "--temperature", "1", "--num", "3", "a bird")
    one, again, other = (run(*arguments, "--seed", seed, cwd=folder).stdout for seed in ("5", "5", "6"))
    assert one == again != other
    rows = [line.split("\t") for line in one.splitlines()]
    assert [row[0] for row in rows] == ["1"] * 3
    assert [float(row[1]) for row in rows] == sorted((float(row[1]) for row in rows), reverse=True)
    assert all(row[2].startswith("a bird") for row in rows)


def test_json_has_the_log_probability_of_every_token(folder: Path) -> None:
    arguments = ("generate", "-m", "writer", "--max-tokens", "4", "--beam", "2", "--num", "2", "--json", "a bird")
    record = json.loads(run(*arguments, cwd=folder).stdout)
    assert (record["line"], record["prompt"], len(record["continuations"])) == (1, "a bird", 2)
    for continuation in record["continuations"]:
        total = math.fsum(token["log_prob"] for token in continuation["tokens"])
        assert continuation["log_prob"] == pytest.approx(total)
        assert continuation["text"] == "a bird" + continuation["continuation"]
    explained = json.loads(run(*arguments, "--explain", "--alternatives", "2", cwd=folder).stdout)
    token = explained["continuations"][0]["tokens"][0]
    assert list(token) == ["piece", "log_prob", "rank", "alternatives"]
    assert len(token["alternatives"]) == 2


def test_an_explanation_lists_every_token_with_its_alternatives(folder: Path) -> None:
    done = run("generate", "-m", "writer", "--max-tokens", "3", "--explain", "a bird", cwd=folder)
    text, heading, *rows = done.stdout.splitlines()
    assert text.startswith("a bird")
    assert heading.split() == ["token", "P", "rank", "alternatives"]
    assert [row.split()[2] for row in rows] == ["1"] * len(rows)  # greedy search
    assert "clearhead explain -m writer TEXT -o page.html makes a page" in done.stderr


def test_a_terminal_shows_the_text_as_it_grows(folder: Path) -> None:
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "clearhead.cli.main", "generate", "-m", "writer", "--max-tokens", "5", *PROMPTS]
    process = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    shown = os.read(reader, 100_000).decode().splitlines()
    os.close(reader)
    assert (process.returncode, process.stderr) == (0, b"")
    assert shown == expected_texts(folder, SearchSettings(max_length=5))


def test_a_stream_prints_each_part_once(capsys: pytest.CaptureFixture[str]) -> None:
    stream = TextStream("Once")
    for text in ("", " up", " upon", " upon", " upon a"):
        stream.show(text)
    assert capsys.readouterr().out == "Once upon a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "writer", ""), "line 1: the prompt is empty. Give some words that the model can continue, or skip such"),
        (("-m", "writer", "cat " * 30), "line 1: the prompt has 30 tokens, but the model has positions for 23, and"),
        (("-m", "translator", "cat"), "this model translates (shape encoder-decoder), so it cannot continue a text."),
        (("-m", "classifier", "cat"), "this model is a classifier (shape encoder), so it cannot continue a text."),
        (("cat",), "no model was given."),
        (("-m", "writer", "prompts"), "'prompts' is a file, but a text is expected here. To continue its lines, use"),
        (("-m", "writer", "cat", "--num", "2"), "n_best = 2 is more than beam = 1. Use a beam of 2 (--num, --beam)."),
        (("-m", "writer", "cat", "--top-k", "2"), "top_k and top_p only apply to sampling. Give a temperature too"),
        (("-m", "writer", "-i", "prompts", "-o", "prompts"), "prompts is read, and the output would overwrite it."),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("generate", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
