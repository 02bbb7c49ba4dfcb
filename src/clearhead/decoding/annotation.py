"""What is added to a translation once it is found: the alignment of its words, and alternatives at one of them."""

from dataclasses import replace

import torch

from clearhead.decoding.alignment import AlignmentRule, Head, align
from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.pipeline import Segment
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import AlternativeText, TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import WordAlignment, word_links, words_of
from clearhead.errors import ConfigError, DataError
from clearhead.model import SequenceModel


def read_head(text: str) -> Head:
    """Read `1` (a block: the mean of its heads) or `1.3` (a block and a head)."""
    parts = text.split(".")
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ConfigError(f"'{text}' is not a head. Write block.head, as in 1.3, or a block alone, both from 0.")
    return Head(int(parts[0]), int(parts[1]) if len(parts) == 2 else None)


class Annotator:
    """Adds alignments and alternatives to translations, by the model that made them."""

    def __init__(self, translator: Translator, search: SearchSettings, rule: AlignmentRule | None = None) -> None:
        self.translator, self.search = translator, search
        self.model, self.vocabularies = translator.model, translator.vocabularies
        head = existing_head(self.model, None if rule is None else rule.head)
        self.rule = AlignmentRule(head, rule is None or rule.is_shifted)

    def aligned(self, translation: Translation) -> Translation:
        """Return a translation with the links of its words."""
        return replace(translation, parts=tuple(self._aligned(part) for part in translation.parts))

    def _aligned(self, part: TranslatedPart) -> TranslatedPart:
        if not part.hypotheses:
            return part
        tokens = part.hypotheses[0].tokens
        with torch.inference_mode():
            links = align(self.model, source_ids(self.model, part), tokens, self.rule)
        source = words_of(self.vocabularies.source, part.ids, part.source)
        target = words_of(self.vocabularies.target, tokens)
        return replace(part, alignment=WordAlignment(source.words, target.words, word_links(links, source, target)))

    def with_alternatives(self, translation: Translation, word: int, number: int) -> Translation:
        """Return a translation with `number` alternatives at its n-th word, counted from 1."""
        parts = [part for part in translation.parts if part.hypotheses]
        if not parts:
            return translation
        if len(parts) > 1:
            raise DataError(
                f"line {translation.number} is in {len(parts)} parts. Ask for the alternatives of one sentence."
            )
        part, tokens = parts[0], parts[0].hypotheses[0].tokens
        words = words_of(self.vocabularies.target, tokens)
        if not 1 <= word <= len(words.words):
            raise DataError(
                f"line {translation.number}: the translation has {len(words.words)} words, '{translation.text}', "
                f"and alternatives for word {word} are asked for."
            )
        prefix = tokens[: words.first_piece(word - 1)]
        limit = target_limit(self.translator, part, self.search)
        with torch.inference_mode():
            ranked = alternatives(self.model, source_ids(self.model, part), prefix, number, limit, self.search)
        pieces = self.vocabularies.target.pieces([alternative.token for alternative in ranked])
        texts = self.vocabularies.target.decode([alternative.hypothesis.tokens for alternative in ranked])
        shown = tuple(
            AlternativeText(piece, alternative.log_prob, text)
            for piece, alternative, text in zip(pieces, ranked, texts, strict=True)
        )
        return replace(translation, parts=(replace(part, alternatives=shown),))


def existing_head(model: SequenceModel, head: Head | None) -> Head:
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


def source_ids(model: SequenceModel, part: TranslatedPart) -> torch.Tensor:
    """Return the ids of a part as its model reads them (S,), eos included."""
    return torch.tensor([*part.ids, model.config.eos], device=model.device)


def target_limit(translator: Translator, part: TranslatedPart, search: SearchSettings) -> int:
    """Return the most tokens that the translation of a part may have."""
    return Segment(part.ids, part.constraints).request(search, translator.engine.info).limit
