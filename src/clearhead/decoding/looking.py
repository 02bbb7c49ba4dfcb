"""What is looked at after a translation is found: its alignment, what else could stand there, and the search itself."""

from dataclasses import replace
from typing import Any, Literal

import torch

from clearhead.decoding.alignment import Head, align
from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.explain import Explanation, explain
from clearhead.decoding.line_result import Choice, LineResult, LinkedWords, PartResult
from clearhead.decoding.settings import SearchSettings
from clearhead.decoding.translator import Piece, Translator
from clearhead.decoding.words import word_links, words_of
from clearhead.errors import ConfigError, DataError
from clearhead.text.tokeniser import Vocabularies


def read_head(text: str) -> Head:
    """Read `1` (a block: the mean of its heads) or `1.3` (a block and a head)."""
    parts = text.split(".")
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ConfigError(f"'{text}' is not a head. Write block.head, as in 1.3, or a block alone, both from 0.")
    return Head(int(parts[0]), int(parts[1]) if len(parts) == 2 else None)


class Looker:
    """Looks at translations by the model that made them."""

    def __init__(
        self, translator: Translator, settings: SearchSettings, head: Head | None = None, *, is_shifted: bool = True
    ) -> None:
        self.translator, self.settings, self.is_shifted = translator, settings, is_shifted
        self.model, self.vocabularies = translator.model, translator.vocabularies
        self.head = Head.usual(self.model) if head is None else head
        config = self.model.config
        is_there = self.head.block < config.decoder_blocks and (self.head.head or 0) < config.num_heads
        if not is_there:
            raise ConfigError(
                f"the decoder has blocks 0 to {config.decoder_blocks - 1} with heads 0 to {config.num_heads - 1}, "
                f"and {self.head.block}{'' if self.head.head is None else f'.{self.head.head}'} is asked for."
            )

    def aligned(self, result: LineResult) -> LineResult:
        """Return a line with the links of its words."""
        return replace(result, parts=tuple(self._aligned(part) for part in result.parts))

    def _aligned(self, part: PartResult) -> PartResult:
        if not part.hypotheses:
            return part
        tokens = part.hypotheses[0].tokens
        with torch.inference_mode():
            pairs = align(self.model, self._source(part), tokens, self.head, is_shifted=self.is_shifted)
        source = words_of(self.vocabularies.source, part.ids, part.source)
        target = words_of(self.vocabularies.target, tokens)
        return replace(part, alignment=LinkedWords(source.words, target.words, word_links(pairs, source, target)))

    def with_choices(self, result: LineResult, word: int, number: int) -> LineResult:
        """Return a line with so many things that could stand at its n-th word, counted from 1."""
        parts = [part for part in result.parts if part.hypotheses]
        if not parts:
            return result
        if len(parts) > 1:
            raise DataError(f"line {result.number} is in {len(parts)} parts. Ask for the alternatives of one sentence.")
        part, tokens = parts[0], parts[0].hypotheses[0].tokens
        words = words_of(self.vocabularies.target, tokens)
        if not 1 <= word <= len(words.words):
            raise DataError(
                f"line {result.number}: the translation has {len(words.words)} words, '{result.text}', "
                f"and alternatives for word {word} are asked for."
            )
        prefix = tokens[: words.begins(word - 1)]
        with torch.inference_mode():
            found = alternatives(self.model, self._source(part), prefix, number, self._limit(part), self.settings)
        pieces = self.vocabularies.target.pieces([each.token for each in found])
        texts = self.vocabularies.target.decode([each.hypothesis.tokens for each in found])
        choices = tuple(
            Choice(piece, each.log_prob, text) for piece, each, text in zip(pieces, found, texts, strict=True)
        )
        return replace(result, parts=(replace(part, choices=choices),))

    def explained(self, result: LineResult, *, all_heads: bool = False) -> LineResult:
        """Return a line whose translation is that of a search that was written down step by step."""
        if self.settings.is_sampling:
            raise ConfigError("--explain shows a search, and --temperature draws at random. Leave one of them out.")
        return replace(result, parts=tuple(self._explained(part, all_heads) for part in result.parts))

    def _explained(self, part: PartResult, all_heads: bool) -> PartResult:
        if not part.hypotheses:
            return part
        head: Head | Literal["all"] = "all" if all_heads else self.head
        with torch.inference_mode():
            made = explain(self.model, self._source(part), self._limit(part), self.settings, part.wishes, head)
        texts = tuple(self.vocabularies.target.decode([each.tokens for each in made.best]))
        return replace(part, texts=texts, hypotheses=made.best, explanation=to_data(made, self.vocabularies))

    def _source(self, part: PartResult) -> torch.Tensor:
        return torch.tensor([*part.ids, self.model.config.eos], device=self.model.output.weight.device)

    def _limit(self, part: PartResult) -> int:
        return self.translator.request(Piece(part.ids, part.wishes), self.settings).limit


def to_data(explanation: Explanation, vocabularies: Vocabularies) -> dict[str, Any]:
    """Return an explanation for JSON, with the piece of every id in it."""
    data = explanation.to_dict()
    used = {option.token for step in explanation.steps for option in step.options}
    used |= {loss.token for step in explanation.steps for loss in step.lost}
    used |= {token for each in explanation.ended for token in each.hypothesis.tokens}
    used |= {token for each in explanation.best for token in each.tokens}
    ids = sorted(used)
    pieces = dict(zip(map(str, ids), vocabularies.target.pieces(ids), strict=True))
    return {"source_pieces": vocabularies.source.pieces(explanation.source), "pieces": pieces, **data}
