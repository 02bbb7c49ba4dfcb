"""What is added to a translation once it is found: the alignment of its words, and alternatives at one of them."""

from dataclasses import replace

import torch

from clearhead.decoding.alignment import Head, align
from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.line_result import Choice, LineResult, LinkedWords, PartResult
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Piece, Translator
from clearhead.decoding.words import word_links, words_of
from clearhead.errors import ConfigError, DataError
from clearhead.model import Transformer


def read_head(text: str) -> Head:
    """Read `1` (a block: the mean of its heads) or `1.3` (a block and a head)."""
    parts = text.split(".")
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ConfigError(f"'{text}' is not a head. Write block.head, as in 1.3, or a block alone, both from 0.")
    return Head(int(parts[0]), int(parts[1]) if len(parts) == 2 else None)


class Annotator:
    """Adds alignments and alternatives to translations, by the model that made them."""

    def __init__(
        self, translator: Translator, settings: SearchSettings, head: Head | None = None, *, is_shifted: bool = True
    ) -> None:
        self.translator, self.settings, self.is_shifted = translator, settings, is_shifted
        self.model, self.vocabularies = translator.model, translator.vocabularies
        self.head = existing_head(self.model, head)

    def aligned(self, result: LineResult) -> LineResult:
        """Return a line with the links of its words."""
        return replace(result, parts=tuple(self._aligned(part) for part in result.parts))

    def _aligned(self, part: PartResult) -> PartResult:
        if not part.hypotheses:
            return part
        tokens = part.hypotheses[0].tokens
        with torch.inference_mode():
            pairs = align(self.model, source_ids(self.translator, part), tokens, self.head, is_shifted=self.is_shifted)
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
            found = alternatives(
                self.model,
                source_ids(self.translator, part),
                prefix,
                number,
                target_limit(self.translator, part, self.settings),
                self.settings,
            )
        pieces = self.vocabularies.target.pieces([each.token for each in found])
        texts = self.vocabularies.target.decode([each.hypothesis.tokens for each in found])
        choices = tuple(
            Choice(piece, each.log_prob, text) for piece, each, text in zip(pieces, found, texts, strict=True)
        )
        return replace(result, parts=(replace(part, choices=choices),))


def existing_head(model: Transformer, head: Head | None) -> Head:
    """Return a head that the model has, the usual one if none is named, or raise ConfigError."""
    if head is None:
        return Head.usual(model)
    config = model.config
    if head.block >= config.decoder_blocks or (head.head or 0) >= config.num_heads:
        raise ConfigError(
            f"the decoder has blocks 0 to {config.decoder_blocks - 1} with heads 0 to {config.num_heads - 1}, "
            f"and {head.block}{'' if head.head is None else f'.{head.head}'} is asked for."
        )
    return head


def source_ids(translator: Translator, part: PartResult) -> torch.Tensor:
    """Return the ids of a part as its model reads them (S,), eos included."""
    model = translator.model
    return torch.tensor([*part.ids, model.config.eos], device=model.output.weight.device)


def target_limit(translator: Translator, part: PartResult, settings: SearchSettings) -> int:
    """Return the most tokens that the translation of a part may have."""
    return translator.request(Piece(part.ids, part.constraints), settings).limit
