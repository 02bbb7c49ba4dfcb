"""Recurrent and convolutional models on the command line: what works, and one sentence for what does not exist."""

import json
from pathlib import Path

import pytest

from tests.command import run
from tests.small_halves import make_classifier_run, make_writer_run
from tests.small_run import make_run

TEXT = "the red cat"
NO_ATTENTION = "this model has no attention to the source"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("architectures")
    make_run(root / "recurrent", architecture="recurrent", attention="dot")
    make_run(root / "bare", architecture="recurrent", cell="gru", attention="none")
    make_run(root / "wide", architecture="convolutional", kernel=31)
    make_classifier_run(root / "reader", architecture="convolutional", kernel=31)
    make_writer_run(root / "writer", architecture="convolutional", kernel=31)
    (root / "source").write_text("the red cat\na dog\n")
    (root / "target").write_text("die rote Katze\nein Hund\n")
    (root / "labels").write_text("postive\n")
    return root


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("translate", "-m", "bare", "--align", TEXT), f"{NO_ATTENTION}, so that there is no alignment. Translate"),
        (("translate", "-m", "bare", "--draw", TEXT), f"{NO_ATTENTION}, so that there is no alignment."),
        (("translate", "-m", "bare", "--align", "--head", "0.0", TEXT), f"there is no head 0.0 (decoder layer 1, head 1): {NO_ATTENTION}."),
        (("translate", "-m", "bare", "--explain", "-", "--all-heads", TEXT), f"{NO_ATTENTION}, so that there are no heads to show. Leave them out (--all-heads)."),
        (("translate", "-m", "recurrent", "--align", "--head", "0.0", TEXT), "there is no head 0.0 (decoder layer 1, head 1): only the last layer attends to the source, with one head. Counted from 0, it is 1.0."),
        (("explain", "-m", "recurrent", TEXT, "--sums", "all", "--json"), "sums are those of the heads of a Transformer, but this model is recurrent. Leave them out (--sums)."),
        (("heads", "-m", "recurrent", "source", "target"), "heads needs the heads and layers of a Transformer, but this model is recurrent. `clearhead explain` shows"),
        (("prune", "-m", "recurrent", "--remove", "decoder.*", "-o", "new"), "pruning needs the heads and layers of a Transformer, but this model is recurrent."),
        (("classify", "-m", "reader", "cat", "--labels", "labels"), "labels:1: 'postive' is not a label of this model. Did you mean 'positive'?"),
    ],
)  # fmt: skip
def test_what_a_model_does_not_have_is_refused_in_one_sentence(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"clearhead: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "new").exists()


@pytest.mark.parametrize("model", ["recurrent", "bare", "wide"])
def test_the_search_is_shown_for_every_model(folder: Path, model: str) -> None:
    done = run("translate", "-m", model, TEXT, "--explain", "steps.json", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads((folder / "steps.json").read_text())["lines"]
    attention = line["parts"][0]["steps"][0]["options"][0]["attention"]
    assert (attention is None) == (model == "bare")


@pytest.mark.parametrize("model", ["recurrent", "bare", "wide"])
def test_a_page_is_written_for_every_model(folder: Path, model: str) -> None:
    done = run("explain", "-m", model, TEXT, "-o", "page.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Not on this page, because the model is " in page


def test_a_kernel_that_is_wider_than_the_text_works(folder: Path) -> None:
    for arguments in (
        ("translate", "-m", "wide", "cat", "--quiet"),
        ("classify", "-m", "reader", "cat"),
        ("generate", "-m", "writer", "cat", "--max-tokens", "2"),
    ):
        done = run(*arguments, cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        assert done.stdout.strip()
