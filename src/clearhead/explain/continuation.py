"""Force another token at a position of a translation, and let the search go on from there."""

import math
from collections.abc import Sequence

from clearhead.decoding.engines.engine import EngineNeeds, Request, length_limit
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError
from clearhead.explain.explanation import Continuation
from clearhead.explain.options import check_text
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import split_tag


def continue_from(
    translator: Translator,
    text: str,
    prefix: str | Sequence[int],
    *,
    search: SearchSettings = SearchSettings(),
    language: str | None = None,
) -> Continuation:
    """Translate a text with a forced beginning: a text, or token ids such as the first tokens of an explanation.

    The result's position and token are those of the last forced token.
    """
    source = encoded_source(translator, text, search, language)
    tokens = translator.vocabularies.target.encode([prefix])[0] if isinstance(prefix, str) else list(prefix)
    if not tokens:
        raise DataError("the forced beginning has no tokens. Give at least one.")
    size = translator.vocabularies.target.size
    if not all(0 <= token < size for token in tokens):
        raise DataError(f"the forced beginning has an id that is not in the vocabulary. Ids go from 0 to {size - 1}.")
    hypothesis = continued(translator, source, [tuple(tokens)], search)[0]
    log_prob = hypothesis.log_probs[len(tokens) - 1]
    return _continuation(translator, len(tokens) - 1, tokens[-1], log_prob, hypothesis)


def continued(
    translator: Translator, source: Sequence[int], prefixes: Sequence[tuple[int, ...]], search: SearchSettings
) -> list[Hypothesis]:
    """Return the best hypothesis that starts with each prefix."""
    if not prefixes:
        return []
    config = translator.engine.config
    pieces = HiddenPieces(translator.vocabularies, translator.statistics)
    requests = []
    for prefix in prefixes:
        constraints = pieces.hide(source, Constraints(prefix=prefix))
        limit = length_limit(len(source) + 1, search, config, constraints)
        requests.append(Request((*source, config.eos), limit, constraints))
    outcomes = translator.engine.translate(requests, search)
    return [hypotheses[0] for hypotheses in outcomes]


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


def _continuation(
    translator: Translator, position: int, token: int, log_prob: float, hypothesis: Hypothesis
) -> Continuation:
    text = translator.vocabularies.target.decode([hypothesis.tokens])[0]
    return Continuation(position, token, math.exp(log_prob), text, hypothesis)
