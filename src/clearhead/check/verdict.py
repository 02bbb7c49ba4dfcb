"""What a written cell can be found to be, and which findings are errors.

The words are the ones that the student reads; a symbol goes with each, so that colour never stands alone.
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
        """One character that says the same."""
        return SYMBOLS[self]

    @property
    def is_error(self) -> bool:
        """Whether the student has to put something right, whatever the teacher's strictness."""
        return self in ERRORS

    @property
    def is_accepted(self) -> bool:
        """Whether the cell earns its accuracy mark, if need be as follow-through."""
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
