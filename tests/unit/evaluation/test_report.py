"""A complete evaluation: its scores, spreads, tests, parts, tables and errors."""

import json

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.leaks import TrainingPair
from clearhead.evaluation.report import EvaluationRequest, HeldOut, evaluate, parse_requirement, unmet_requirements
from clearhead.evaluation.scores import bleu, chrf, corpus_score, exact_match
from clearhead.evaluation.significance import Resampling
from clearhead.evaluation.tables import report_tables, to_markdown
from tests.unit.evaluation.corpus import references, spoiled

RIGHT = references(47)
BAD, GOOD, BETTER = spoiled(RIGHT, 0.7, 5), spoiled(RIGHT, 0.2, 7), spoiled(RIGHT, 0.1, 11)
QUICK = EvaluationRequest(resampling=Resampling(101, 103))
PLAIN = EvaluationRequest(resampling=None)


def test_one_system_gets_the_scores_of_the_metrics() -> None:
    report = evaluate({"good": [GOOD]}, HeldOut([RIGHT]), QUICK)
    assert (report.num_sentences, report.comparisons, report.leaks) == (47, (), None)
    expected = [bleu(GOOD, RIGHT), chrf(GOOD, RIGHT), corpus_score("ter", GOOD, RIGHT), exact_match(GOOD, RIGHT)]
    assert [system_score.score for system_score in report.systems[0].scores] == expected
    for system_score in report.systems[0].scores:
        assert system_score.deviation is None
        assert system_score.interval is not None
        assert system_score.interval.low <= system_score.score.value <= system_score.interval.high


def test_the_first_system_is_the_baseline_of_every_test() -> None:
    both = EvaluationRequest(("bleu",), tests=("bootstrap", "randomisation"), resampling=Resampling(101, 103))
    report = evaluate({"bad": [BAD], "good": [GOOD], "better": [BETTER]}, HeldOut([RIGHT]), both)
    tests_made = [(comparison.baseline, comparison.system, comparison.test) for comparison in report.comparisons]
    assert tests_made == [
        ("bad", "good", "bootstrap"),
        ("bad", "good", "randomisation"),
        ("bad", "better", "bootstrap"),
        ("bad", "better", "randomisation"),
    ]
    assert all(comparison.p_value < 0.02 and comparison.difference > 20 for comparison in report.comparisons)


def test_several_outputs_of_a_system_are_a_mean_with_a_spread() -> None:
    report = evaluate({"seeds": [GOOD, BETTER]}, HeldOut([RIGHT]), EvaluationRequest(("exact",), resampling=None))
    system_score = report.systems[0].scores[0]
    values = (exact_match(GOOD, RIGHT).value, exact_match(BETTER, RIGHT).value)
    assert system_score.values == values
    assert system_score.score.value == pytest.approx(sum(values) / 2)
    assert system_score.deviation == pytest.approx(abs(values[0] - values[1]) / 2**0.5)  # of a sample of two
    assert system_score.to_dict()["deviation"] == system_score.deviation


def test_leaks_are_flagged_and_leaked_sentences_are_scored_separately() -> None:
    sources = [f"source {number}" for number in range(47)]
    training = [TrainingPair("source 3", RIGHT[3]), TrainingPair("source 5", "other")]
    report = evaluate(
        {"good": [GOOD]}, HeldOut([RIGHT], sources, training), EvaluationRequest(("chrf",), resampling=None)
    )
    assert report.leaks is not None
    assert report.leaks.is_leaking
    assert [(part.name, part.num_sentences) for part in report.by_leak] == [
        ("seen in training", 1),
        ("not seen", 46),
    ]
    assert report.by_leak[0].scores["good"]["chrf"] == pytest.approx(chrf(GOOD[3:4], RIGHT[3:4]).value)
    text = to_markdown(report_tables(report))
    assert "WARNING: test sentences are in the training text." in text


def test_without_intervals_and_training_text_there_are_only_scores() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT]), PLAIN)
    assert [table.title for table in report_tables(report)] == ["Scores of 47 sentences"]
    assert report.to_dict()["comparisons"] == []


