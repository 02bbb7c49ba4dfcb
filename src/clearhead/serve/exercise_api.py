"""Exercises over HTTP: /v1/exercises, /v1/solve and /v1/check, with the results of `clearhead solve` and `check`.

/v1/quiz draws a practice sheet and /v1/quiz/mark marks what is written on it. The server keeps nothing about a student:
a sheet is its number. Processes of their own compute all this, with limits of time, memory and size, because the texts
come from strangers.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from clearhead.quiz.request import MAX_DECIMALS, MAX_SEED, MAX_VARIANT, MIN_DECIMALS
from clearhead.serve.api_documentation import documented
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.worker_calls import WorkerCall, answer_by_worker, json_bytes
from clearhead.serve.worker_process import WorkerJob, WorkerLimits, WorkerPool
from clearhead.settings import Settings

EXERCISE_LIMITS = WorkerLimits(time_limit=10.0, max_waiting=100, workers=2)
_MEMORY = 3 * 2**30  # bytes of address space of a process
_GRACE = 2.0  # seconds that a process has to say itself that the time is up, before it is killed
_ERRORS = (400, 413, 503, 504)
_NUMBER = "softmax-2-7-01-v1-A"
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]

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


class QuizDrawRequest(Settings):
    """The body of /v1/quiz."""

    number: _Name | None = Field(None, description="the number of a sheet, to get the same sheet again")
    kind: _Name | None = Field(None, description="the kind of exercise, if there is no number")
    difficulty: int = Field(1, ge=1, le=3, description="1, 2 or 3")
    seed: int = Field(0, ge=0, le=MAX_SEED, description="another seed gives other sheets")
    variant: int = Field(1, ge=1, le=MAX_VARIANT, description="which sheet of the seed")
    blanks: Literal["all", "row", "hard"] = Field("all", description="the cells to fill in")
    decimals: int | None = Field(
        None, ge=MIN_DECIMALS, le=MAX_DECIMALS, description="number of decimals, instead of that of the difficulty"
    )
    tells_apart: _Name | None = Field(
        None, description="a misconception that the sheet should tell from the right rule, if one of the variants does"
    )
    with_solution: bool = Field(False, description="whether the answer has the solution of the sheet")
    with_page: bool = Field(False, description="whether the answer has the sheet as a page that marks itself")


class QuizMarkRequest(Settings):
    """The body of /v1/quiz/mark."""

    number: _Name = Field(description="the number of the sheet")
    lines: dict[str, tuple[tuple[str, ...], ...]] = Field(
        description="the cells of every line as text, row by row; an empty text where nothing was written"
    )
    strict_rounding: bool = Field(False, description="count truncated and badly rounded numbers as errors")
    with_solution: bool = Field(False, description="whether the answer has the solution and the complete report")


_CALLS = (
    WorkerCall(
        "solve",
        "/v1/solve",
        SolveRequest,
        "Solve an exercise",
        "Solve an exercise: the sheet of `clearhead solve`, in any of its formats.",
        {"problem": _PROBLEM, "format": "markdown"},
        {"format": "markdown", "result": "# Softmax …"},
    ),
    WorkerCall(
        "check",
        "/v1/check",
        CheckRequest,
        "Mark a working",
        "Mark a working line by line: the report of `clearhead check`; no file of the server can be named.",
        {"working": _WORKING, "result_format": "html"},
        {"format": "html", "result": "<!doctype html>…", "is_right": True},
    ),
    WorkerCall(
        "draw",
        "/v1/quiz",
        QuizDrawRequest,
        "Draw a practice sheet",
        "Draw a practice sheet, or the sheet of a number; without its solution, unless that is requested.",
        {"kind": "softmax", "difficulty": 2, "seed": 7},
        {"number": _NUMBER, "givens": [], "lines": []},
    ),
    WorkerCall(
        "mark",
        "/v1/quiz/mark",
        QuizMarkRequest,
        "Mark a practice sheet",
        "Mark what is written on a sheet, with errors carried forward; without the right numbers, unless requested.",
        {"number": _NUMBER, "lines": {"A": [["0.27", "0.73"]]}},
        {"number": _NUMBER, "marks": {"earned": 2.0, "out_of": 2.0}, "is_right": True, "errors": []},
    ),
)


def make_router(server: Server, limits: WorkerLimits = EXERCISE_LIMITS) -> APIRouter:
    """Return the routes of exercises."""
    job = WorkerJob("exercise", "the exercise", {"seconds": limits.time_limit, "memory": _MEMORY})
    pool = WorkerPool(job, replace(limits, time_limit=limits.time_limit + _GRACE))
    server.at_stop(pool.stop)
    router = APIRouter(tags=["Exercises"])
    catalogues: dict[str, bytes] = {}  # the answers without a body, which never change

    async def catalogue(call: str) -> Response:
        if call not in catalogues:
            catalogues[call] = await pool.answer({"call": call})
        return json_bytes(catalogues[call])

    @router.get("/v1/exercises", **documented("Kinds of exercises", answer={"kinds": []}, errors=(503, 504)))
    async def exercises(request: Request) -> Response:
        """Return every kind of exercise with its fields and an example, the gallery, and the built-in workings."""
        return await catalogue("exercises")

    @router.get("/v1/quiz", **documented("Kinds of practice sheets", answer={"kinds": []}, errors=(503, 504)))
    async def kinds(request: Request) -> Response:
        """Return the kinds of exercises that practice sheets can be drawn of, and the difficulties."""
        return await catalogue("kinds")

    async def answer(call: WorkerCall, request: Request) -> bytes:
        body = await read_request(request, call.body, server.settings.limits.body_bytes)
        return await answer_by_worker(pool, request, {"call": call.name, **body.model_dump()})

    for call in _CALLS:
        call.add_to(router, answer, _ERRORS)
    return router
