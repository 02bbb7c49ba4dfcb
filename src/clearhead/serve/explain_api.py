"""Explanations over HTTP: /v1/explain, /v1/explain/page, /v1/what-if and /v1/compare.

A process of its own computes them, so that no translation waits for them in the queue: it has a queue with a limit, a
limit of tokens and of time, and is started again if it ends. Status 501 says that PyTorch is not installed.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from clearhead.explain.page.page import explanation_policy
from clearhead.serve.api_errors import ApiError
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.worker_calls import WorkerCall, answer_by_worker
from clearhead.serve.worker_process import WorkerJob, WorkerLimits, WorkerPool
from clearhead.settings import Settings

_ERRORS = (400, 404, 413, 501, 503, 504)
# a page belongs to no origin, so that its script can neither call this server nor read its other pages
_SANDBOX = "; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads"
_MAX_CHARACTERS = 4000  # of a sentence, far more than its tokens may have
_Text = Annotated[str, Field(max_length=_MAX_CHARACTERS)]
_Sentence = Annotated[_Text, Field(description="the sentence")]
_Beam = Annotated[int, Field(ge=1, le=20, description="hypotheses kept at each step")]
_LengthPenalty = Annotated[float, Field(ge=0, le=10, description="power of the length that divides a score")]

Part = Literal[
    "digits", "model", "source", "target", "window", "translation", "removed_heads", "attention", "rollout", "tokens",
    "methods", "left_out", "search", "sums", "classes", "notes",
]  # fmt: skip


class _RoutedRequest(Settings):
    """What every request has: the languages and the model."""

    source: str | None = Field(None, max_length=40, description="code of the source language, or auto; null: any")
    target: str | None = Field(None, max_length=40, description="code of the target language; null: any")
    model: str | None = Field(None, max_length=200, description="name of the model; null: the first that fits")


class ExplainRequest(_RoutedRequest):
    """The body of /v1/explain and /v1/explain/page."""

    text: _Sentence
    parts: tuple[Part, ...] | None = Field(None, max_length=20, description="parts of the answer; null: all")
    prefix: str | None = Field(None, max_length=_MAX_CHARACTERS, description="a beginning that the model continues")
    translation: str | None = Field(
        None, max_length=_MAX_CHARACTERS, description="explain this translation, not the model's own"
    )
    beam: _Beam = 1
    length_penalty: _LengthPenalty = 1.0
    hypothesis: int = Field(0, ge=0, le=19, description="another hypothesis of the beam than the best")
    alternatives: int = Field(5, ge=1, le=20, description="most probable tokens to list for each token")
    sums: tuple[str, ...] = Field((), max_length=64, description="heads whose queries, keys and values are wanted")
    projections: bool = Field(False, description="with sums: also the weights that make them")


class WhatIfRequest(_RoutedRequest):
    """The body of /v1/what-if."""

    text: _Sentence
    without: tuple[str, ...] = Field((), max_length=1000, description="heads to remove, such as encoder.2.*.head.5")
    uniform: tuple[str, ...] = Field((), max_length=1000, description="heads whose attention is made uniform")
    swap: dict[str, str] = Field(
        default_factory=dict, max_length=100, description="words and their replacements", examples=[{"river": "road"}]
    )
    patch: str | None = Field(None, max_length=100, description="an encoder layer whose states are replaced")
    from_sentence: str | None = Field(
        None, max_length=_MAX_CHARACTERS, description="with patch: the sentence that the states come from"
    )
    words: dict[str, str] = Field(
        default_factory=dict, max_length=100, description="with patch: words, and the words of the other sentence"
    )
    beam: _Beam = 1
    length_penalty: _LengthPenalty = 1.0


class CompareRequest(_RoutedRequest):
    """The body of /v1/compare."""

    texts: tuple[_Text, ...] = Field(min_length=2, max_length=2, description="two sentences")
    word: str | None = Field(None, max_length=200, description="the word to compare; null: the longest in both")


_SENTENCE = {"text": "The bank of the river.", "source": "en", "target": "es"}
_CALLS = (
    WorkerCall(
        "explain",
        "/v1/explain",
        ExplainRequest,
        "Explain a translation",
        "Explain a translation: the data of `clearhead explain`, whole or in parts.",
        {**_SENTENCE, "parts": ["source", "target", "tokens"]},
        {"clearhead_explanation": 2, "kind": "translation", "tokens": []},
    ),
    WorkerCall(
        "page",
        "/v1/explain/page",
        ExplainRequest,
        "Explain a translation on a page",
        "Explain a translation: the self-contained page of `clearhead explain`.",
        _SENTENCE,
        media_type="text/html",
        headers={"Content-Security-Policy": explanation_policy() + _SANDBOX},  # from files of the package, never a page
    ),
    WorkerCall(
        "what-if",
        "/v1/what-if",
        WhatIfRequest,
        "Change a model and translate",
        "Remove heads, swap words or patch states, and compare: the data of `clearhead.explain.what_if`.",
        {**_SENTENCE, "without": ["encoder.0.*.head.1"]},
        {"clearhead_what_if": 1, "before": "La orilla del río.", "after": "El banco del río."},
    ),
    WorkerCall(
        "compare",
        "/v1/compare",
        CompareRequest,
        "Compare a word in two sentences",
        "Compare the vectors of a word in two sentences: the data of a comparison by `clearhead explain`.",
        {"texts": ["The bank of the river.", "The bank is closed."], "word": "bank", "target": "es"},
        {"clearhead_comparison": 1, "word": "bank", "sides": []},
    ),
)


def make_router(server: Server) -> APIRouter:
    """Return the routes of explanations."""
    pool = _make_pool(server)
    server.at_stop(pool.stop)
    router = APIRouter(tags=["Explanations"])

    async def answer(call: WorkerCall, request: Request) -> bytes:
        if not server.settings.explain.is_enabled:
            raise ApiError(501, "explanations are switched off on this server.")
        body = await read_request(request, call.body, server.settings.limits.body_bytes)
        content = body.model_dump()
        model = await _routed(server, content)
        notes_of(request.scope)["model"] = model["model"]
        return await answer_by_worker(pool, request, {"call": call.name, **content, **model})

    for call in _CALLS:
        call.add_to(router, answer, _ERRORS)
    return router


def _make_pool(server: Server) -> WorkerPool:
    settings = server.settings
    minutes = settings.loading.idle_minutes
    limits = WorkerLimits(
        time_limit=settings.explain.time_limit,
        max_waiting=settings.explain.max_waiting,
        workers=settings.explain.workers,
        retry_after=settings.queue.retry_after,
        idle_seconds=None if minutes is None else 60 * minutes,
    )
    options = {"max_tokens": settings.explain.max_tokens, "device": settings.loading.device}
    return WorkerPool(WorkerJob("explain", "the explanation", options), limits)


async def _routed(server: Server, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the model of a request: its folder, its name, and the target language to set, if it has several."""
    source = request["source"] or None
    if source == "auto":
        texts = request["texts"] if "texts" in request else [request["text"]]
        source = (await server.detect(texts)).language
    route = server.catalogue.route(source, request["target"] or None, request["model"] or None)
    return {"path": str(route.model.path.absolute()), "model": route.model.name, "language": route.language}
