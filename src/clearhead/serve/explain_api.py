"""Explanations over HTTP: /v1/explain, /v1/explain/page, /v1/what-if and /v1/compare.

A process of its own computes them, so that no translation waits for them in the queue: it has a queue with a limit, a
limit of tokens and of time, and is started again if it ends. Status 501 says that PyTorch is not installed.
"""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from clearhead.explain.page.page import explanation_policy
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.worker_process import WorkerJob, WorkerLimits, WorkerPool
from clearhead.serve.worker_route import answer_by_worker, json_bytes
from clearhead.settings import Settings

_ERRORS = (400, 404, 413, 503, 504)
_NOT_INSTALLED = {
    "description": "The server cannot explain: PyTorch is not installed, or explanations are switched off.",
    "content": {
        "application/json": {
            "schema": {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]},
            "example": {"error": "explanations are switched off on this server."},
        }
    },
}
# a page belongs to no origin, so that its script can neither call this server nor read its other pages
_SANDBOX = "; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads"
_MAX_CHARACTERS = 4000  # of a sentence, far more than its tokens may have

Part = Literal[
    "digits", "model", "source", "target", "window", "translation", "removed_heads", "attention", "rollout", "tokens",
    "methods", "left_out", "search", "sums", "classes", "notes",
]  # fmt: skip


class _RoutedRequest(Settings):
    """What every request has: the languages and the model."""

    source: str | None = Field(None, max_length=40, description="code of the source language, or auto; null: any")
    target: str | None = Field(None, max_length=40, description="code of the target language; null: any")
    model: str | None = Field(None, max_length=200, description="name of the model; null: the first that fits")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts in the source language."""
        raise NotImplementedError


class ExplainRequest(_RoutedRequest):
    """The body of /v1/explain and /v1/explain/page."""

    text: str = Field(max_length=_MAX_CHARACTERS, description="the sentence")
    parts: tuple[Part, ...] | None = Field(None, max_length=20, description="parts of the answer; null: all")
    prefix: str | None = Field(None, max_length=_MAX_CHARACTERS, description="a beginning that the model continues")
    translation: str | None = Field(
        None, max_length=_MAX_CHARACTERS, description="explain this translation, not the model's own"
    )
    beam: int = Field(1, ge=1, le=20, description="hypotheses kept at each step")
    length_penalty: float = Field(1.0, ge=0, le=10, description="power of the length that divides a score")
    hypothesis: int = Field(0, ge=0, le=19, description="another hypothesis of the beam than the best")
    alternatives: int = Field(5, ge=1, le=20, description="most probable tokens to list for each token")
    sums: tuple[str, ...] = Field((), max_length=64, description="heads whose queries, keys and values are wanted")
    projections: bool = Field(False, description="with sums: also the weights that make them")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts in the source language."""
        return (self.text,)


class WhatIfRequest(_RoutedRequest):
    """The body of /v1/what-if."""

    text: str = Field(max_length=_MAX_CHARACTERS, description="the sentence")
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
    beam: int = Field(1, ge=1, le=20, description="hypotheses kept at each step")
    length_penalty: float = Field(1.0, ge=0, le=10, description="power of the length that divides a score")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts in the source language."""
        return (self.text,)


class CompareRequest(_RoutedRequest):
    """The body of /v1/compare."""

    texts: tuple[Annotated[str, Field(max_length=_MAX_CHARACTERS)], ...] = Field(
        min_length=2, max_length=2, description="two sentences"
    )
    word: str | None = Field(None, max_length=200, description="the word to compare; null: the longest in both")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts in the source language."""
        return self.texts


def make_router(server: Server) -> APIRouter:
    """Return the routes of explanations."""
    pool = _make_pool(server)
    server.at_stop(pool.stop)
    router = APIRouter(tags=["Explanations"])
    limit = server.settings.limits.body_bytes
    policy = explanation_policy() + _SANDBOX  # from the files of the package, never from a page
    sentence = {"text": "The bank of the river.", "source": "en", "target": "es"}

    async def answer(call: str, request: Request, cls: type[_RoutedRequest]) -> bytes:
        if not server.settings.explain.is_enabled:
            raise ApiError(501, "explanations are switched off on this server.")
        body = await read_request(request, cls, limit)
        model = await _routed(server, body)
        notes_of(request.scope)["model"] = model["model"]
        return await answer_by_worker(pool, request, {"call": call, **body.model_dump(), **model})

    @router.post(
        "/v1/explain",
        **_documented(
            "Explain a translation",
            body=BodyExample.of(ExplainRequest, {**sentence, "parts": ["source", "target", "tokens"]}),
            answer={"clearhead_explanation": 2, "kind": "translation", "tokens": []},
        ),
    )
    async def explain(request: Request) -> Response:
        """Explain a translation: the data of `clearhead explain`, whole or in parts."""
        return json_bytes(await answer("explain", request, ExplainRequest))

    @router.post(
        "/v1/explain/page",
        **_documented(
            "Explain a translation on a page", body=BodyExample.of(ExplainRequest, sentence), media_type="text/html"
        ),
    )
    async def page(request: Request) -> Response:
        """Explain a translation: the self-contained page of `clearhead explain`."""
        content = await answer("page", request, ExplainRequest)
        return Response(content, media_type="text/html", headers={"Content-Security-Policy": policy})

    @router.post(
        "/v1/what-if",
        **_documented(
            "Change a model and translate",
            body=BodyExample.of(WhatIfRequest, {**sentence, "without": ["encoder.0.*.head.1"]}),
            answer={"clearhead_what_if": 1, "before": "La orilla del río.", "after": "El banco del río."},
        ),
    )
    async def what_if(request: Request) -> Response:
        """Remove heads, swap words or patch states, and compare: the data of `clearhead.explain.what_if`."""
        return json_bytes(await answer("what-if", request, WhatIfRequest))

    @router.post(
        "/v1/compare",
        **_documented(
            "Compare a word in two sentences",
            body=BodyExample.of(
                CompareRequest,
                {"texts": ["The bank of the river.", "The bank is closed."], "word": "bank", "target": "es"},
            ),
            answer={"clearhead_comparison": 1, "word": "bank", "sides": []},
        ),
    )
    async def compare(request: Request) -> Response:
        """Compare the vectors of a word in two sentences: the data of a comparison by `clearhead explain`."""
        return json_bytes(await answer("compare", request, CompareRequest))

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


def _documented(summary: str, **details: Any) -> dict[str, Any]:
    """Return the documentation of a route, with the status 501 of a server that cannot explain."""
    arguments = documented(summary, errors=_ERRORS, **details)
    arguments["responses"][501] = _NOT_INSTALLED
    return arguments


async def _routed(server: Server, body: _RoutedRequest) -> Mapping[str, Any]:
    """Return the model of a request: its folder, its name, and the target language to set, if it has several."""
    source = body.source or None
    if source == "auto":
        loop = asyncio.get_running_loop()
        detected = await loop.run_in_executor(server.threads, server.detector.detect_all, list(body.sentences))
        source = detected.language
    route = server.catalogue.route(source, body.target or None, body.model or None)
    return {"path": str(route.model.path.absolute()), "model": route.model.name, "language": route.language}
