"""A model ready to translate text: vocabularies around an engine, whichever that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearhead.decoding.engines.engine import Engine, Request, length_limit
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.text.tokeniser import Vocabularies

if TYPE_CHECKING:
    from clearhead.model import Transformer


@dataclass(frozen=True)
class Piece:
    """A text that a model can read as a whole: its ids without eos, what is asked of it, and its number."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS
    number: int = 0


@dataclass(frozen=True, eq=False)
class Translator:
    """Text in, translations out; `notes` are sentences about how it was opened."""

    vocabularies: Vocabularies
    engine: Engine
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> "Transformer":
        """The model itself, for what only torch can do: attention, explanations, alternatives."""
        from clearhead.decoding.engines.torch_engine import TorchEngine

        if not isinstance(self.engine, TorchEngine):
            raise ConfigError(f"this needs the model itself, and {self.engine.name} has it fused away. Use torch.")
        return self.engine.model

    def search(
        self, pieces: Sequence[Piece], settings: SearchSettings, *, has_scores: bool = True
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each piece, best first; a greedy search is quicker where no scores are needed."""
        requests = [self.request(piece, settings, has_score=has_scores) for piece in pieces]
        return self.engine.translate(requests, settings)

    def request(self, piece: Piece, settings: SearchSettings, *, has_score: bool = True) -> Request:
        """Return what the engine is asked for a piece."""
        info = self.engine.info
        ids = (*piece.ids, info.eos)
        # what must be there is not to be cut off because it is long
        asked = len(piece.constraints.prefix) + sum(map(len, piece.constraints.required))
        limit = length_limit(len(ids), settings, info, num_asked=asked)
        return Request(ids, limit, piece.constraints, piece.number, has_score)

    def translate(
        self,
        sentences: Sequence[str],
        settings: SearchSettings = SearchSettings(),
    ) -> list[str]:
        """Return the best translation of each sentence; one without a token stays empty, one too long is cut."""
        longest = self.engine.info.max_length
        rows = self.vocabularies.source.encode(sentences)
        cut = [tuple(row if longest is None else row[: longest - 1]) for row in rows]
        asked = [n for n, (row, text) in enumerate(zip(cut, sentences, strict=True)) if row and text.strip()]
        found = self.search([Piece(cut[number], number=number) for number in asked], settings, has_scores=False)
        made = [""] * len(sentences)
        texts = self.vocabularies.target.decode([several[0].tokens for several in found])
        for number, text in zip(asked, texts, strict=True):
            made[number] = text
        return made
