"""The pages of look_inside.py show the weights and the mask of the model, and full marks for its trace."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from clearhead.check import check
from clearhead.decoding.alignment import Head, cross_attention
from clearhead.formats import load_checkpoint
from clearhead.model import Transformer
from clearhead.text.tokeniser import Vocabularies
from clearhead.worksheet.part import load_sheet
from tests.small_run import make_run

ROOT = Path(__file__).parents[2]
SENTENCES = ("the red cat", "where is the old house?")
ROUNDING = 0.0005  # the pages have three decimals


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), max_length=19)


@pytest.fixture(scope="module")
def pages(run: Path) -> Path:
    folder, texts = run / "pages", run / "texts.txt"
    texts.write_text("\n".join([*SENTENCES, "a third that is not asked for"]) + "\n", encoding="utf-8")
    assert _main([str(run), str(texts), "--first", "2", "--head", "1.0", "--output", str(folder)]) == 0
    return folder


def _main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "examples" / "models"))
    try:
        from look_inside import main

        code: int = main(arguments)
        return code
    finally:
        sys.path.remove(str(ROOT / "examples" / "models"))


def model_of(run: Path) -> Transformer:
    return load_checkpoint(run / "best").eval()


def table_after(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table after a text, without the headings."""
    lines = text.partition(heading)[2].splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("|---"))
    rows = []
    for line in lines[begin + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def numbers(rows: list[list[str]]) -> np.ndarray:
    """Parse the numbers of a table, including 1.2×10⁻⁴ and -∞."""
    plain = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    values = [
        [float(cell.replace("×10", "e").translate(plain).replace("∞", "inf")) for cell in row[1:]] for row in rows
    ]
    return np.array(values)


@pytest.mark.parametrize("number", [1, 2])
def test_the_trace_and_the_file_of_the_head_get_full_marks(pages: Path, number: int) -> None:
    text = (pages / f"sentence-{number}.md").read_text(encoding="utf-8")
    totals = re.findall(r": ([\d,]+) of ([\d,]+) lines right, (\d+) of (\d+) marks\.", text)
    assert len(totals) == 2
    for right, lines, earned, marks in totals:
        assert right == lines
        assert earned == marks == str(2 * int(lines.replace(",", "")))
    assert int(totals[0][0]) > 100, "the whole model's trace"
    (report,) = check(pages / f"sentence-{number}-head.json")
    assert report.earned == report.out_of == 10.0
    assert not report.findings


def test_a_number_changed_in_the_file_loses_marks(pages: Path, tmp_path: Path) -> None:
    sheet = load_sheet(pages / "sentence-1-head.json")
    sheet.trace[0].value[0, 0] += 1e-3
    sheet.save(tmp_path / "changed.json")
    (report,) = check(tmp_path / "changed.json")
    assert report.earned < report.out_of


@pytest.mark.parametrize("number", [1, 2])
def test_the_weights_on_the_page_are_those_of_the_model(run: Path, pages: Path, number: int) -> None:
    model, vocabularies = model_of(run), Vocabularies.load(run)
    text = (pages / f"sentence-{number}.md").read_text(encoding="utf-8")
    source = torch.tensor([*vocabularies.source.encode([SENTENCES[number - 1]])[0], model.config.eos])
    target = _written(run, SENTENCES[number - 1])
    with torch.inference_mode():
        wanted = cross_attention(model, source, [target])[0].weights[1][0]
    shown = numbers(table_after(text, "**A₁ = softmax"))
    assert shown.shape == tuple(wanted.shape), "a row for each token that the decoder reads"
    np.testing.assert_allclose(shown, wanted.numpy(), atol=ROUNDING + 1e-5)


def _written(run: Path, sentence: str) -> list[int]:
    """Return the tokens that the model writes, without the last one (the end token, or replaced by it on the page)."""
    from clearhead.decoding.translator import Translator

    best = Translator.load(run, engine="torch").translate([sentence])[0].hypotheses[0]
    return list(best.tokens[:-1])


@pytest.mark.parametrize("number", [1, 2])
def test_the_links_on_the_page_are_the_largest_weights(run: Path, pages: Path, number: int) -> None:
    text = (pages / f"sentence-{number}.md").read_text(encoding="utf-8")
    weights = numbers(table_after(text, "**A₁ = softmax"))
    is_shifted = "the token is the input, one step after" in text
    assert is_shifted != ("the token is predicted, one step before" in text)
    rows = weights[1:] if is_shifted else weights[:-1]
    link_weights = [float(row[2]) for row in table_after(text, "## The alignment")]
    np.testing.assert_allclose(link_weights, rows[:, :-1].max(axis=1), atol=2 * ROUNDING)


@pytest.mark.parametrize("number", [1, 2])
def test_the_mask_hides_the_future_and_nothing_else(pages: Path, number: int) -> None:
    text = (pages / f"sentence-{number}.md").read_text(encoding="utf-8")
    before = numbers(table_after(text, "The scores before the mask:"))
    after = numbers(table_after(text, "The scores after the mask:"))
    future = np.triu(np.ones(before.shape, dtype=bool), k=1)
    assert np.isfinite(before).all()
    assert (np.isneginf(after) == future).all()
    np.testing.assert_array_equal(after[~future], before[~future])
    exponentials = np.exp(before - before.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    future_weights = [float(row[1]) for row in table_after(text, "and the real weights:")]
    np.testing.assert_allclose(future_weights, np.where(future, weights, 0.0).sum(axis=1), atol=3 * ROUNDING)


def test_the_probabilities_on_the_page_multiply_to_that_of_the_translation(run: Path, pages: Path) -> None:
    from clearhead.decoding.scoring import token_log_probs

    model, vocabularies = model_of(run), Vocabularies.load(run)
    text = (pages / "sentence-2.md").read_text(encoding="utf-8")
    source = torch.tensor([[*vocabularies.source.encode([SENTENCES[1]])[0], model.config.eos]])
    target = torch.tensor([[*_written(run, SENTENCES[1]), model.config.eos]])
    with torch.inference_mode():
        wanted = token_log_probs(model, source, target)[0].exp().numpy()
    probabilities = [float(row[1]) for row in table_after(text, "## Token by token")]
    np.testing.assert_allclose(probabilities, wanted, atol=0.0001)


def test_the_index_links_to_every_page_and_no_page_is_large(pages: Path) -> None:
    index = (pages / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.+?\.md)\)", index) == ["sentence-1.md", "sentence-2.md"]
    assert "decoder layer 2, head 1 (`decoder.1.cross_attention.head.0`)" in index
    assert all(path.stat().st_size < 400_000 for path in pages.iterdir())


def test_a_head_that_does_not_exist_is_reported(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a dog\n", encoding="utf-8")
    assert _main([str(run), str(texts), "--head", "2.0", "--output", str(tmp_path / "pages")]) == 2
    assert (
        "there is no head 2.0 (decoder layer 3, head 1): the decoder has 2 layers with 2 heads each."
        in capsys.readouterr().err
    )
    assert not (tmp_path / "pages").exists()


def test_a_file_without_sentences_is_reported(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n", encoding="utf-8")
    assert _main([str(run), str(texts), "--output", str(tmp_path / "pages")]) == 2
    assert "contains no sentences" in capsys.readouterr().err


def test_by_default_the_head_that_aligns_best_is_chosen(run: Path) -> None:
    sys.path.insert(0, str(ROOT / "examples" / "models"))
    try:
        from inside.heads import choose_heads, translated
    finally:
        sys.path.remove(str(ROOT / "examples" / "models"))
    model = model_of(run)
    pairs = translated(model, Vocabularies.load(run), SENTENCES)
    best = choose_heads(model, pairs)
    every = [choose_heads(model, pairs, Head(block, head)) for block in (0, 1) for head in (0, 1)]
    assert best.num_agreeing == max(choice.num_agreeing for choice in every)
    assert best.num_links == sum(len(pair.target) - 1 for pair in pairs)


@pytest.mark.parametrize("number", [1, 2])
def test_a_published_head_gets_full_marks(number: int) -> None:
    (report,) = check(ROOT / "docs" / "inside" / f"sentence-{number}-head.json")
    assert report.earned == report.out_of > 0
