"""A plan as text: the table of its choices with their reasons, its figures, and the config that can be edited."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from clearhead.training.plan import RunPlan
from clearhead.training.timeline import duration

_COMMENT = 44  # column of the comments in plan.yaml


def plan_table(plan: RunPlan) -> str:
    """Return the plan as a table: setting, value, reason; then its figures and warnings."""
    rows = [(choice.name, choice.value, choice.reason) for choice in plan.choices]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {reason}" for name, value, reason in rows]
    speed = plan.speed
    memory = f"{speed.memory / 2**30:.1f} GiB of memory · " if speed.memory else ""
    lines += [
        "",
        f"{speed.num_parameters / 1e6:.1f} million parameters · {memory}{speed.tokens_per_second:,.0f} target tokens/s "
        f"on {'the GPU' if plan.situation.device == 'cuda' else 'the CPU'}",
        f"one epoch takes {duration(60 * plan.minutes_per_epoch)} · {plan.epochs:.3g} epochs · "
        f"training takes about {duration(plan.training_seconds)}",
    ]
    return "\n".join([*lines, *(f"Warning: {warning}" for warning in plan.warnings)])


def plan_yaml(plan: RunPlan) -> str:
    """Return the plan as a config with its reasons as comments. It has all settings that the plan has chosen."""
    reasons = {path: choice.reason for choice in plan.choices for path in list(choice.settings)[:1]}
    config = plan.config.model_dump(mode="json", exclude_unset=True, exclude={"run"})
    lines = [
        "# A plan of clearhead. Edit it, and train it in another run folder.",
        f"# It was made for {plan.situation.num_pairs:,} pairs and about {duration(plan.training_seconds)} of training "
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
