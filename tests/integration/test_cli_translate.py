"""`clearhead translate` as a user runs it: pipes, files, kills, and input that is not text."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head, every_rule
from clearhead.decoding.head_choice import rate_heads
from clearhead.decoding.job import TranslationJob
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links, pharaoh
from tests.command import run
from tests.small_run import TEXTS, make_run

LINES = ["the red cat", "", "😀 مرحبا", "नमस्ते দুনিয়া", "   ", "where is the old house?", "x\u2028y"]
SHORT = ("--max-length", "9")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_run(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_run(tmp_path_factory.mktemp("run"), ("de", "hi")))


def test_the_command_itself_reads_a_pipe_and_writes_a_pipe(model: str) -> None:
    command = [sys.executable, "-m", "clearhead.cli.main", "translate", "-m", model, *SHORT, "--quiet"]
    text = "".join(line + "\n" for line in LINES)
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60, check=True)
    assert (done.stdout.decode(), done.stderr) == (
        run("translate", "-m", model, *SHORT, "--quiet", text=text).stdout,
        b"",
    )


def test_characters_outside_the_vocabulary_are_named_on_stderr_unless_it_is_quiet(model: str) -> None:
    loud = run("translate", "-m", model, *SHORT, "the 99 cats")
    assert loud.stderr == (
        "clearhead: Characters that the vocabulary of the model does not have: '9'.\n"
        "clearhead: A number that is not in the translation: '99'.\n"
    )
    quiet = run("translate", "-m", model, *SHORT, "--quiet", "the 99 cats")
    assert (quiet.stdout, quiet.stderr) == (loud.stdout, "")


def test_lines_of_a_pipe_a_file_and_a_sentence_are_the_same(model: str, tmp_path: Path) -> None:
    text = "".join(line + "\n" for line in LINES)
    piped = run("translate", "-m", model, *SHORT, "--quiet", text=text)
    assert (piped.returncode, piped.stderr) == (0, "")
    translations = piped.stdout.split("\n")
    assert len(translations) == len(LINES) + 1
    assert [number for number, line in enumerate(translations) if not line] == [1, 4, 7]
    (tmp_path / "in.txt").write_text(text)
    done = run(
        "translate", "-m", model, *SHORT, "--quiet", "-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt")
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out.txt").read_text() == piped.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]
    assert run("translate", "-m", model, "the red cat", *SHORT).stdout == translations[0] + "\n"


def test_the_name_of_a_file_is_not_translated(model: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the red cat\n")
    done = run("translate", "-m", model, "in.txt", *SHORT, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clearhead: 'in.txt' is a file, but a text is expected here. To translate its lines, use --input in.txt.\n"
    )
    assert run("translate", "-m", model, "the red cat " * 400, *SHORT, cwd=tmp_path).returncode == 0


def test_columns_and_objects_get_their_translation_added(model: str, tmp_path: Path) -> None:
    alone = run("translate", "-m", model, "a dog", *SHORT).stdout[:-1]
    table = run("translate", "-m", model, *SHORT, "--form", "tsv", text="id\tsource\n7\ta dog\n")
    assert table.stdout == f"id\tsource\ttranslation\n7\ta dog\t{alone}\n"
    objects = run("translate", "-m", model, *SHORT, "--form", "jsonl", text='{"source": "a dog", "id": 7}\n\n')
    assert objects.stdout == json.dumps({"source": "a dog", "id": 7, "translation": alone}, ensure_ascii=False) + "\n\n"
    clash = run("translate", "-m", model, *SHORT, "--form", "jsonl", text='{"source": "a dog", "translation": 7}\n')
    assert clash.returncode == 2
    assert "the object already has a key 'translation'" in clash.stderr


def test_the_json_of_a_line_has_everything_about_it(model: str) -> None:
    done = run(
        "translate", "-m", model, "a dog", *SHORT, "--json", "--scores", "--align", "--beam", "3", "--n-best", "2"
    )
    record = json.loads(done.stdout)
    assert record["log_prob"] == pytest.approx(sum(token["log_prob"] for token in record["tokens"]))
    assert record["n_best"][0]["translation"] == record["translation"]
    assert record["source_words"] == ["a", "dog"]
    plain = run("translate", "-m", model, "a dog", *SHORT, "--scores", "--align", "--beam", "3")
    assert plain.stdout.split("\t")[0] == record["translation"]
    assert plain.stdout.split("\t")[3][:-1] == record["alignment"]


def test_a_search_is_explained_in_a_file_and_in_the_terminal(model: str, tmp_path: Path) -> None:
    file = tmp_path / "beam.json"
    done = run("translate", "-m", model, "a dog", *SHORT, "--beam", "3", "--explain", str(file))
    data = json.loads(file.read_text())
    assert (data["clearhead_explanation"], data["settings"]["beam"]) == (1, 3)
    assert data["lines"][0]["translation"] + "\n" == done.stdout
    assert data["lines"][0]["parts"][0]["steps"][0]["number"] == 1
    shown = run("translate", "-m", model, "a dog", *SHORT, "--beam", "3", "--explain", "-", "--draw")
    assert shown.stdout.startswith(done.stdout)
    assert "\nstep 1\n" in shown.stdout
    assert "●" in shown.stdout


def write_pairs(folder: Path, model: str, rule: AlignmentRule) -> list[str]:
    """Write sentences, translations and the links that a rule gives them; return the options that name them."""
    looked: list[Sequence[Links]] = []
    rate_heads(Translator.load(model, engine="torch"), TEXTS, lambda alignments: float(looked.append(alignments) or 0))
    links = looked[every_rule(Translator.load(model, engine="torch").model).index(rule)]
    for name, lines in (
        ("source", [source for source, _ in TEXTS]),
        ("reference", [target for _, target in TEXTS]),
        ("gold-links", [pharaoh(sentence_links) for sentence_links in links]),
    ):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    return [*(str(folder / name) for name in ("source", "reference")), "--gold-links", str(folder / "gold-links")]


def test_the_head_that_gold_links_choose_is_used_later(tmp_path: Path) -> None:
    model = str(make_run(tmp_path / "run"))
    usual = run("translate", "-m", model, "the red cat sees", *SHORT, "--align")
    assert usual.stderr == (
        "clearhead: alignments are read from decoder layer 1, mean of heads, at the position where the token is the input "
        "(`--head 0 --shift`). This is a default, which may not be the best head of this model. To choose one from "
        f"sentences and their translations, run: clearhead evaluate --choose-head -m {model} SOURCE_FILE TARGET_FILE\n"
    )
    options = write_pairs(tmp_path, model, AlignmentRule(Head(1, 1), is_shifted=False))
    done = run("evaluate", "--choose-head", "-m", model, *options, "--require", "aer=1")
    assert done.returncode == 0
    assert done.stderr.startswith(
        "clearhead: alignments will be read from decoder layer 2, head 2, at the position where the token is predicted "
        "(`--head 1.1 --no-shift`); saved in "
    )
    assert "note:" not in done.stderr
    best = r"layer 2, head 2, at the position where the token is predicted \(`--head 1.1 --no-shift`\) +│ +0.00\n"
    assert re.search(best, done.stdout)
    assert "AER: nrefs:1|sentences:6|links:gold|teacher-forced:yes" in done.stdout
    chosen = run("translate", "-m", model, "the red cat sees", *SHORT, "--align")
    assert chosen.stderr == (
        "clearhead: alignments are read from decoder layer 2, head 2, at the position where the token is predicted "
        "(`--head 1.1 --no-shift`), chosen with gold links (AER 0.00).\n"
    )
    explicit = run("translate", "-m", model, "the red cat sees", *SHORT, "--align", "--head", "1.1", "--no-shift")
    assert (explicit.stdout, explicit.stderr) == (chosen.stdout, "")
    assert run("translate", "-m", model, "the red cat sees", *SHORT, "--align", "--head", "0").stdout == usual.stdout
    other = run("translate", "-m", model, "the red cat sees", *SHORT, "--align", "--shift")
    assert "head 2, at the position where the token is the input (`--head 1.1 --shift`)" in other.stderr
    assert other.stdout == run("translate", "-m", model, "the red cat sees", *SHORT, "--align", "--head", "1.1").stdout
    assert run("translate", "-m", model, "the red cat sees", *SHORT).stderr == ""


def test_without_gold_links_a_head_is_chosen_with_estimated_ones(tmp_path: Path) -> None:
    model = str(make_run(tmp_path / "run"))
    options = write_pairs(tmp_path, model, AlignmentRule(Head(0)))[:2]
    done = run("evaluate", "--choose-head", "-m", model, *options, "--json")
    error_rates = json.loads(done.stdout)["alignments"]
    assert len(error_rates) == 5
    assert error_rates[0]["value"] <= error_rates[1]["value"] < 100
    assert error_rates[0]["signature"] == "nrefs:1|sentences:6|links:counted|teacher-forced:yes"
    assert error_rates[0]["value"] > 50  # the model is random
    assert "even this head disagrees with most of the estimated links" in done.stderr
    choice = json.loads((tmp_path / "run" / "best" / "alignment.json").read_text())
    assert (choice["chosen_by"], choice["error_rate"]) == ("counted links", error_rates[0]["value"])
    assert "chosen with estimated links (AER " in run("translate", "-m", model, "a dog", *SHORT, "--align").stderr
    assert run("evaluate", "--choose-head", "-m", model, *options, "--require", "aer=0").returncode == 1


def test_gold_links_of_tagged_sentences_do_not_count_the_tag(tmp_path: Path) -> None:
    tagged = str(make_run(tmp_path / "run", ("de", "hi")))
    for name, text in (("source", ">>de<< a dog\n"), ("reference", "ein Hund\n"), ("gold", "0-0 1-1\n")):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / "source"), str(tmp_path / "reference")]
    done = run("evaluate", "--choose-head", "-m", tagged, *paths, f"--gold-links={tmp_path / 'gold'}")
    assert done.returncode == 0, done.stderr
    (tmp_path / "gold").write_text("2-1\n")
    wrong = run("evaluate", "--choose-head", "-m", tagged, *paths, f"--gold-links={tmp_path / 'gold'}")
    assert "the link 2-1 is out of range: the sentences have 2 and 2 words." in wrong.stderr


def test_an_output_is_not_resumed_with_another_head(tmp_path: Path) -> None:
    model = str(make_run(tmp_path / "run"))
    (tmp_path / "in.txt").write_bytes(b"a dog\n\xff\n")
    command = [*translate(model, tmp_path)[3:], "--window", "1", "--align"]
    assert run(*command).returncode == 2
    run("evaluate", "--choose-head", "-m", model, *write_pairs(tmp_path, model, AlignmentRule(Head(1, 1))))
    (tmp_path / "in.txt").write_bytes(b"a dog\na cat\n")
    again = run(*command, "--resume")
    assert again.returncode == 2
    assert "alignment" in again.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "--choose-head needs two files, sentences and their translations, not 0."),
        (("one",), "--choose-head needs two files, sentences and their translations, not 1."),
        (("two", "one"), "two has 2 lines, but one has 1."),
        (("one", "one"), "both files are the same. Give a file of sentences and a file of their translations."),
        (
            ("one", "--source", "two", "--reference", "one"),
            "--choose-head scores the links of a model and does not use --reference.",
        ),
        (("--links", "one"), "--choose-head scores the links of a model and does not use --links."),
        (
            ("one", "other", "--gold-links", "gold"),
            "gold:1: the link 2-0 is out of range: the sentences have 2 and 2 words. Words are counted from 0.",
        ),
        (("one", "other", "--gold-links", "two"), "two:1: 'a' is not a gold link."),
    ],
)
def test_wrong_input_for_choosing_a_head_is_reported(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], sentence: str
) -> None:
    for name, text in (("one", "a dog\n"), ("other", "ein Hund\n"), ("two", "a\nb\n"), ("gold", "0-0 2-0\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    done = run("evaluate", "--choose-head", "-m", model, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}"), done.stderr


def test_an_unknown_language_gets_a_close_match(tagged: str) -> None:
    assert run("translate", "-m", tagged, "a dog", "--to", "hi", *SHORT).returncode == 0
    wrong = run("translate", "-m", tagged, "a dog", "--to", "hin", *SHORT)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        "clearhead: >>hin<< is not a language of this vocabulary. Did you mean 'hi'? It has >>de<<, >>hi<< (--to).\n"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a\n\x00\x01\x02\n", "standard input:2: a NUL byte at byte 1."),
        (b"a\nb\xff\n", "standard input:2: not UTF-8: byte 0xff at byte 2."),
        (b"x" * 10**6, "line 1 has 1,000,000 characters, more than the maximum of 200,000."),
        (b"x" * 2**25, "standard input:1: the line is longer than 16 MB."),
    ],
)
def test_input_that_is_not_text_is_reported_in_a_sentence(
    model: str, tmp_path: Path, content: bytes, sentence: str
) -> None:
    done = run("translate", "-m", model, *SHORT, "-o", str(tmp_path / "out.txt"), text=content)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--beam", "0"),
            "beam = 0 is not a whole number from 1 to 4096 (beam: hypotheses kept at each step; 1 is greedy search) (--beam).",
        ),
        (("--n-best", "3"), "n_best = 3 is more than beam = 1. Use a beam of 3 (--n-best, --beam)."),
        (
            ("--temperature", "1", "--explain", "-"),
            "an explanation shows a search, but a temperature samples at random. Remove one of them (--explain",
        ),
        (("--resume",), "--resume continues an output file. Name the file with --output FILE."),
        (("--input", "a.txt"), "both a sentence and a file (--input) are given. Give only one of them."),
        (
            ("--column", "b"),
            "column = b selects a part of a TSV or JSONL line. Give the format of the lines, tsv or jsonl (--form).",
        ),
        (("--all-heads",), "--all-heads only applies to --explain FILE."),
        (("--head", "1"), "--head only applies to --align, --draw and --explain."),
        (("--no-shift",), "--shift only applies to --align, --draw and --explain."),
        (
            ("--align", "--head", "9"),
            "there is no head 9 (decoder layer 10, mean of heads): the decoder has 2 layers with 2 heads each.",
        ),
        (("--prefix", "世"), "prefix: the vocabulary of this model cannot spell '世'."),
        (("--glossary", "none.tsv"), "none.tsv does not exist."),
        (("-o", "no/out.txt"), "the folder of no/out.txt does not exist."),
        (("--long", "refuse", "--max-source", "2"), "line 1 has "),
    ],
)
def test_options_that_contradict_each_other_are_reported_in_a_sentence(
    model: str, options: tuple[str, ...], sentence: str
) -> None:
    done = run("translate", "-m", model, "the red cat sees", *SHORT, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {sentence}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_or_truncated_files_of_a_model_are_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    weights = folder / "best" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:777])
    done = run("translate", "-m", str(folder), "a")
    assert (done.returncode, done.stdout) == (2, "")
    assert "model.safetensors has changed since it was written" in done.stderr
    weights.unlink()
    done = run("translate", "-m", str(folder), "a")
    assert done.returncode == 2
    assert "model.safetensors" in done.stderr
    wrong = run("translate", "-m", str(tmp_path / "rum"), "a")
    assert wrong.stderr.endswith(
        "rum does not exist. Did you mean 'run'? Give a run folder, one of its checkpoints, or an OPUS-MT folder (--model).\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_reported_in_a_sentence(model: str, tmp_path: Path) -> None:
    to_device = [sys.executable, "-m", "clearhead.cli.main", "translate", "-m", model, "a", "-o", "/dev/full"]
    direct = subprocess.run(to_device, capture_output=True, text=True, timeout=60, check=False)
    assert (direct.returncode, direct.stderr) == (
        2,
        "clearhead: the output cannot be written: No space left on device.\n",
    )
    write_lines(tmp_path / "in.txt", 401)
    command = [*translate(model, tmp_path), "--window", "32"]

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4001, 4001))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=little_room, timeout=60, check=False)
    assert done.returncode == 2
    assert "cannot be written: File too large." in done.stderr
    assert "lines are done and saved. Free some space, then resume (--resume)." in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.txt").exists()
    subprocess.run([*command, "--resume"], timeout=60, check=True)
    with (tmp_path / "out.txt").open() as file:
        assert sum(1 for _ in file) == 401


def translate(model: str, folder: Path) -> list[str]:
    """Return the command that translates in.txt to out.txt."""
    files = ("-i", str(folder / "in.txt"), "-o", str(folder / "out.txt"))
    return [sys.executable, "-m", "clearhead.cli.main", "translate", "-m", model, *files, *SHORT]


def write_lines(path: Path, number: int) -> None:
    words = ("the", "red", "cat", "sees", "a", "small", "old", "house", "dog", "bird", "नमस्ते", "😀")
    with path.open("w") as file:
        for line in range(number):
            chosen = [words[(line * 7 + place * place + line // 12) % len(words)] for place in range(line % 9)]
            file.write(" ".join(chosen) + (f" {line}" if line % 3 else "") + "\n")


@pytest.mark.slow
def test_a_run_that_is_killed_five_times_and_resumed_gives_the_same_output(model: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.txt", 1201)
    expected = run("translate", "-m", model, "-i", str(tmp_path / "in.txt"), *SHORT, "--window", "32").stdout
    part, killed = tmp_path / "out.txt.part", []
    for kill in range(5):
        process = subprocess.Popen([*translate(model, tmp_path), "--resume", "--window", "32"])
        wanted = (kill + 1) * 90
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if part.exists() and part.read_bytes().count(b"\n") >= wanted:
                break
        assert process.poll() is None, "it was done before it could be killed"
        process.send_signal(signal.SIGKILL if kill % 2 else signal.SIGTERM)
        process.wait(timeout=60)
        killed.append(part.read_bytes().count(b"\n"))
        assert not (tmp_path / "out.txt").exists()
    assert killed == sorted(killed)
    done = subprocess.run([*translate(model, tmp_path), "--resume", "--window", "32"], timeout=60, check=True)
    assert done.returncode == 0
    assert (tmp_path / "out.txt").read_text() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]
    again = run(*translate(model, tmp_path)[3:], "--resume", "--window", "32")
    assert again.stderr.endswith("out.txt is already complete.\n")


def test_ctrl_c_prints_how_to_resume(model: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in.txt")
    process = subprocess.Popen([*translate(model, tmp_path), "--window", "1"], stderr=subprocess.PIPE, text=True)
    with (tmp_path / "in.txt").open("w") as pipe:
        pipe.write("a dog\n")
        pipe.flush()
        deadline = time.monotonic() + 60
        while not (tmp_path / "out.txt.part.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "clearhead: interrupted. 1 lines are done. To continue, run the same command with --resume.\n"


def test_ctrl_c_without_a_file_is_one_sentence(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TranslationJob, "content", interrupt)
    done = run("translate", "-m", model, "a dog")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "clearhead: interrupted.\n")


def test_an_output_is_not_resumed_with_changed_input(model: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"a dog\na cat\n\xff\n")
    command = [*translate(model, tmp_path)[3:], "--window", "1"]
    first = run(*command)
    assert first.returncode == 2
    assert first.stderr.endswith(
        "The first 2 lines are translated and saved. Correct the input, then resume (--resume).\n"
    )
    (tmp_path / "in.txt").write_bytes(b"a dog\na bird\na fish\n")
    other = run(*command, "--resume")
    assert other.returncode == 2
    assert "the first 2 lines of the input are not those" in other.stderr
    (tmp_path / "in.txt").write_bytes(b"a dog\na cat\na fish\n")
    assert run(*command, "--resume").returncode == 0
    alone = [run("translate", "-m", model, text, *SHORT).stdout for text in ("a dog", "a cat", "a fish")]
    assert (tmp_path / "out.txt").read_text() == "".join(alone)


def test_ten_thousand_equal_lines_take_no_longer_than_a_few(model: str) -> None:
    done = run("translate", "-m", model, *SHORT, text="the red cat\n" * 10_000)
    translations = done.stdout.split("\n")[:-1]
    assert (len(translations), len(set(translations))) == (10_000, 1)


PEAK = """
import resource, sys, clearhead.cli.main as m
sys.argv = ["clearhead", *sys.argv[1:]]
try:
    m.main()
except SystemExit as done:
    assert not done.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_lines(model: str, tmp_path: Path) -> None:
    peaks = []
    for number in (40_000, 100_000):  # the library keeps plans for shapes that it has seen; there are few shapes
        write_lines(tmp_path / "in.txt", number)
        files = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
        command = [
            sys.executable,
            "-c",
            PEAK,
            "translate",
            "-m",
            model,
            *files,
            "--max-length",
            "3",
            "--batch-tokens",
            "4096",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
        peaks.append(int(done.stderr.split()[-1]))
        with (tmp_path / "out.txt").open() as file:
            assert sum(1 for _ in file) == number
        (tmp_path / "out.txt").unlink()
    assert peaks[1] < peaks[0] * 1.05 + 8_000  # KiB


@pytest.mark.parametrize(("text", "threads"), [("the red cat", "1"), ("the red cat " * 100, None)])
def test_a_short_text_is_translated_on_one_thread(
    text: str, threads: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    run("translate", "-m", str(tmp_path / "none"), text)
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    run("translate", "-m", str(tmp_path / "none"), text)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3", "what the user sets is left alone"
