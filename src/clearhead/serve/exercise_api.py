"""Exercises over HTTP: /v1/exercises, /v1/solve and /v1/check, with the results of `clearhead solve` and `check`.

The routes of practice sheets, in `quiz_api.py`, share the processes.

Processes of their own compute them, with limits of time, memory and size, because the texts come from strangers.
"""

from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.quiz_api import add_quiz_routes
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.worker_process import WorkerJob, WorkerLimits, WorkerPool
from clearhead.serve.worker_route import answer_by_worker, json_bytes
from clearhead.settings import Settings

EXERCISE_LIMITS = WorkerLimits(time_limit=10.0, max_waiting=100, workers=2)
_MEMORY = 3 * 2**30  # bytes of address space of a process
_GRACE = 2.0  # seconds that a process has to say itself that the time is up, before it is killed
_ERRORS = (400, 413, 503, 504)

_PROBLEM = "kind: softmax\ntokens: [river, bank]\nscores: [1, 2]\n"
_WORKING = "problem: {kind: softmax, scores: [1, 2]}\nwritten:\n  weights: [0.27, 0.73]\n"


class SolveRequest(Settings):
    """The body of /v1/solve."""

    problem: str | dict[str, Any] = Field(description="an exercise: YAML or JSON text, its keys, or a gallery id")
    format: Literal["json", "html", "markdown", "latex", "latex-fragment"] = Field(
        "json", description="format of the sheet"
    )
    detail: Literal["results", "matrices", "products"] = Field(
        "matrices", description="only the results, every matrix, or also the calculation of every cell"
    )
    blank: tuple[str, ...] = Field((), max_length=100, description="cells to leave blank, such as A[2, *]")
    lines: Literal["exact", "rounded"] | None = Field(None, description="round only what is shown, or every line")
    decimals: int | None = Field(None, ge=0, le=15, description="number of decimals")
    significant: int | None = Field(None, ge=1, le=15, description="number of significant figures, not decimals")
    ties: Literal["half-up", "half-even"] | None = Field(None, description="how ties such as 0.125 are rounded")
    with_problem: bool = Field(False, description="whether the answer has the keys of the exercise, as `problem`")


class CheckRequest(Settings):
    """The body of /v1/check."""

    working: str = Field(min_length=1, description="a student's written calculation; a spreadsheet in base64")
    format: Literal["yaml", "json", "md", "tex", "txt", "html", "csv", "tsv", "xlsx"] = Field(
        "yaml", description="format of the working"
    )
    problem: str | dict[str, Any] | None = Field(
        None, description="the exercise, if the working does not contain it: text, keys, or a gallery id"
    )
    result_format: Literal["json", "html", "markdown"] = Field("json", description="format of the report")
    strict_rounding: bool = Field(False, description="count truncated and badly rounded numbers as errors")


def make_router(server: Server, limits: WorkerLimits = EXERCISE_LIMITS) -> APIRouter:
    """Return the routes of exercises."""
    job = WorkerJob("exercise", "the exercise", {"seconds": limits.time_limit, "memory": _MEMORY})
    pool = WorkerPool(job, replace(limits, time_limit=limits.time_limit + _GRACE))
    server.at_stop(pool.stop)
    router = APIRouter(tags=["Exercises"])
    catalogue: list[bytes] = []  # the answer of /v1/exercises, which never changes

    @router.get("/v1/exercises", **documented("Kinds of exercises", answer={"kinds": []}, errors=(503, 504)))
    async def exercises(request: Request) -> Response:
        """Return every kind of exercise with its fields and an example, the gallery, and the built-in workings."""
        if not catalogue:
            catalogue.append(await pool.answer({"call": "exercises"}))
        return json_bytes(catalogue[0])

    @router.post(
        "/v1/solve",
        **documented(
            "Solve an exercise",
            body=BodyExample.of(SolveRequest, {"problem": _PROBLEM, "format": "markdown"}),
            answer={"format": "markdown", "result": "# Softmax …"},
            errors=_ERRORS,
        ),
    )
    async def solve(request: Request) -> Response:
        """Solve an exercise: the sheet of `clearhead solve`, in any of its formats."""
        body = await read_request(request, SolveRequest, server.settings.limits.body_bytes)
        return json_bytes(await answer_by_worker(pool, request, {"call": "solve", **body.model_dump()}))

    @router.post(
        "/v1/check",
        **documented(
            "Mark a working",
            body=BodyExample.of(CheckRequest, {"working": _WORKING, "result_format": "html"}),
            answer={"format": "html", "result": "<!doctype html>…", "is_right": True},
            errors=_ERRORS,
        ),
    )
    async def check(request: Request) -> Response:
        """Mark a working line by line: the report of `clearhead check`; no file of the server can be named."""
        body = await read_request(request, CheckRequest, server.settings.limits.body_bytes)
        return json_bytes(await answer_by_worker(pool, request, {"call": "check", **body.model_dump()}))

    add_quiz_routes(router, server, pool)
    return router
