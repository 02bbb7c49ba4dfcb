"""`clearhead explain` as a user runs it: a table, JSON, NPZ, comparisons, and one sentence for each error."""

import json
from pathlib import Path

import numpy as np
import pytest

from clearhead.explain import explain, explanation_page, open_model
from clearhead.explain.checks import explained_heads
from clearhead.formats import save_checkpoint
from clearhead.model import Transformer
from tests.command import run, run_process
from tests.small_run import make_run
from tests.unit.explain.models import SENTENCE, single_stack


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("explain")
    make_run(root / "run", ("de", "bn"))
    writer = single_stack("decoder")
    writer.vocabularies.save(root / "writer")
    assert isinstance(writer.model, Transformer)
    save_checkpoint(writer.model, root / "writer" / "best")
    (root / "exported").mkdir()
    (root / "exported" / "model.bin").write_bytes(b"")
    (root / "alias.npz").symlink_to(root / "run" / "best" / "model.safetensors")
    return root


def test_json_is_what_the_library_gives_for_the_translation_of_translate(folder: Path) -> None:
    done = run_process("explain", "-m", "run", "--to", "de", SENTENCE, "--json", "--npz", "all.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    plain = run("translate", "-m", "run", "--to", "de", SENTENCE, "--engine", "torch", "--quiet", cwd=folder)
    assert data["target"]["text"] == data["translation"]["text"] == plain.stdout.removesuffix("\n")
    explanation = explain(open_model(folder / "run"), SENTENCE, language="de")
    assert [token["probability"] for token in data["tokens"]] == pytest.approx(
        [output.probability for output in explanation.outputs], abs=1e-6
    )
    with np.load(folder / "all.npz") as arrays:
        assert arrays["cross_weights"] == pytest.approx(explanation.stacks["cross"].weights, abs=1e-6)
    assert explained_heads(("all",), explanation.model.config)[-1] == "decoder.1.cross_attention.head.1"


def test_the_table_has_the_tokens_and_the_heads(folder: Path) -> None:
    done = run("explain", "-m", "run", "--to", "de", SENTENCE, "--target", "die rote Katze", cwd=folder)
    assert done.returncode == 0, done.stderr
    target = next(line for line in done.stdout.splitlines() if line.startswith("target: "))
    assert target.replace(" ", "") == "target:▁die▁rote▁Katze</s>"
    assert "encoder self-attention, 2 heads:" in done.stdout


def test_a_language_model_is_explained_too(folder: Path) -> None:
    done = run(
        "explain", "-m", "writer", "the red cat", "--json", "--sums", "decoder.2.self_attention.head.1", cwd=folder
    )
    data = json.loads(done.stdout)
    assert data["kind"] == "text"
    assert list(data["sums"]) == ["decoder.2.self_attention.head.1"]
    loaded = single_stack("decoder")
    same = explain(loaded, "the red cat")
    assert data["tokens"][0]["probability"] == pytest.approx(same.outputs[0].probability, abs=1e-5)


def test_a_page_or_json_is_written_instead_of_the_table(folder: Path) -> None:
    options = ("-m", "run", "--to", "de", SENTENCE, "--sums", "decoder.1.cross_attention.head.0")
    done = run("explain", *options, "-o", "page.html", cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    data = json.loads(run("explain", *options, "--json", cwd=folder).stdout)
    assert (folder / "page.html").read_text(encoding="utf-8") == explanation_page(data)
    run("explain", *options, "-o", "data.json", cwd=folder)
    assert json.loads((folder / "data.json").read_text(encoding="utf-8")) == data
    texts = (SENTENCE, "--compare", "where is the book?", "-o", "two.html")
    run("explain", "-m", "run", "--to", "de", *texts, cwd=folder)
    assert "<h1>“book” in two sentences</h1>" in (folder / "two.html").read_text(encoding="utf-8")


def test_two_sentences_are_compared(folder: Path) -> None:
    texts = ("the red cat sees a small book.", "--compare", "where is the book?")
    done = run("explain", "-m", "run", "--to", "de", *texts, "--word", "book", cwd=folder)
    assert done.stdout.startswith("book:\n  1. the red cat sees a small book. → ")
    data = json.loads(run("explain", "-m", "run", "--to", "de", *texts, "--json", cwd=folder).stdout)
    assert (data["word"], data["static_distance"]) == ("book", 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "run", "--to", "de", " "), "clearhead: the text is empty. Give a sentence.\n"),
        (("-m", "run", "--to", "de", "cat " * 2500), "an explanation shows at most 128. Give one sentence.\n"),
        (("-m", "exported", "cat"), "Open the run or the checkpoint that it was exported from (--model).\n"),
        (("-m", "nowhere", "cat"), "nowhere does not exist."),
        (("-m", "run", "--to", "de", "cat", "--hypothesis", "2"), "--hypothesis 2 needs a beam of at least 3."),
        (("-m", "run", "--to", "de", "cat", "--word", "cat"), "--word needs a second sentence."),
        (("-m", "run", "--to", "de", "cat", "--compare", "cat", "--npz", "x.npz"), "a comparison has no NPZ file."),
        (
            ("-m", "run", "--to", "de", "cat", "--sums", "encoder.9", "--json"),
            "there is no head 'encoder.9' in this model.",
        ),
        (
            ("-m", "run", "cat", "-o", "x.pdf"),
            "x.pdf: .pdf is not the suffix of a format that can be written here. Use a name that ends in .html or .json.",
        ),
        (
            ("-m", "run/best", "--to", "de", "cat", "-o", "run/best/config.json"),
            "run/best/config.json belongs to the model or its run, and the output would overwrite it. Choose another "
            "name for the output (--output).\n",
        ),
        (
            ("-m", "run", "--to", "de", "cat", "--npz", "alias.npz"),
            "belongs to the model or its run, and the output would overwrite it. Choose another name for the output (--npz)",
        ),
        (
            ("-m", "run", "cat", "--npz", "x.txt"),
            "x.txt: .txt is not the suffix of a format that can be written here. Use a name that ends in .npz (--npz).",
        ),
        (
            ("-m", "run", "cat", "--sums", "all"),
            "--sums writes to a page or to JSON. Add --output page.html or --json.",
        ),
        (("-m", "run", "--to", "fr", "cat"), ">>fr<< is not a language of this vocabulary."),
        (("-m", "writer", "cat", "--target", "dog"), "a model of shape decoder does not translate."),
    ],
)
def test_an_error_is_one_sentence(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("explain", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
