"""Reports from files: which lines are used, and the tag of a target language that a model needs."""

from pathlib import Path

import pytest

from clearhead.decoding.scoring import open_scorer
from clearhead.evaluation.significance import Resampling
from clearhead.explain.head_measurement import HeadRequest, report_heads
from clearhead.explain.head_report import measure_heads
from tests.small_run import TEXTS, make_run

FEW = Resampling(num_trials=40)


def write(folder: Path) -> list[str]:
    for side, name in enumerate(("source", "target")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in TEXTS), encoding="utf-8")
    return [str(folder / "source"), str(folder / "target")]


def test_only_the_first_lines_are_used(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    report = report_heads(run, write(tmp_path), HeadRequest(num_lines=2, resampling=FEW), device="cpu")
    scorer = open_scorer(run, device="cpu")
    expected = measure_heads(scorer.model, scorer.vocabularies, TEXTS[:2], None, FEW)
    assert [row.loss for row in report.rows] == [row.loss for row in expected.rows]
    assert report.loss.signature.split("|")[3] == "sentences:2"


def test_tags_of_the_target_language_are_kept_and_are_no_words_of_an_alignment(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", ["de", "bn"])
    files = write(tmp_path)
    tagged = tmp_path / "tagged"
    tagged.write_text("".join(f">>de<< {source}\n" for source, _ in TEXTS), encoding="utf-8")
    plain, with_tags = (
        report_heads(run, [file, files[1]], HeadRequest(resampling=FEW), device="cpu")
        for file in (files[0], str(tagged))
    )
    assert plain.loss.value != pytest.approx(with_tags.loss.value), "the tag is read by the model"
    assert {row.links is None for row in with_tags.rows if "cross" in row.head.kind} == {False}
