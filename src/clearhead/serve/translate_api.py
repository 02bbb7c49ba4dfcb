"""Our own calls for translations, under /v1: n-best lists, scores of tokens, alignments, glossaries and constraints."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.word_alignment import pharaoh
from clearhead.formats.built_in import language_code
from clearhead.serve.access import client_of
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError, JsonResponse
from clearhead.serve.catalogue import Route
from clearhead.serve.detection import detect_sources
from clearhead.serve.middleware import notes_of
from clearhead.serve.model_pool import ModelWorker
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.translation_task import TranslationTask, num_sentences
from clearhead.settings import Settings

_MAX_PHRASES = 200
_MAX_PHRASE_CHARACTERS = 10_000
_SCORED = 8  # pairs that are scored together, after which the batches of others come first


class TranslateRequest(Settings):
    """The body of /v1/translate."""

    text: str | tuple[str, ...] = Field(description="text or texts to translate")
    source: str | None = Field(None, description="source language; null is that of the model, auto detects it")
    target: str | None = Field(None, description="target language; null is the first one of the model")
    model: str | None = Field(None, description="name of a model; null is the first one that fits the languages")
    beam: int | None = Field(None, ge=1, description="hypotheses kept at each step; 1 is greedy search")
    n_best: int = Field(1, ge=1, description="translations of each text, at most `beam`")
    alignment: bool = Field(False, description="whether words are aligned")
    token_scores: bool = Field(False, description="whether the log-probability of every token is returned")
    glossary: dict[str, str] = Field(
        default_factory=dict, description="source terms and their translations", examples=[{"house": "hogar"}]
    )
    required: tuple[str, ...] = Field((), description="phrases that translations must contain")
    forbidden: tuple[str, ...] = Field((), description="phrases that translations must not contain")
    prefix: str | None = Field(None, description="text with which translations must start")

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return [self.text] if isinstance(self.text, str) else list(self.text)

    @property
    def constraints(self) -> PhraseConstraints | None:
        """The constraints, or None if there are none."""
        if not (self.glossary or self.required or self.forbidden or self.prefix):
            return None
        if len(self.glossary) + len(self.required) + len(self.forbidden) > _MAX_PHRASES:
            raise ApiError(400, f"glossary, required and forbidden can have at most {_MAX_PHRASES} entries together.")
        phrases = (self.prefix or "", *self.forbidden, *self.required, *self.glossary, *self.glossary.values())
        size = sum(map(len, phrases))
        if size > _MAX_PHRASE_CHARACTERS:  # each phrase is searched for in the others
            raise ApiError(
                400, f"the phrases have {size:,} characters together, but the maximum is {_MAX_PHRASE_CHARACTERS:,}."
            )
        return PhraseConstraints(self.prefix or "", self.forbidden, self.required, self.glossary)


class TextPairRequest(Settings):
    """A source and a translation."""

    source: str = Field(description="a sentence")
    target: str = Field(description="its translation")


class ScoreRequest(Settings):
    """The body of /v1/score."""

    pairs: tuple[TextPairRequest, ...] = Field(min_length=1, description="sentences with translations")
    source: str | None = Field(None, description="source language")
    target: str | None = Field(None, description="target language, for a model with several")
    model: str | None = Field(None, description="name of a model")
    tokens: bool = Field(False, description="whether the log-probability of every token is returned")


class TranslateApi:
    """The calls of this module."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def translate(self, request: Request) -> Response:
        """Translate texts; the answer has an object for each of them."""
        body = await read_request(request, TranslateRequest, self.server.settings.limits.body_bytes)
        self.server.check_texts(body.texts)
        beam = max(self.server.settings.beam if body.beam is None else body.beam, 1 if body.beam else body.n_best)
        most = self.server.settings.limits.beam
        if beam > most:
            raise ApiError(400, f"beam = {beam} is more than the maximum of this server, {most}. Use a smaller beam.")
        if body.n_best > beam:
            raise ApiError(400, f"n_best = {body.n_best} is more than beam = {beam}. Use a beam of {body.n_best}.")
        notes_of(request.scope)["texts"] = len(body.texts)
        catalogue = self.server.catalogue
        source, target = (word and language_code(word, catalogue.codes) for word in (body.source, body.target))
        groups = {source or "": list(range(len(body.texts)))}
        if source == "auto":
            detected = await detect_sources(self.server, body.texts, target)
            source, groups = detected.common.language, detected.groups
        constraints = body.constraints
        heading: dict[str, Any] = {"model": None, "source": source, "target": target}
        records: dict[int, dict[str, Any]] = {}
        for language, places in groups.items():
            if catalogue.is_same(language, target):
                records |= {place: _unchanged(place + 1, body.texts[place], body) for place in places}
                continue
            route = catalogue.route(language or None, target, body.model)
            task = TranslationTask(route, beam, body.n_best, constraints, body.alignment, body.token_scores)
            texts = [body.texts[place] for place in places]
            translated = await self.server.batcher.translate(task, texts, client_of(request))
            tokeniser = await self.server.tokeniser(route.model, is_plain=task.is_plain)
            for place, text in zip(places, translated, strict=True):
                records[place] = text.record(place + 1, task, tokeniser)
            heading = {"model": route.model.name, "source": route.source, "target": route.target}
            notes_of(request.scope)["model"] = route.model.name
        if body.source == "auto":
            heading["source"] = source
        return JsonResponse({**heading, "translations": [records[place] for place in range(len(body.texts))]})

    async def score(self, request: Request) -> Response:
        """Return the log-probability of given translations."""
        body = await read_request(request, ScoreRequest, self.server.settings.limits.body_bytes)
        self.server.check_texts([text for pair in body.pairs for text in (pair.source, pair.target)])
        route = self.server.catalogue.route(body.source, body.target, body.model)
        notes_of(request.scope).update(model=route.model.name, texts=len(body.pairs))
        worker = self.server.pool.worker(route.model, is_plain=False)
        steps = [partial(_scores, worker, route, body, start) for start in range(0, len(body.pairs), _SCORED)]
        weight = sum(num_sentences(pair.source + pair.target) for pair in body.pairs)
        scores = await self.server.batcher.run(worker, steps, weight, client_of(request))
        return JsonResponse({"model": route.model.name, "scores": [score for part in scores for score in part]})


