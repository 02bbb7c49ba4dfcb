"""Other words at one position of a given translation, each with the most likely translation that continues from it."""

from dataclasses import dataclass

import torch

from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.pipeline import Segment
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import one_line
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import words_of
from clearhead.errors import DataError
from clearhead.text.special import language_tag


@dataclass(frozen=True)
class TranslatedSentence:
    """A sentence, a translation that need not be the model's own, and the target language if there are several."""

    source: str
    target: str
    language: str | None = None


@dataclass(frozen=True)
class WordAlternative:
    """Another word: the word, the log-probability of its first token, and the complete translation."""

    word: str
    log_prob: float
    text: str


def word_alternatives(
    translator: Translator,
    sentence: TranslatedSentence,
    word: int,
    number: int,
    search: SearchSettings = SearchSettings(),
) -> list[WordAlternative]:
    """Return the `number` most likely words at position `word` of a translation, counted from 1.

    The words before it are kept. A position after the last word continues the translation. It needs the engine torch.
    """
    vocabularies, model, info = translator.vocabularies, translator.model, translator.engine.info
    source, target = (" ".join(text.split()) for text in (sentence.source, sentence.target))
    tag = "" if sentence.language is None else language_tag(sentence.language)
    ids = tuple(vocabularies.source.encode([tag + source])[0])
    tokens = tuple(vocabularies.target.encode([target])[0])
    for num_tokens in (len(ids), len(tokens)):
        if info.max_length is not None and num_tokens >= info.max_length:
            raise DataError(
                f"a text has {num_tokens:,} tokens, but the model reads at most {info.max_length - 1:,}. "
                "Give one sentence."
            )
    words = words_of(vocabularies.target, tokens, target)
    if not 1 <= word <= len(words.words) + 1:
        raise DataError(f"word = {word}, but the translation has {len(words.words)} words.")
    prefix = tokens[: words.first_piece(word - 1)] if word <= len(words.words) else tokens
    hidden = HiddenPieces(vocabularies, translator.statistics).hide(ids, NO_CONSTRAINTS).hidden
    constraints = Constraints(prefix).hiding(hidden)
    limit = Segment(ids, constraints).request(search, info).limit
    with torch.inference_mode():
        rows = torch.tensor([*ids, model.config.eos], device=model.device)
        ranked = alternatives(model, rows, constraints, number, limit, search)
    texts = vocabularies.target.decode([alternative.hypothesis.tokens for alternative in ranked])
    choices = []
    for alternative, text in zip(ranked, texts, strict=True):
        own = words_of(vocabularies.target, alternative.hypothesis.tokens).words
        new_word = own[word - 1] if word <= len(own) else ""  # empty: the translation ends here
        choices.append(WordAlternative(one_line(new_word), alternative.log_prob, one_line(text)))
    return choices
