"""What a run tells its user: the plan as a table and as a config, warnings about the text, the closing advice."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import yaml

from clearhead.data.hold_out import TextPair
from clearhead.training.config import TrainingConfig
from clearhead.training.outcome import Outcome
from clearhead.training.schedule import rate_at
from clearhead.training.timeline import duration

if TYPE_CHECKING:
    from clearhead.training.plan import RunPlan

_COMMENT = 44  # column of the comments in plan.yaml
FEW_PAIRS = 5_000
_EQUAL_SHARE, _MOSTLY_EQUAL = 0.3, 0.5  # of pairs whose sides are the same; names and numbers are a few percent
_BLOCKS, _LEAST_IN_BLOCK = 20, 200  # parts of the text in which lengths are compared
_UNRELATED = 0.15  # correlation of the lengths of both sides; translations have 0.7 to 0.96
_LEAST_SPREAD = 0.1  # of the logarithms of lengths: in a text sorted by length, the lengths of a part are nearly equal
_MOSTLY_UNRELATED = 0.5  # of the parts
USABLE = 5.0  # BLEU on the test set; below it, a reader cannot guess the meaning of most sentences
_USEFUL_PAIRS = 20_000


def plan_table(plan: "RunPlan") -> str:
    """Return the plan as a table: setting, value, reason; then its figures and warnings."""
    rows = [(choice.name, choice.value, choice.reason) for choice in plan.choices]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {reason}" for name, value, reason in rows]
    return "\n".join([*lines, "", plan.describe()])


def plan_yaml(plan: "RunPlan") -> str:
    """Return the plan as a config with its reasons as comments. It has all settings that the plan has chosen."""
    reasons = {path: choice.reason for choice in plan.choices for path in list(choice.settings)[:1]}
    config = plan.config.model_dump(mode="json", exclude_unset=True, exclude={"run"})
    lines = [
        "# A plan of clearhead. Edit it, and train it in another run folder.",
        f"# It was made for {plan.num_pairs:,} pairs and about {duration(plan.training_seconds)} of training "
        f"at {plan.speed.tokens_per_second:,.0f} target tokens/s.",
    ]
    return "\n".join([*lines, *_yaml_lines(config, "", reasons)]) + "\n"


def _yaml_lines(data: Mapping[str, Any], path: str, reasons: Mapping[str, str]) -> Iterator[str]:
    indent = "  " * (path.count(".") + bool(path))
    for name, value in data.items():
        own = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            if value:
                yield f"{indent}{name}:"
                yield from _yaml_lines(value, own, reasons)
            continue
        text = yaml.safe_dump({name: value}, allow_unicode=True, width=10_000, sort_keys=False).rstrip()
        first, *rest = text.split("\n")
        comment = f"  # {reasons[own]}" if own in reasons else ""
        yield f"{indent}{first:<{_COMMENT - len(indent) if comment else 0}}{comment}"
        yield from (f"{indent}{line}" for line in rest)


def length_warnings(training: TrainingConfig, total: int) -> list[str]:
    """Return the lines of a warning if the warm-up takes more than half of the `total` updates of a run."""
    warm_up = training.warm_up_steps
    if warm_up > total:
        share = 100 * rate_at(total, training, total) / training.peak_rate
        return [
            f"Warning: the run ({total:,} updates) is shorter than its warm-up ({warm_up:,} updates).",
            f"The learning rate will only reach {share:.2g} % of training.rate, and the model will learn little.",
            "Lower training.warm_up or train longer.",
        ]
    if warm_up > total / 2:
        return [
            f"Warning: the warm-up takes {warm_up:,} of {total:,} updates, more than half of the run.",
            "The model will learn little. Lower training.warm_up or train longer.",
        ]
    return []


class TextWarning(NamedTuple):
    """A property of a text with which no useful translator can be trained; if `is_certain`, training it is useless."""

    sentence: str
    is_certain: bool = False


def text_warnings(pairs: Sequence[TextPair]) -> Iterator[TextWarning]:
    """Yield a warning for each property of the text with which no useful translator can be trained."""
    if len(pairs) < FEW_PAIRS:
        yield TextWarning(
            f"{len(pairs):,} pairs are very little text: expect translations of sentences like those in the text, and "
            "poor ones of all others."
        )
    num_equal = sum(source == target for source, target in pairs)
    if num_equal > _EQUAL_SHARE * len(pairs):
        yield TextWarning(
            f"The two sides are identical in {100 * num_equal / len(pairs):.0f} % of the pairs: the model will learn "
            "to copy. Are both files in the same language?",
            num_equal > _MOSTLY_EQUAL * len(pairs),
        )
    yield from _misaligned(pairs)


def _misaligned(pairs: Sequence[TextPair]) -> Iterator[TextWarning]:
    """Compare the lengths of both sides: a long sentence has a long translation, unless lines have shifted."""
    size = max(_LEAST_IN_BLOCK, -(-len(pairs) // _BLOCKS))
    starts = [start for start in range(0, len(pairs), size) if len(pairs) - start >= _LEAST_IN_BLOCK]
    correlations = {start: _correlation(pairs[start : start + size]) for start in starts}
    unrelated = [start for start, value in correlations.items() if value is not None and value < _UNRELATED]
    if not unrelated:
        return
    yield TextWarning(
        f"The files look misaligned: long sentences do not have long translations in {len(unrelated)} of "
        f"{len(starts)} parts of the text, first near pair {unrelated[0] + 1:,}. Check that each line is the "
        "translation of the same line in the other file.",
        len(unrelated) >= _MOSTLY_UNRELATED * len(starts),
    )


def _correlation(pairs: Sequence[TextPair]) -> float | None:
    """Return the correlation of the lengths of both sides; None if nearly equal lengths say nothing."""
    lengths = np.array([(len(source), len(target)) for source, target in pairs], dtype=np.float64)
    source, target = np.log(1 + lengths).T
    if min(source.std(), target.std()) < _LEAST_SPREAD:
        return None
    return float(np.corrcoef(source, target)[0, 1])


def closing_advice(outcome: Outcome, data: Mapping[str, Any], num_steps: int | None) -> Iterator[str]:
    """Yield sentences to print at the end of a run, if its model is not finished or not usable.

    `data` is what the run folder records about its data, `num_steps` the planned number of updates.
    """
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
