"""Other words at one position of a translation, each with the most likely translation that continues from it."""

import math
from typing import Any

from pydantic import Field

from clearhead.decoding.engines.engine import EngineNeeds, Use
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.pipeline import Segment
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.translation import one_line
from clearhead.decoding.word_alignment import words_of
from clearhead.errors import DataError
from clearhead.serve.catalogue import Route
from clearhead.serve.model_pool import ModelWorker
from clearhead.serve.translation_task import search_settings
from clearhead.settings import Settings
from clearhead.text.special import language_tag


class AlternativesRequest(Settings):
    """The body of /v1/alternatives."""

    text: str = Field(min_length=1, description="the sentence")
    translation: str = Field(description="its translation, of which the words before `word` are kept")
    word: int = Field(ge=1, description="position of the word, counted from 1; one more than there are continues it")
    count: int = Field(5, ge=1, description="number of alternatives")
    beam: int = Field(1, ge=1, le=10, description="beam of the continuations")
    source: str | None = Field(None, description="source language; null is that of the model, auto detects it")
    target: str | None = Field(None, description="target language; null is the first one of the model")
    model: str | None = Field(None, description="name of a model; null is the first one that fits the languages")


def word_alternatives(worker: ModelWorker, route: Route, body: AlternativesRequest) -> list[dict[str, Any]]:
    """Return the alternatives, most likely first; it runs in the thread of a worker and needs torch."""
    uses: tuple[Use, ...] = ("alternatives",)
    translator = worker.translator(EngineNeeds(uses=uses))
    import torch

    from clearhead.decoding.alternatives import alternatives

    vocabularies, model, info = translator.vocabularies, translator.model, translator.engine.info
    text = " ".join(body.text.split())
    tag = "" if route.language is None else language_tag(route.language)
    ids = tuple(vocabularies.source.encode([tag + text])[0])
    tokens = tuple(vocabularies.target.encode([" ".join(body.translation.split())])[0])
    _check_length(len(ids), info.max_length)
    _check_length(len(tokens), info.max_length)
    words = words_of(vocabularies.target, tokens, body.translation)
    if body.word > len(words.words) + 1:
        raise DataError(f"word = {body.word}, but the translation has {len(words.words)} words.")
    prefix = tokens[: words.first_piece(body.word - 1)] if body.word <= len(words.words) else tokens
    search = search_settings(body.beam)
    hidden = HiddenPieces(vocabularies, translator.statistics).hide(ids, NO_CONSTRAINTS).hidden
    constraints = Constraints(prefix).hiding(hidden)
    limit = Segment(ids, constraints).request(search, info).limit
    with torch.inference_mode():
        source = torch.tensor([*ids, model.config.eos], device=model.device)
        ranked = alternatives(model, source, constraints, body.count, limit, search)
    found = []
    for alternative in ranked:
        own = words_of(vocabularies.target, alternative.hypothesis.tokens).words
        whole = one_line(vocabularies.target.decode([alternative.hypothesis.tokens])[0])
        word = own[body.word - 1] if body.word <= len(own) else ""
        found.append({"text": whole, "word": one_line(word), "probability": math.exp(alternative.log_prob)})
    return found


def _check_length(num_tokens: int, longest: int | None) -> None:
    if longest is not None and num_tokens >= longest:
        raise DataError(
            f"a text has {num_tokens:,} tokens, but the model reads at most {longest - 1:,}. Send one sentence."
        )
