"""Sentences drawn from one pattern, for tests of the patterns."""

from clearhead.data.phrasebook.patterns import Pattern
from clearhead.data.phrasebook.phrases import Draw
from clearhead.data.phrasebook.sentences import PhrasePair


def drawn(pattern: Pattern, number: int = 400) -> list[PhrasePair]:
    """Return a number of sentences of a pattern, always the same."""
    draw = Draw(f"a test of {pattern.__name__}")
    return [pattern(draw) for _ in range(number)]
