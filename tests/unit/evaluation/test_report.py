"""A whole evaluation: its scores, spreads, tests, parts and tables, and what it refuses."""

import json

import pytest

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.leaks import TrainingPair
from clearhead.evaluation.report import Asked, HeldOut, evaluate, failures, read_requirement
from clearhead.evaluation.scores import bleu, chrf, exact_match, ter
from clearhead.evaluation.significance import Resampling
from clearhead.evaluation.tables import tables, to_markdown
from tests.unit.evaluation.corpus import references, spoiled

RIGHT = references(47)
BAD, GOOD, BETTER = spoiled(RIGHT, 0.7, 5), spoiled(RIGHT, 0.2, 7), spoiled(RIGHT, 0.1, 11)
QUICK = Asked(resampling=Resampling(101, 103))
PLAIN = Asked(resampling=None, has_buckets=False)


def test_one_system_gets_the_scores_of_the_metrics() -> None:
    report = evaluate({"good": [GOOD]}, HeldOut([RIGHT]), QUICK)
    assert (report.num_sentences, report.comparisons, report.leaks) == (47, (), None)
    expected = [bleu(GOOD, RIGHT), chrf(GOOD, RIGHT), ter(GOOD, RIGHT), exact_match(GOOD, RIGHT)]
    assert [made.score for made in report.systems[0].measured] == expected
    for made in report.systems[0].measured:
        assert made.deviation is None
        assert made.interval is not None
        assert made.interval.low <= made.score.value <= made.interval.high


def test_the_first_system_is_the_baseline_of_every_test() -> None:
    both = Asked(("bleu",), tests=("bootstrap", "randomisation"), resampling=Resampling(101, 103))
    report = evaluate({"bad": [BAD], "good": [GOOD], "better": [BETTER]}, HeldOut([RIGHT]), both)
    told = [(each.baseline, each.system, each.test) for each in report.comparisons]
    assert told == [
        ("bad", "good", "bootstrap"),
        ("bad", "good", "randomisation"),
        ("bad", "better", "bootstrap"),
        ("bad", "better", "randomisation"),
    ]
    assert all(each.p_value < 0.02 and each.difference > 20 for each in report.comparisons)


def test_several_outputs_of_a_system_are_a_mean_with_a_spread() -> None:
    report = evaluate({"seeds": [GOOD, BETTER]}, HeldOut([RIGHT]), Asked(("exact",), resampling=None))
    made = report.systems[0].measured[0]
    values = (exact_match(GOOD, RIGHT).value, exact_match(BETTER, RIGHT).value)
    assert made.values == values
    assert made.score.value == pytest.approx(sum(values) / 2)
    assert made.deviation == pytest.approx(abs(values[0] - values[1]) / 2**0.5)  # of a sample of two
    assert made.to_dict()["deviation"] == made.deviation


def test_lengths_are_of_the_source_where_there_is_one() -> None:
    sources = ["one two"] * 23 + ["one two three four five six seven"] * 24
    report = evaluate({"good": [GOOD]}, HeldOut([RIGHT], sources), Asked(("bleu",), resampling=None))
    assert report.length_side == "source"
    assert [(each.name, each.num_sentences) for each in report.by_length] == [("1–5 words", 23), ("6–10 words", 24)]
    assert evaluate({"good": [GOOD]}, HeldOut([RIGHT]), Asked(("bleu",), resampling=None)).length_side == "reference"


def test_leaks_are_flagged_and_what_was_seen_is_scored_apart() -> None:
    sources = [f"source {number}" for number in range(47)]
    training = [TrainingPair("source 3", RIGHT[3]), TrainingPair("source 5", "other")]
    report = evaluate({"good": [GOOD]}, HeldOut([RIGHT], sources, training), Asked(("chrf",), resampling=None))
    assert report.leaks is not None
    assert report.leaks.is_leaking
    assert [(each.name, each.num_sentences) for each in report.by_leak] == [("seen in training", 1), ("not seen", 46)]
    assert report.by_leak[0].scores["good"]["chrf"] == pytest.approx(chrf(GOOD[3:4], RIGHT[3:4]).value)
    assert report.systems[0].by_frequency
    text = to_markdown(tables(report))
    assert "WARNING: test sentences are in the training text." in text


def test_without_buckets_intervals_and_training_only_scores_are_left() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT]), PLAIN)
    assert [each.title for each in tables(report)] == ["Scores of 47 sentences"]
    assert report.to_dict()["comparisons"] == []


