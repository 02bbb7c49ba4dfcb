"""The lines and totals of `clearhead score`, from scores that are given here."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clearhead.cli import score as score_module
from clearhead.cli.model_option import ModelChoice
from clearhead.decoding.scoring import ScoredTarget, ScoreTotal, TextPair
from clearhead.decoding.scoring_job import ScoreOutput, ScoringJob, check_num_files
from clearhead.errors import ConfigError, RunError

PAIR = TextPair("a source", "a target")
SCORER: Any = SimpleNamespace(
    vocabularies=SimpleNamespace(target=SimpleNamespace(pieces=lambda ids: [f"p{number}" for number in ids])),
    has_source=True,
)


def scored(log_probs: list[float], is_skipped: bool = False) -> Any:
    tokens = list(range(3, 3 + len(log_probs)))
    log_prob = math.fsum(log_probs)
    perplexity = math.exp(-log_prob / len(tokens)) if tokens and log_prob > -1e6 else math.inf if tokens else None
    return SimpleNamespace(
        tokens=tokens, log_probs=log_probs, log_prob=log_prob, perplexity=perplexity, is_skipped=is_skipped
    )


def test_the_score_used_in_these_tests_has_the_real_fields() -> None:
    assert all(hasattr(ScoredTarget, name) or name in ScoredTarget.__annotations__ for name in vars(scored([])))


@pytest.mark.parametrize(
    ("example", "has_tokens", "line"),
    [
        (scored([-1.0, -3.0]), False, "-4.000000\t7.38906\t2"),
        (scored([-1.0, -3.0]), True, "-4.000000\t7.38906\t2\tp3:-1.0000 p4:-3.0000"),
        (scored([]), False, "0\t\t0"),
        (scored([], is_skipped=True), False, "\t\t"),
    ],
)
def test_a_line_has_all_columns_even_if_there_is_nothing_to_score(example: Any, has_tokens: bool, line: str) -> None:
    assert ScoringJob(SCORER, ScoreOutput(tokens=has_tokens))._line(PAIR, example) == line


def test_json_has_no_infinity_and_null_for_a_skipped_line() -> None:
    impossible = json.loads(ScoringJob(SCORER, ScoreOutput(tokens=True))._json(PAIR, scored([-1e9])))
    assert impossible == {
        "log_prob": -1e9, "perplexity": None, "num_tokens": 1, "tokens": ["p3"], "log_probs": [-1e9],
    }  # fmt: skip
    skipped = json.loads(ScoringJob(SCORER)._json(PAIR, scored([], is_skipped=True)))
    assert set(skipped.values()) == {None}


def test_the_total_counts_tokens_and_skipped_lines(capsys: pytest.CaptureFixture[str]) -> None:
    total = ScoreTotal()
    for example in (scored([-1.0, -3.0]), scored([], is_skipped=True), scored([-2.0])):
        total.add(example)
    outcome = score_module.ScoringOutcome(total, "ab12", num_kept=3)
    score_module._show(outcome, score_module.ScoreOptions())
    remark = capsys.readouterr().err
    assert remark.startswith("3 sentences, 1 too long and skipped, 3 tokens, log P -6.000000, perplexity 7.38906 (")
    score_module._show(outcome, score_module.ScoreOptions(total=True, as_json=True))
    record = json.loads(capsys.readouterr().out)
    assert (record["sentences"], record["skipped"], record["num_tokens"], record["log_prob"]) == (3, 1, 3, -6.0)
    assert record["perplexity"] == pytest.approx(math.exp(2))


def test_a_source_is_needed_exactly_where_the_model_reads_one() -> None:
    with pytest.raises(ConfigError, match="this model translates"):
        check_num_files(1, has_source=True)
    with pytest.raises(ConfigError, match="reads no source"):
        check_num_files(2, has_source=False)


def test_scores_are_not_written_to_a_file_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "text").open("a") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        with pytest.raises(RunError, match="standard output is the same file as"):
            score_module._check_output(None, ModelChoice(tmp_path), [str(tmp_path / "source"), str(tmp_path / "text")])
