"""A translation with links between its words and the words of its source: what documents need to keep their form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class AlignedTranslation:
    """A translation, and links (source, target) between words, which are separated by white space and counted from 0.

    Links to words that do not exist are ignored, and there need not be any.
    """

    text: str
    links: tuple[tuple[int, int], ...] = ()


TranslateSentences = Callable[[Sequence[str]], Sequence[AlignedTranslation]]