def test_tables_show_every_number_with_its_signature() -> None:
    systems = {"base|line": [BAD], "new\x1b": [GOOD, BETTER]}
    report = evaluate(systems, HeldOut([RIGHT]), Asked(("bleu", "tokenised-bleu"), resampling=Resampling(101)))
    made = {table.title: table for table in tables(report)}
    assert list(made) == ["Scores of 47 sentences", "Against base|line", "By length of the reference"]
    scores = made["Scores of 47 sentences"]
    assert scores.columns == ("system", "metric", "score", "spread", "95 % interval")
    assert scores.rows[0][2] == f"{bleu(BAD, RIGHT).value:.2f}"
    assert scores.notes[0] == f"BLEU: {bleu(BAD, RIGHT).signature}"
    assert scores.notes[1].endswith("As papers quote it; not comparable with BLEU")
    assert scores.notes[2].startswith("95 % interval: bootstrap, bs:101|seed:12345; of several outputs")
    text = to_markdown(tables(report))
    assert "| base\\|line | BLEU |" in text
    assert "\x1b" not in text
    assert all(line.count("|") - line.count("\\|") > 2 for line in text.splitlines() if line.startswith("|"))


def test_json_holds_every_number_in_full() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT], RIGHT, [TrainingPair("x", "y")]), QUICK)
    told = json.loads(json.dumps(report.to_dict()))
    first = told["systems"][0]["scores"][0]
    assert first["value"] == bleu(GOOD, RIGHT).value
    assert first["interval"]["signature"].startswith("nrefs:1|bs:101|seed:12345|")
    assert told["leaks"]["is_leaking"] is False
    assert told["comparisons"][0]["system"] == "bad"
    assert told["by_length"]["side"] == "source"


def test_texts_that_do_not_belong_together_are_told_all_at_once() -> None:
    with pytest.raises(DataError) as told:
        evaluate({"a": [GOOD[:3]], "b": [GOOD, GOOD[:5]]}, HeldOut([RIGHT, RIGHT[:7]], RIGHT[:2]), PLAIN)
    assert str(told.value).startswith(
        "the reference has 47 lines, but reference 2 has 7, the source has 2, system 'a' has 3, "
        "system 'b' (output 2) has 5. Line i of one"
    )
    with pytest.raises(DataError, match="the references are empty"):
        evaluate({"a": [[]]}, HeldOut([[]]), PLAIN)
    with pytest.raises(DataError, match="there are no references"):
        evaluate({"a": [GOOD]}, HeldOut([]), PLAIN)


def test_a_metric_that_is_not_known_is_told_before_any_work() -> None:
    with pytest.raises(ConfigError, match="'blue' is not a metric. Did you mean 'bleu'"):
        evaluate({"a": [GOOD]}, HeldOut([RIGHT]), Asked(("blue",)))
    with pytest.raises(ConfigError, match="COMET needs a model that is on this disk"):
        evaluate({"a": [GOOD]}, HeldOut([RIGHT], RIGHT), Asked(("comet",)))


def test_requirements_are_met_from_the_side_that_is_better() -> None:
    report = evaluate({"good": [GOOD], "bad": [BAD]}, HeldOut([RIGHT]), PLAIN)
    good, bad = (system.measured[0].score.value for system in report.systems)
    between = read_requirement(f"bleu={(good + bad) / 2}")
    assert len(failures(report, [between])) == 1
    assert failures(report, [between])[0].startswith(f"BLEU of bad is {bad:.2f}, under the ")
    assert failures(report, [read_requirement(f"bleu={bad}")]) == ()
    edits = [system.measured[2].score.value for system in report.systems]
    told = failures(report, [read_requirement(f"ter={sum(edits) / 2}")])
    assert len(told) == 1
    assert told[0].startswith(f"TER of bad is {edits[1]:.2f}, over the ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("blue=40", "--require blue=40: 'blue' is not a metric. Did you mean 'bleu'"),
        ("bleu", "--require bleu: give a number from 0 upwards, as in bleu=40"),
        ("bleu=forty", "give a number from 0 upwards"),
        ("bleu=nan", "give a number from 0 upwards"),
        ("bleu=-1", "give a number from 0 upwards"),
    ],
)
def test_a_requirement_that_says_nothing_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        read_requirement(text)
    assert sentence in str(told.value)
