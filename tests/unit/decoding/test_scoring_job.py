"""A scoring job: windows to a stream or a file, interrupted and resumed, and filtered by perplexity."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.decoding import scoring_job
from clearhead.decoding.scoring import Scorer, TextPair
from clearhead.decoding.scoring_job import ScoreOutput, ScoringJob, check_num_files, finite
from clearhead.decoding.windowed_job import JobInterrupted
from clearhead.errors import ConfigError, RunError
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.unit.decoding.test_scoring import LINES, make_model

PAIRS = [TextPair(source, target) for source, target in zip(LINES, LINES[::-1], strict=True)]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    vocabularies = train_vocabularies([(line, line) for line in LINES], TextConfig(kind="char", vocabulary=61))
    return Scorer(make_model(vocabularies), vocabularies)


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring_job, "SCORE_WINDOW", 3)


def _broken_off(num_pairs: int) -> Iterator[TextPair]:
    yield from PAIRS[:num_pairs]
    raise KeyboardInterrupt


def test_an_interrupted_file_is_resumed_without_losing_or_doubling_a_pair(scorer: Scorer, tmp_path: Path) -> None:
    expected, output = tmp_path / "expected", tmp_path / "scores"
    complete = ScoringJob(scorer)
    assert complete.run(iter(PAIRS), expected)
    with pytest.raises(JobInterrupted) as interruption:
        ScoringJob(scorer).run(_broken_off(7), output)
    assert interruption.value.num_done == 6
    assert not output.exists()
    job = ScoringJob(scorer)
    assert job.run(iter(PAIRS), output, resume=True)
    assert (job.num_earlier, job.total.num_sentences) == (6, len(PAIRS) - 6)
    assert output.read_bytes() == expected.read_bytes()
    assert len(output.read_text().splitlines()) == len(PAIRS) + 1
    assert not ScoringJob(scorer).run(iter(PAIRS), output, resume=True)
    with pytest.raises(RunError, match=r"made with other settings: output\.tokens was false and is now true"):
        ScoringJob(scorer, ScoreOutput(tokens=True)).run(iter(PAIRS), output, resume=True)


def test_the_filter_keeps_the_pairs_whose_perplexity_is_low_enough(scorer: Scorer, tmp_path: Path) -> None:
    scores = [target.perplexity for target in scorer.score(PAIRS)]
    known = sorted(score for score in scores if score is not None)
    limit = known[len(known) // 2]
    job = ScoringJob(scorer, ScoreOutput(max_perplexity=limit))
    job.run(iter(PAIRS), tmp_path / "kept")
    kept = [pair for pair, score in zip(PAIRS, scores, strict=True) if score is not None and score <= limit]
    assert 0 < len(kept) < len(PAIRS)
    assert (tmp_path / "kept").read_text() == "".join(f"{pair.source}\t{pair.target}\n" for pair in kept)
    assert (job.num_kept, job.total.num_sentences) == (len(kept), len(PAIRS))
    ScoringJob(scorer, ScoreOutput(max_perplexity=limit, as_json=True)).run(iter(PAIRS), tmp_path / "kept.jsonl")
    records = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert [(record["source"], record["target"]) for record in records] == [(pair.source, pair.target) for pair in kept]


def test_a_tab_in_a_text_does_not_add_a_column(scorer: Scorer) -> None:
    content = ScoringJob(scorer, ScoreOutput(max_perplexity=1e300)).content([TextPair("a\tb", "c")])
    assert content == b"a b\tc\n"


def test_the_number_of_files_must_match_the_model() -> None:
    check_num_files(2, has_source=True)
    check_num_files(1, has_source=False)
    with pytest.raises(ConfigError, match=r"^this model translates: give two files, .*, not 1\.$"):
        check_num_files(1, has_source=True)
    with pytest.raises(ConfigError, match=r"^this is a language model, which reads no source: give one file, not 2\.$"):
        check_num_files(2, has_source=False)


def test_infinity_and_pairs_are_written_without_doubt(scorer: Scorer) -> None:
    assert finite(float("inf")) is None
    assert finite(2.5) == 2.5
    job = ScoringJob(scorer)
    assert job.input_line(TextPair("a", "b")) != job.input_line(TextPair("", "ab"))


def test_a_resumed_input_that_has_become_shorter_is_refused(scorer: Scorer, tmp_path: Path) -> None:
    with pytest.raises(JobInterrupted):
        ScoringJob(scorer).run(_broken_off(7), tmp_path / "scores")
    with pytest.raises(RunError, match=r"the input has 5 lines, but 6 lines were already scored\. Give the same input"):
        ScoringJob(scorer).run(iter(PAIRS[:5]), tmp_path / "scores", resume=True)
