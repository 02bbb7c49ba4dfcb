"""The closing advice of a training: when the model is not usable yet, and what helps."""

import pytest

from clearhead.training.outcome import KeptScore, Outcome, Stopped
from clearhead.training.verdict import closing_advice

SIGNATURE = "nrefs:1"
LITTLE, MUCH = ({"corpora": [{"path": "data.train.0", "kept": number}]} for number in (997, 50_021))


def outcome(bleu: float | None, stopped: Stopped = "steps") -> Outcome:
    scores = {} if bleu is None else {"bleu": KeptScore("BLEU", bleu, SIGNATURE)}
    return Outcome(101, 3.0, stopped, test_scores=scores)


@pytest.mark.parametrize(
    ("stopped", "data", "remedy"),
    [
        ("minutes", LITTLE, "It stopped after 101 of 2,003 updates: resume the training."),
        (
            "steps",
            LITTLE,
            "It was trained on only 997 pairs: collect more, if possible 20,000. More time helps little.",
        ),
        ("steps", MUCH, "Train for longer, or with more text."),
        ("patience", {}, "Train for longer, or with more text."),
    ],
)
def test_a_low_score_is_explained(stopped: Stopped, data: dict[str, object], remedy: str) -> None:
    (sentence,) = closing_advice(outcome(1.26, stopped), data, 2003)
    assert sentence == (
        "The model is not usable yet: most of its translations are wrong (BLEU 1.3 on the test sentences; expect "
        f"usable ones well above 5). {remedy}"
    )


def test_an_interrupted_training_has_no_usable_model() -> None:
    assert closing_advice(outcome(None, "interrupted"), MUCH, 2003) == (
        "The model is not finished: the training was interrupted after 101 of 2,003 updates. Resume it.",
    )


def test_a_good_score_needs_no_advice_but_warnings_are_repeated() -> None:
    assert closing_advice(outcome(5.0), MUCH, 2003) == ()
    assert closing_advice(outcome(31.0), LITTLE, 2003, ["Too little text."]) == ("Too little text.",)
    assert closing_advice(outcome(None), MUCH, 2003) == ()


def test_the_advice_is_kept_with_the_outcome() -> None:
    kept = Outcome(7, 1.0, "steps", advice=("Add text.",))
    assert Outcome.from_data(kept.to_data()) == kept
