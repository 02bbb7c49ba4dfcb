"""`clearhead what-if` as a user runs it: a sentence or a test set, tables and JSON, and one sentence for each error."""

import json
from pathlib import Path

import pytest

from clearhead.explain import Intervention, Patch, open_model, what_if
from clearhead.explain.what_if_text import what_if_text
from clearhead.formats import save_checkpoint
from clearhead.model import Transformer
from tests.command import run
from tests.small_run import TEXTS, make_run
from tests.unit.explain.models import SENTENCE, single_stack

HEAD = "decoder.1.cross_attention.head.0"
RUN = ("-m", "run", "--to", "de")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("what-if")
    make_run(root / "run", ("de", "bn"))
    for name, shape in (("writer", "decoder"), ("classifier", "encoder")):
        loaded = single_stack(shape)
        loaded.vocabularies.save(root / name)
        assert isinstance(loaded.model, Transformer)
        save_checkpoint(loaded.model, root / name / "best")
    for side, name in enumerate(("source", "target")):
        (root / name).write_text("".join(f"{pair[side]}\n" for pair in TEXTS[:3]), encoding="utf-8")
    (root / "short").write_text("abc\n")
    (root / "exported").mkdir()
    (root / "exported" / "model.bin").write_bytes(b"")
    return root


def test_the_answer_is_that_of_the_library(folder: Path) -> None:
    done = run("what-if", *RUN, SENTENCE, "--without", HEAD, "--uniform", "encoder.*,decoder.0.*", cwd=folder)
    assert done.returncode == 0, done.stderr
    change = Intervention([HEAD], ["encoder.*", "decoder.0.*"])
    expected = what_if(open_model(folder / "run", precision="float32"), SENTENCE, change, language="de")
    assert done.stdout == what_if_text(expected)
    plain = run("translate", *RUN, SENTENCE, "--engine", "torch", "--quiet", cwd=folder)
    assert f"before: {plain.stdout}" in done.stdout


def test_json_has_the_totals_of_its_tokens(folder: Path) -> None:
    options = ("--patch", "encoder.0", "--from-sentence", "where is the old book?", "--word", "book", "--word", "the")
    done = run("what-if", *RUN, SENTENCE, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    for side in ("before", "after", "difference"):
        assert data["total"][side] == pytest.approx(sum(token[side] for token in data["tokens"]))
    assert data["change"]["patch"]["words"] == {"book": "book", "the": "the"}
    change = Intervention(patch=Patch("encoder.0", "where is the old book?", {"book": "book", "the": "the"}))
    assert data["after"] == what_if(open_model(folder / "run"), SENTENCE, change, language="de").after


def test_a_word_is_swapped(folder: Path) -> None:
    done = run("what-if", *RUN, SENTENCE, "--swap", "cat=dog", "--swap", "small=old", "--json", cwd=folder)
    data = json.loads(done.stdout)
    swapped = "the red dog sees a old book."
    plain = run("translate", *RUN, swapped, "--engine", "torch", "--quiet", cwd=folder)
    assert (data["changed_source"], data["after"] + "\n") == (swapped, plain.stdout)


def test_a_test_set_is_two_files(folder: Path) -> None:
    done = run("what-if", *RUN, "source", "target", "--without", HEAD, "--lines", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"without {HEAD}: 2 sentences"
    assert [heading.strip() for heading in lines[1].split("┃")] == ["score", "before", "after", "Δ", "p"]
    assert [line.split()[0] for line in lines[3:6]] == ["BLEU", "chrF", "loss"]
    assert "of 2 translations changed" in done.stdout
    data = json.loads(run("what-if", *RUN, "source", "target", "--without", HEAD, "--json", cwd=folder).stdout)
    assert (data["kind"], data["sentences"]) == ("test set", 3)


def test_models_that_do_not_translate_have_answers_too(folder: Path) -> None:
    text = run("what-if", "-m", "writer", "the red cat", "--without", "decoder.0.*", cwd=folder)
    assert text.stdout.startswith("without decoder.0.* (2 heads)\n\ntext: the red cat\n\ntoken"), text.stderr
    corpus = run("what-if", "-m", "writer", "source", "--without", "decoder.0.*", cwd=folder)
    assert corpus.stdout.startswith("without decoder.0.* (2 heads): 3 sentences\n"), corpus.stderr
    classes = run("what-if", "-m", "classifier", "the red cat", "--uniform", "*", cwd=folder)
    assert "\nclass  log P before" in classes.stdout, classes.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*RUN, "cat", "--without", "encoder.2.self_attention.head.5"),
         "there is no head 'encoder.2.self_attention.head.5' in this model. Did you mean"),
        ((*RUN, "cat", "--uniform", "decoder.9"),
         "Its heads are encoder.0.self_attention.head.0-1; decoder.0-1.self_attention.head.0-1; decoder.0-1.cross"),
        ((*RUN, "cat", "--without", HEAD, "--engine", "ctranslate2"),
         "the engine ctranslate2 runs a model whose heads and states cannot be changed. Open the run or the checkpoint"),
        (("-m", "exported", "cat", "--without", HEAD), "Open the run or the checkpoint that it was exported from (--model)."),
        ((*RUN, "cat"), "there is nothing to change."),
        ((*RUN, "cat"), "(--without, --uniform, --patch, --swap)."),
        ((*RUN, "cat", "--swap", "river=money"), "'cat' does not contain the word 'river', which should be swapped (--swap)."),
        ((*RUN, "cat", "--swap", "cat"), "--swap cat does not name two words."),
        ((*RUN, " ", "--without", HEAD), "the text is empty. Give a sentence."),
        ((*RUN, "cat " * 5000, "--without", HEAD), "an explanation shows at most 128. Give one sentence."),
        ((*RUN, "cat", "--patch", "encoder.7", "--from-sentence", "dog"),
         "there is no encoder layer 'encoder.7' in this model. Its layers are encoder.0 (--patch)."),
        ((*RUN, "cat", "--patch", "encoder.0", "--from-sentence", "a dog, a bird and 17 fish"),
         "Patch the states of a word instead (--word)."),
        ((*RUN, "cat", "--patch", "encoder.0"), "--patch needs a sentence that the states come from."),
        ((*RUN, "cat", "--word", "cat", "--without", HEAD), "--from-sentence and --word need a layer."),
        ((*RUN, "source", "--without", HEAD), "source is a file. A test set has two: give the file of the translations too."),
        ((*RUN, "red", "cat", "--without", HEAD), "'red' is not a file. Give one sentence in quotes, or two files:"),
        ((*RUN, "red", "cat", "dog", "--without", HEAD), "3 arguments were given. Give one text in quotes, or the two files"),
        ((*RUN, "source", "short", "--without", HEAD), "source has 3 lines, but short has 1."),
        ((*RUN, "source", "target", "--swap", "cat=dog"), "because its references translate the words that were replaced."),
        ((*RUN, "source", "target", "--patch", "encoder.0", "--from-sentence", "dog"),
         "because its states belong to the tokens of one sentence. Change heads, or give one sentence (--patch)."),
        ((*RUN, "", "--without", HEAD), "the text is empty. Give a sentence."),
        ((*RUN, "cat", "--swap", "cat=cat"), "'cat' would be swapped for itself, which changes nothing."),
        (("-m", "writer", "cat", "--swap", "cat=dog"), "a language model reads no source"),
        (("-m", "classifier", "source", "--without", "*"), "a classifier has no translations to score."),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("what-if", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
