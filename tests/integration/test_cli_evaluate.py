"""`clearhead evaluate` as a user runs it: files, pipes, tables, exit codes, and error messages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import run, run_process
from tests.unit.evaluation.corpus import references, spoiled

RIGHT = references(43)
TEXTS = {"right": RIGHT, "bad": spoiled(RIGHT, 0.7, 5), "good": spoiled(RIGHT, 0.3, 7), "source": RIGHT[::-1]}
FEW = ("--samples", "101", "--trials", "103")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in TEXTS.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def sacrebleu(folder: Path, *options: str) -> list[dict[str, object]]:
    line = [sys.executable, "-m", "sacrebleu", "right", "-i", "good", *options, "-w", "10"]
    scores = json.loads(subprocess.run(line, cwd=folder, capture_output=True, check=True).stdout)
    return scores if isinstance(scores, list) else [scores]


def test_the_numbers_are_those_of_the_sacrebleu_command(folder: Path) -> None:
    done = run("evaluate", "good", "--reference", "right", "--samples", "0", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    ours = json.loads(done.stdout)["systems"][0]["scores"]
    theirs = sacrebleu(folder, "-m", "bleu", "chrf", "ter")
    assert [(round(score["value"], 10), score["signature"]) for score in ours[:3]] == [
        (score["score"], score["signature"]) for score in theirs
    ]
    options = ("--metric", "tokenised-bleu", "--metric", "chrf++", "--samples", "0", "--json")
    done = run("evaluate", "good", "--reference", "right", "--tokenisation", "intl", *options, cwd=folder)
    marked, plus = json.loads(done.stdout)["systems"][0]["scores"]
    (theirs_marked,) = sacrebleu(folder, "-m", "bleu", "-lc", "-s", "none", "--force", "-tok", "intl")
    assert (round(marked["value"], 10), marked["signature"]) == (theirs_marked["score"], theirs_marked["signature"])
    assert marked["note"] == "As papers quote it; not comparable with BLEU"
    assert round(plus["value"], 10) == sacrebleu(folder, "-m", "chrf", "--chrf-word-order", "2")[0]["score"]


def test_outputs_can_also_be_read_from_a_pipe(folder: Path) -> None:
    text = (folder / "good").read_bytes()
    piped = run_process("evaluate", "--reference", "right", *FEW, cwd=folder, text=text)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout == run("evaluate", "good", "--reference", "right", *FEW, cwd=folder).stdout
    assert piped.stdout.startswith("Scores of 43 sentences\n")
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in piped.stdout


def test_a_named_pipe_is_read_once(folder: Path) -> None:
    line = f"{sys.executable} -m clearhead.cli.main evaluate <(cat good) --reference <(cat right) --samples 0"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("evaluate", "good", "--reference", "right", "--samples", "0", cwd=folder).stdout


def test_systems_are_compared_as_tables_in_markdown(folder: Path) -> None:
    systems = ("--system", "base=bad", "--system", "new=good", "--system", "new=right")
    done = run("evaluate", *systems, "--reference", "right", "--test", "both", *FEW, "--format", "markdown", cwd=folder)
    assert (done.returncode, done.stderr) == (
        0,
        "clearhead: note: right is given as the translations and as the reference. Check that these are the right files.\n",
    )
    for part in (
        "### Scores of 43 sentences",
        "### Compared with base",
        "(2 outputs)",
    ):
        assert part in done.stdout
    assert "| new | BLEU | +" in done.stdout
    assert "- randomisation: ar:103|seed:12345" in done.stdout


def test_leaks_are_reported(folder: Path) -> None:
    (folder / "train.source").write_bytes(f"{TEXTS['source'][0]}\nother\n".encode() + b"caf\xe9\n")
    (folder / "train.target").write_text(f"{RIGHT[0]}\nother\nw1 w1\n")
    training = ("--train-source", "train.source", "--train-target", "train.target", "--source", "source")
    done = run("evaluate", "good", "--reference", "right", *training, "--samples", "0", cwd=folder)
    assert done.returncode == 0
    assert "WARNING: test sentences are in the training text." in done.stdout
    assert done.stderr == "clearhead: train.source: 1 lines are not UTF-8 and were skipped.\n"


def test_a_score_below_the_requirement_gives_exit_code_1(folder: Path) -> None:
    arguments = ("evaluate", "good", "--reference", "right", "--samples", "0")
    assert run(*arguments, "--require", "bleu=5", "--require", "ter=90", cwd=folder).returncode == 0
    done = run(*arguments, "--require", "bleu=99.5", "--metric", "exact", cwd=folder)
    assert done.returncode == 1
    assert "BLEU" in done.stdout
    assert done.stderr.startswith("clearhead: BLEU of 'output' is ")
    assert ", below the required 99.5 (nrefs:1|" in done.stderr
    over = run(*arguments, "--require", "ter=1", cwd=folder)
    assert (over.returncode, ", above the required 1" in over.stderr) == (1, True)


def test_alignments_are_scored_with_or_without_translations(folder: Path) -> None:
    (folder / "gold").write_text("0-0 1-1 2p1\n0-0\n")
    (folder / "mine").write_text("0-0 1-1 2-1\n0-1\n")
    arguments = ("evaluate", "--links", "ours=mine", "--gold-links", "gold")
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ours  │ 28.57" in done.stdout  # 1 - (2 + 3)/(4 + 3)
    report = json.loads(run(*arguments, "--json", cwd=folder).stdout)
    assert report["alignments"][0]["value"] == pytest.approx(200 / 7)
    assert run(*arguments, "--require", "aer=20", cwd=folder).returncode == 1
    assert run(*arguments, "--require", "aer=29", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("good",), "evaluate needs reference translations: give them with --reference FILE."),
        (("good", "--reference", "rihgt"), "rihgt does not exist. Did you mean 'right'?"),
        (("good", "--reference", "short"), "the reference has 2 lines, but system 'output' has 43. Line i of one"),
        (("empty", "--reference", "right"), "empty is empty. Give at least one sentence."),
        (("good", "--reference", "empty"), "empty is empty. Give at least one sentence."),
        (("latin", "--reference", "short"), "latin:2: not UTF-8: byte 0xe9 at byte 4. Convert the file to UTF-8."),
        (
            ("binary", "--reference", "short"),
            "binary:1: a NUL byte at byte 2. Give a text file in UTF-8: this one is binary or UTF-16.",
        ),
        (("good", "--reference", "right", "--metric", "blue"), "'blue' is not a metric. Did you mean 'bleu'?"),
        (
            ("good", "--reference", "right", "--require", "chrff=3"),
            "--require chrff=3: 'chrff' is not a metric. Did you",
        ),
        (("good", "--reference", "right", "--require", "aer=3"), "--require aer needs alignments"),
        (("--system", "good", "--reference", "right"), "--system good: write NAME=FILE, such as base=base.txt."),
        (("-", "--reference", "-"), "standard input can only be read once."),
        (("--links", "short"), "to score alignments, give both links and gold links (--links, --gold-links)."),
        (("--links", "short", "--gold-links", "short"), "short:1: 'one' is not a gold link."),
        (("good", "--reference", "right", "--samples", "7"), "7 samples are too few for a 95 % interval."),
        (("good", "--reference", "right", "--train-source", "gone"), "gone does not exist."),
        (
            ("good", "--reference", "right", "--train-source", "right", "--train-target", "short"),
            "right: 43 lines, but short has 2.",
        ),
    ],
)
def test_unusable_input_is_reported_in_one_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (folder / "short").write_text("one\ntwo\n")
    (folder / "empty").write_bytes(b"")
    (folder / "latin").write_bytes(b"fine\ncaf\xe9\n")
    (folder / "binary").write_bytes(b"a\0b\nc\n")
    done = run("evaluate", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}"), done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "standard input is empty."),
        (b"a\ncaf\xe9\n", "standard input:2: not UTF-8: byte 0xe9 at byte 4."),
        (b"a\0", "standard input:1: a NUL byte at byte 2."),
    ],
)
def test_a_pipe_that_is_not_text_is_reported(folder: Path, content: bytes, sentence: str) -> None:
    done = run("evaluate", "--reference", "right", cwd=folder, text=content)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}")


def test_any_script_can_be_scored(folder: Path) -> None:
    lines = ["नमस्ते दुनिया", "শুভ সকাল", "مرحبا بالعالم", "👩‍👩‍👧 ok", "  ", "a\u2028b"]
    (folder / "many").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "same").write_text((folder / "many").read_text(encoding="utf-8"), encoding="utf-8")
    done = run("evaluate", "many", "--reference", "same", "--source", "many", "--json", *FEW, cwd=folder)
    assert (done.returncode, done.stderr) == (
        0,
        "clearhead: note: the translations in many are identical to the reference in same. "
        "Check that these are the right files.\n"
        "clearhead: note: many is given as the translations and as the source. Check that these are the right files.\n",
    )
    report = json.loads(done.stdout)
    assert report["sentences"] == 6
    assert report["systems"][0]["scores"][3]["value"] == 100.0
