"""What may be asked of the translation of one sentence, in ids. Without torch, so that an engine can do without it."""

from dataclasses import dataclass

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class Constraints:
    """What is asked of the translation of one sentence, in ids of the target vocabulary.

    `forbidden` and `required` are phrases; a phrase may be given in several spellings as several forbidden phrases.
    """

    prefix: Phrase = ()
    forbidden: tuple[Phrase, ...] = ()
    required: tuple[Phrase, ...] = ()


NO_CONSTRAINTS = Constraints()