def test_tables_show_every_number_with_its_signature() -> None:
    systems = {"base|line": [BAD], "new\x1b": [GOOD, BETTER]}
    report = evaluate(
        systems, HeldOut([RIGHT]), EvaluationRequest(("bleu", "tokenised-bleu"), resampling=Resampling(101))
    )
    tables_by_title = {table.title: table for table in report_tables(report)}
    assert list(tables_by_title) == ["Scores of 47 sentences", "Compared with base|line"]
    scores = tables_by_title["Scores of 47 sentences"]
    assert scores.columns == ("system", "metric", "score", "std. dev.", "95 % interval")
    assert scores.rows[0][2] == f"{bleu(BAD, RIGHT).value:.2f}"
    assert scores.notes[0] == f"BLEU: {bleu(BAD, RIGHT).signature}"
    assert scores.notes[1].endswith("As papers quote it; not comparable with BLEU")
    assert scores.notes[2].startswith("95 % interval: bootstrap, bs:101|seed:12345; the counts of several outputs")
    text = to_markdown(report_tables(report))
    assert "| base\\|line | BLEU |" in text
    assert "\x1b" not in text
    assert all(line.count("|") - line.count("\\|") > 2 for line in text.splitlines() if line.startswith("|"))


def test_json_has_every_number_in_full() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT], RIGHT, [TrainingPair("x", "y")]), QUICK)
    decoded = json.loads(json.dumps(report.to_dict()))
    first = decoded["systems"][0]["scores"][0]
    assert first["value"] == bleu(GOOD, RIGHT).value
    assert first["interval"]["signature"].startswith("nrefs:1|bs:101|seed:12345|")
    assert decoded["leaks"]["is_leaking"] is False
    assert decoded["comparisons"][0]["system"] == "bad"


def test_texts_that_do_not_belong_together_are_all_reported_together() -> None:
    with pytest.raises(DataError) as error:
        evaluate({"a": [GOOD[:3]], "b": [GOOD, GOOD[:5]]}, HeldOut([RIGHT, RIGHT[:7]], RIGHT[:2]), PLAIN)
    assert str(error.value).startswith(
        "the reference has 47 lines, but reference 2 has 7, the source has 2, system 'a' has 3, "
        "system 'b' (output 2) has 5. Line i of one"
    )
    with pytest.raises(DataError, match="the references are empty"):
        evaluate({"a": [[]]}, HeldOut([[]]), PLAIN)
    with pytest.raises(DataError, match="there are no references"):
        evaluate({"a": [GOOD]}, HeldOut([]), PLAIN)


def test_an_unknown_metric_is_reported_before_any_work() -> None:
    with pytest.raises(ConfigError, match="'blue' is not a metric. Did you mean 'bleu'"):
        evaluate({"a": [GOOD]}, HeldOut([RIGHT]), EvaluationRequest(("blue",)))


def test_requirements_are_met_by_better_scores_in_either_direction() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT]), PLAIN)
    good, bad = (system.scores[0].score.value for system in report.systems)
    between = parse_requirement(f"bleu={(good + bad) / 2}")
    assert len(unmet_requirements(report, [between])) == 1
    assert unmet_requirements(report, [between])[0].startswith(f"BLEU of 'bad' is {bad:.2f}, below the ")
    assert unmet_requirements(report, [parse_requirement(f"bleu={bad}")]) == ()
    edits = [system.scores[2].score.value for system in report.systems]
    sentences = unmet_requirements(report, [parse_requirement(f"ter={sum(edits) / 2}")])
    assert len(sentences) == 1
    assert sentences[0].startswith(f"TER of 'bad' is {edits[1]:.2f}, above the ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("blue=40", "'blue' is not a metric. Did you mean 'bleu'"),
        ("bleu", "give a number of at least 0, such as bleu=40"),
        ("bleu=forty", "give a number of at least 0"),
        ("bleu=nan", "give a number of at least 0"),
        ("bleu=-1", "give a number of at least 0"),
    ],
)
def test_an_invalid_requirement_is_rejected(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_requirement(text)
    assert sentence in str(error.value)
