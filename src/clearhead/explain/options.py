"""The options of an explanation, and the checks of its text."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.errors import ConfigError, DataError, printable
from clearhead.text.tokeniser import Tokeniser

MAX_TOKENS = 128  # of a source: time and memory grow with the square of its length, and faster
MAX_SEARCHES = 32  # words without which the source is translated again


@dataclass(frozen=True)
class ExplainOptions:
    """How much is explained.

    `hypothesis` selects another translation than the best (0); `prefix` is a beginning that the model continues; `sums`
    names the heads whose queries, keys and values are written as JSON, or `all`.
    """

    alternatives: int = 5
    hypothesis: int = 0
    prefix: str = ""
    sums: tuple[str, ...] = ()
    has_projections: bool = False  # with the inputs and weights that the vectors in `sums` are made of
    has_translations: bool = True  # translate the source again without each of its words

    def __post_init__(self) -> None:
        for name, least in (("alternatives", 1), ("hypothesis", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} = {getattr(self, name)}, but it must be at least {least}.", options=(name,))


def check_text(text: str, ids: Sequence[int], tokeniser: Tokeniser, side: str = "text") -> None:
    """Raise DataError for a text that is empty, too long, or consists of unknown characters only."""
    if not ids or not text.strip():
        raise DataError(f"the {side} is empty. Give a sentence.")
    if len(ids) > MAX_TOKENS:
        raise DataError(
            f"the {side} has {len(ids):,} tokens, but an explanation shows at most {MAX_TOKENS}. Give one sentence."
        )
    tags = set(tokeniser.tags.values())
    if all(number == tokeniser.unk for number in ids if number not in tags):
        unit = "word" if tokeniser.config.kind == "word" else "character"
        raise DataError(
            f"the vocabulary of this model has no {unit} of the {side} '{printable(text[:40])}', so that all its "
            "tokens are unknown. Give a sentence in a language of the model."
        )
