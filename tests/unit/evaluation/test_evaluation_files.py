"""An evaluation of files, as a notebook would call it."""

from pathlib import Path

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.evaluation_files import EvaluationFiles, evaluate_files
from clearhead.evaluation.report import EvaluationRequest
from clearhead.evaluation.scores import bleu, exact_match
from tests.unit.evaluation.corpus import references, spoiled

RIGHT = references(13)
GOOD = spoiled(RIGHT, 0.3, 7)
REQUEST = EvaluationRequest(("bleu", "exact"), resampling=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in {"right": RIGHT, "good": GOOD, "source": RIGHT[::-1]}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_files_are_scored_as_their_sentences_are(folder: Path) -> None:
    files = EvaluationFiles({"new": [str(folder / "good")]}, [str(folder / "right")])
    evaluation = evaluate_files(files, REQUEST)
    scores = [system_score.score for system_score in evaluation.report.systems[0].scores]
    assert scores == [bleu(GOOD, RIGHT), exact_match(GOOD, RIGHT)]
    assert (evaluation.report.leaks, evaluation.num_skipped_lines) == (None, {})


@pytest.mark.parametrize(
    ("sides", "leaks"),
    [(("source", "target"), ({0}, {0}, {0})), (("source",), ({0}, None, None)), (("target",), (None, {0}, None))],
)
def test_training_files_of_either_side_are_searched(
    folder: Path, sides: tuple[str, ...], leaks: tuple[set[int] | None, ...]
) -> None:
    (folder / "train.source").write_bytes(f"{RIGHT[-1]}\n".encode() + b"caf\xe9\n")
    (folder / "train.target").write_bytes(f"{RIGHT[0]}\n".encode() + b"caf\xe9\n")
    paths = {side: [str(folder / f"train.{side}")] for side in sides}
    files = EvaluationFiles(
        {"new": [str(folder / "good")]},
        [str(folder / "right")],
        str(folder / "source"),
        paths.get("source", ()),
        paths.get("target", ()),
    )
    evaluation = evaluate_files(files, REQUEST)
    assert evaluation.report.leaks is not None
    report_leaks = evaluation.report.leaks
    assert (report_leaks.sources, report_leaks.references, report_leaks.pairs) == leaks
    assert evaluation.num_skipped_lines == {str(folder / f"train.{sides[0]}"): 1}


def test_files_that_do_not_belong_together_are_refused(folder: Path) -> None:
    good, right = str(folder / "good"), str(folder / "right")
    with pytest.raises(ConfigError, match="the training text has 2 source files and 1 target files. Give both"):
        evaluate_files(EvaluationFiles({"new": [good]}, [right], None, [good, good], [right]), REQUEST)
    with pytest.raises(ConfigError, match="standard input can only be read once"):
        evaluate_files(EvaluationFiles({"new": ["-"]}, ["-"]), REQUEST)
    (folder / "short").write_text("one\n")
    with pytest.raises(DataError, match=r"right: 13 lines, but .*short has 1\."):
        evaluate_files(EvaluationFiles({"new": [good]}, [right], None, [right], [str(folder / "short")]), REQUEST)
