"""The closing advice of a training: that the model is not finished or not usable yet, why, and what to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clearhead.training.outcome import Outcome
from clearhead.training.plan_text import FEW_PAIRS

USABLE = 5.0  # BLEU on the test set; below it, a reader cannot guess the meaning of most sentences
_USEFUL_PAIRS = 20_000


def closing_advice(
    outcome: Outcome, data: Mapping[str, Any], num_steps: int | None, warnings: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return sentences to print at the end of a run.

    `data` is what the run folder records about its data, `num_steps` the planned number of updates, and `warnings` are
    those of the plan, which were printed long before.
    """
    return (*_not_usable(outcome, data, num_steps), *warnings)


def _not_usable(outcome: Outcome, data: Mapping[str, Any], num_steps: int | None) -> Iterator[str]:
    if outcome.stopped == "interrupted" and num_steps is not None:
        yield (
            f"The model is not finished: the training was interrupted after {outcome.steps:,} of {num_steps:,} "
            "updates. Resume it."
        )
    bleu = outcome.test_scores.get("bleu")
    if bleu is None or not bleu.value < USABLE:
        return
    yield (
        f"The model is not usable yet: most of its translations are wrong (BLEU {bleu.value:.1f} on the test "
        f"sentences; expect usable ones well above {USABLE:g}). {_remedy(outcome, data, num_steps)}"
    )


def _remedy(outcome: Outcome, data: Mapping[str, Any], num_steps: int | None) -> str:
    num_pairs = sum(
        corpus["kept"] for corpus in data.get("corpora", []) if str(corpus["path"]).startswith("data.train")
    )
    if num_steps is not None and not outcome.is_finished:
        return f"It stopped after {outcome.steps:,} of {num_steps:,} updates: resume the training."
    if 0 < num_pairs < FEW_PAIRS:
        return (
            f"It was trained on only {num_pairs:,} pairs: collect more, if possible {_USEFUL_PAIRS:,}. More time helps "
            "little."
        )
    return "Train for longer, or with more text."
