"""`clearhead classify` as a user runs it: a line for each text, the evaluation, and error messages."""

import json
from pathlib import Path

import pytest

from clearhead.decoding.classification import open_classifier
from tests.command import run, run_process
from tests.small_halves import LABELS, LINES, make_classifier_run, make_writer_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("classify")
    make_classifier_run(root / "run")
    make_writer_run(root / "writer")
    (root / "texts").write_text("\n".join(LINES) + "\n")
    predictions = [outcome.label for outcome in open_classifier(root / "run").classify(LINES) if outcome is not None]
    wrong = next(label for label in LABELS if label != predictions[-1])
    (root / "gold").write_text("\n".join([*predictions[:-1], wrong]) + "\n")
    (root / "holes").write_text("cat\n\ndog\n")
    return root


def test_every_line_has_its_label_in_a_process_of_its_own(folder: Path) -> None:
    done = run_process("classify", "-m", "run", text="\n".join(LINES), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    expected = [outcome.label for outcome in open_classifier(folder / "run").classify(LINES) if outcome is not None]
    assert done.stdout.splitlines() == expected
    assert run("classify", "-m", "run", "-i", "texts", cwd=folder).stdout == done.stdout
    assert run("classify", "-m", "run", *LINES, cwd=folder).stdout == done.stdout


def test_probabilities_and_json_have_every_label(folder: Path) -> None:
    line = run("classify", "-m", "run", "-p", "cat", cwd=folder).stdout.rstrip("\n").split("\t")
    assert [cell.partition(":")[0] for cell in line[1:]] == list(LABELS)
    shares = [float(cell.partition(":")[2]) for cell in line[1:]]
    assert sum(shares) == pytest.approx(1, abs=2e-4)
    assert line[0] == LABELS[shares.index(max(shares))]
    record = json.loads(run("classify", "-m", "run", "--json", "cat", cwd=folder).stdout)
    assert list(record) == ["line", "text", "label", "probabilities", "unknown_words"]
    assert list(record["probabilities"].values()) == pytest.approx(shares, abs=1e-4)


def test_labels_are_compared_with_the_correct_ones(folder: Path) -> None:
    done = run("classify", "-m", "run", "-i", "texts", "--labels", "gold", "-o", "out", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Scores of 4 texts" in done.stdout
    assert "accuracy │ 75.00" in done.stdout
    assert "accuracy: unit:label|average:micro" in done.stdout
    assert "95 % interval: bootstrap, bs:1000|seed:12345" in done.stdout
    assert "Confusion matrix" in done.stdout
    assert (folder / "out").read_text() == run("classify", "-m", "run", "-i", "texts", cwd=folder).stdout
    report = json.loads(run("classify", "-m", "run", "-i", "texts", "--labels", "gold", "--json", cwd=folder).stdout)
    assert report["scores"][0]["value"] == 75.0
    assert report["scores"][0]["interval"]["level"] == 0.95
    assert sum(sum(row.values()) for row in report["confusion"].values()) == 4


def test_lines_that_cannot_be_classified_are_skipped_and_counted(folder: Path) -> None:
    done = run("classify", "-m", "run", "-i", "holes", "--on-fault", "skip", cwd=folder)
    assert done.returncode == 0
    assert [bool(line) for line in done.stdout.splitlines()] == [True, False, True]
    (folder / "three").write_text("neutral\nneutral\nneutral\n")
    arguments = ("classify", "-m", "run", "-i", "holes", "--labels", "three", "--samples", "0", "--on-fault", "skip")
    done = run(*arguments, cwd=folder)
    assert "Scores of 2 texts" in done.stdout
    assert "1 texts were skipped, because they are empty or too long." in done.stdout


def test_words_that_the_vocabulary_does_not_have_are_named(folder: Path) -> None:
    done = run("classify", "-m", "run", "--json", "the zebra cat", cwd=folder)
    record = json.loads(done.stdout)
    assert record["unknown_words"] == ["zebra"]
    assert done.stderr == "clearhead: the vocabulary of the model does not have 'zebra', which it reads as unknown.\n"
    done = run("classify", "-m", "run", "zebra", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == (
        "clearhead: the vocabulary of the model has no word of this text ('zebra'), so that its label says nothing "
        "about it.\n"
    )
    done = run("classify", "-m", "run", text="cat\nthe zebra\nlion\n", cwd=folder)
    assert done.stderr == (
        "clearhead: 2 of 3 lines have words that the vocabulary of the model does not have, for example line 2: "
        "'zebra'. In 1 of them no word is known, for example in line 3, so that its label says nothing about it.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "run", ""), "line 1: the text is empty. Give at least one word, or skip such lines (--on-fault skip)."),
        (("-m", "run", "-i", "holes"), "line 2: the text is empty."),
        (("-m", "run", "cat " * 30), "line 1: the text has 31 tokens (including the end token), but the model reads"),
        (("-m", "writer", "cat"), "this model is a language model (shape decoder), so it has no labels."),
        (("cat",), "no model was given."),
        (("run",), "'run' is the folder of a model, but a text or a file is expected here. Use --model run."),
        (("-m", "run", "texts"), "'texts' is a file, but a text is expected here. To classify its lines, use --input"),
        (("-m", "run", "-i", "texts", "cat"), "both a text and a file (--input) are given."),
        (("-m", "run", "-i", "texts", "--labels", "wrong"), "wrong:2: 'postive' is not a label of this model. Did you"),
        (("-m", "run", "-i", "texts", "--labels", "short"), "there are 4 texts and 1 labels. Label i belongs to"),
        (("-m", "run", "-i", "-", "--labels", "-"), "standard input can only be read once."),
        (("-m", "run", "-i", "texts", "-o", "texts"), "texts is read, and the output would overwrite it."),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "wrong").write_text("neutral\npostive\n")
    (folder / "short").write_text("neutral\n")
    done = run("classify", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: {message}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_label_names_the_labels_that_exist(folder: Path) -> None:
    (folder / "wrong").write_text("postive\n")
    done = run("classify", "-m", "run", "cat", "--labels", "wrong", cwd=folder)
    assert done.stderr.endswith("Did you mean 'positive'? Labels: negative, neutral, positive.\n")
