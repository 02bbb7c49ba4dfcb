"""The role of a step, such as query or attention: each has one colour and one letter, in the terminal and on pages."""

from collections.abc import Mapping
from dataclasses import dataclass

from clearhead.steps import Record


@dataclass(frozen=True)
class Role:
    """The purpose of a matrix. `tag` is shown with the colour, for readers who cannot distinguish colours."""

    name: str
    tag: str
    terminal_style: str


QUERY = Role("query", "Q", "blue")
KEY = Role("key", "K", "red")
VALUE = Role("value", "V", "green")
ATTENTION = Role("attention", "A", "magenta")
RESIDUAL = Role("residual", "R", "bright_black")
FEED_FORWARD = Role("feed-forward", "F", "bright_blue")
ROLES = (QUERY, KEY, VALUE, ATTENTION, RESIDUAL, FEED_FORWARD)

_BY_PLACE: Mapping[str, Role] = {"query": QUERY, "key": KEY, "value": VALUE}
_BY_STEP: Mapping[str, Role] = dict.fromkeys(
    ("score", "scale", "mask", "shift", "exponentiate", "row_sum", "softmax", "divide", "kernel", "mix"), ATTENTION
)


def role_of(record: Record) -> Role | None:
    """Return the role of a step, by its place or else by the kind of step; None for a step without a role."""
    return role_at(record.where, record.step.name)


def role_at(where: str, step: str) -> Role | None:
    """Return the role of a step by its path and the name of the Step."""
    words = where.split(".")
    if "feed_forward" in words:
        return FEED_FORWARD
    if step == "add" and "add_and_norm" in words:
        return RESIDUAL
    if words[-1] in ("output", "dense"):  # the softmax over the vocabulary is not attention
        return None
    return _BY_PLACE.get(words[-1]) or _BY_STEP.get(step)