def _unchanged(number: int, text: str, body: TranslateRequest) -> dict[str, Any]:
    """Return the record of a text that is in the target language already."""
    words = text.split()
    record: dict[str, Any] = {
        "line": number,
        "source": text,
        "translation": text,
        "score": 0.0,
        "log_prob": 0.0,
        "has_ended": True,
        "notes": ["The text is in the target language already, so it is unchanged."],
    }
    if body.n_best > 1:
        record["n_best"] = [{"translation": text, "score": 0.0, "log_prob": 0.0}]
    if body.token_scores:
        record["tokens"] = []
    if body.alignment:
        record["alignment"] = pharaoh(tuple((place, place) for place, _ in enumerate(words)))
        record |= {"source_words": words, "target_words": words}
    return record


def _scores(worker: ModelWorker, route: Route, body: ScoreRequest, start: int) -> list[dict[str, Any]]:
    """Score some pairs in the thread of a worker; the records are those of `clearhead score` in JSON."""
    scorer = replace(worker.scorer(), language=route.language)
    from clearhead.decoding.scoring import TextPair

    pairs = [TextPair(pair.source, pair.target) for pair in body.pairs[start : start + _SCORED]]
    records = []
    for score in scorer.score_window(pairs, start + 1):
        value = score.perplexity
        perplexity = None if value is None or math.isinf(value) else value
        record: dict[str, Any] = {
            "log_prob": score.log_prob,
            "perplexity": perplexity,
            "num_tokens": len(score.tokens),
        }
        if body.tokens:
            record |= {"tokens": scorer.vocabularies.target.pieces(score.tokens), "log_probs": list(score.log_probs)}
        records.append(record)
    return records


_BODY = BodyExample.of(TranslateRequest, {"text": "Let's go", "source": "en", "target": "es", "beam": 4, "n_best": 2})
_ANSWER = {
    "model": "tatoeba",
    "source": "en",
    "target": "es",
    "translations": [{"line": 1, "source": "Let's go", "translation": "Vamos", "score": -0.31, "has_ended": True}],
}
_PAIRS = BodyExample.of(
    ScoreRequest, {"pairs": [{"source": "Let's go", "target": "Vamos"}], "source": "en", "target": "es"}
)
_SCORES = {"model": "tatoeba", "scores": [{"log_prob": -1.5, "perplexity": 2.1, "num_tokens": 2}]}


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Translation"], prefix="/v1")
    api = TranslateApi(server)
    errors = (400, 404, 413, 503, 504)

    @router.post("/translate", **documented("Translate texts", answer=_ANSWER, body=_BODY, errors=errors))
    async def translate(request: Request) -> Response:
        return await api.translate(request)

    @router.post("/score", **documented("Score translations", answer=_SCORES, body=_PAIRS, errors=errors))
    async def score(request: Request) -> Response:
        return await api.score(request)

    return router
