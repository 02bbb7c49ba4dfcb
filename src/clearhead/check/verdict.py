"""The verdicts on a written cell, and which of them are errors.

The values are part of the JSON report and stay the same; `in_words` is the name that students read in a report. Each
verdict has a symbol, so that colour is never the only sign.
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
    UNSUPPORTED = "not enough working"
    UNREADABLE = "cannot read"
    UNCHECKED = "not checked"
    PRINTED = "printed on the sheet"

    @property
    def in_words(self) -> str:
        """The name of the verdict in a report."""
        return _NAMES.get(self, self.value)

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
_NAMES = {  # where the name differs from the value
    Verdict.ROUNDED: "correct (rounded)",
    Verdict.ROUNDING: "rounding difference",
    Verdict.TRUE: "inconsistent",
    Verdict.TRANSCRIPTION: "copying error",
    Verdict.INVARIANT: "impossible value",
}
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
    Verdict.UNSUPPORTED: "…",
    Verdict.UNREADABLE: "?",
    Verdict.UNCHECKED: "·",
    Verdict.PRINTED: "=",
}
