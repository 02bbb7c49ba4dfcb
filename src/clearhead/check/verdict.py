"""The verdicts on a written cell, and which of them are errors.

Students read these words in their reports. Each verdict has a symbol, so that colour is never the only sign.
"""

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on one written cell."""

    CORRECT = "correct"
    ROUNDED = "correct (rounded working)"
    CARRIED = "carried forward"
    TRUNCATED = "truncated"
    ROUNDING = "rounding only"
    PLAUSIBLE = "plausible"
    TRUE = "true, but not from your line"
    TRANSCRIPTION = "transcription"
    MISCONCEPTION = "misconception"
    SLIP = "arithmetic slip"
    INVARIANT = "invariant violated"
    UNREADABLE = "cannot read"
    UNCHECKED = "not checked"

    @property
    def symbol(self) -> str:
        """The symbol of the verdict, one character."""
        return SYMBOLS[self]

    @property
    def is_error(self) -> bool:
        """Whether the verdict is an error, regardless of the teacher's strictness."""
        return self in ERRORS

    @property
    def is_accepted(self) -> bool:
        """Whether the cell earns its accuracy mark, possibly as follow-through."""
        return self in ACCEPTED


ERRORS = frozenset({Verdict.TRANSCRIPTION, Verdict.MISCONCEPTION, Verdict.SLIP, Verdict.INVARIANT})
ROUNDING_FAULTS = frozenset({Verdict.TRUNCATED, Verdict.ROUNDING})  # errors only for a strict teacher
ACCEPTED = frozenset(
    {
        Verdict.CORRECT,
        Verdict.ROUNDED,
        Verdict.CARRIED,
        Verdict.TRUNCATED,
        Verdict.ROUNDING,
        Verdict.PLAUSIBLE,
        Verdict.TRUE,
    }
)
SYMBOLS = {
    Verdict.CORRECT: "✓",
    Verdict.ROUNDED: "✓",
    Verdict.CARRIED: "→",
    Verdict.TRUNCATED: "⌊",
    Verdict.ROUNDING: "≈",
    Verdict.PLAUSIBLE: "~",
    Verdict.TRUE: "!",
    Verdict.TRANSCRIPTION: "✗",
    Verdict.MISCONCEPTION: "✗",
    Verdict.SLIP: "✗",
    Verdict.INVARIANT: "✗",
    Verdict.UNREADABLE: "?",
    Verdict.UNCHECKED: "·",
}
