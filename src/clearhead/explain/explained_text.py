"""The text that is explained: its tokens as the model reads them, and its translation."""

from collections.abc import Sequence

from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError, printable
from clearhead.explain.opening import LoadedModel
from clearhead.explain.token_row import TokenRow
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import Tokeniser, split_tag

MAX_TOKENS = 128  # of a source: time and memory grow with the square of its length, and faster


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


def row_of_text(
    model: Translator | LoadedModel,
    text: str,
    search: SearchSettings = SearchSettings(),
    language: str | None = None,
) -> TokenRow:
    """Return the tokens of a text as a model reads it: with its language tag, if it has one, and the end token."""
    vocabularies = model.vocabularies
    if isinstance(model, Translator):
        tokeniser, ids = vocabularies.source, encoded_source(model, text, search, language)
    else:
        tokeniser = vocabularies.target if model.model.can_continue_text else vocabularies.source
        ids = tokeniser.encode([text])[0]
        check_text(text, ids, tokeniser)
    return TokenRow.of(tokeniser, (*ids, model.model.config.eos), text)


def encoded_source(translator: Translator, text: str, search: SearchSettings, language: str | None) -> list[int]:
    """Return the ids of a source with its language tag, without the end token; prepare the engine for constraints."""
    translator.prepare(EngineNeeds(search, ("explain", "prefix")))
    options = translator.pipeline(search, TranslationOptions(language=language)).options
    tokeniser = translator.vocabularies.source
    own, rest = split_tag(text) if tokeniser.tags else (None, text)
    chosen = own or options.language
    ids = tokeniser.encode([(language_tag(chosen) if chosen is not None else "") + rest])[0]
    check_text(rest, ids, tokeniser)
    return ids


def translated_sentence(translator: Translator, text: str, search: SearchSettings, language: str | None) -> Translation:
    """Return the translation of one sentence; raise DataError for several."""
    translation = translator.translate([text], search, TranslationOptions(language=language))[0]
    if len(translation.parts) > 1:
        raise DataError(
            f"the text has {len(translation.parts)} sentences, which are translated one by one. Give one of them, "
            f"such as '{printable(translation.parts[0].source[:80])}'."
        )
    return translation
