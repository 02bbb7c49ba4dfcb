"""Practice over HTTP: /v1/quiz draws a sheet and /v1/quiz/mark marks what is written on it.

The processes of the exercises compute them. The server keeps nothing about a student: a sheet is its number.
"""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from clearhead.quiz.request import MAX_DECIMALS, MAX_SEED, MAX_VARIANT, MIN_DECIMALS
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.request_body import read_request
from clearhead.serve.server import Server
from clearhead.serve.worker_process import WorkerPool
from clearhead.serve.worker_route import answer_by_worker, json_bytes
from clearhead.settings import Settings

_ERRORS = (400, 413, 503, 504)
_NUMBER = "softmax-2-7-01-v1-A"
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]


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


def add_quiz_routes(router: APIRouter, server: Server, pool: WorkerPool) -> None:
    """Add the routes of practice sheets to those of the exercises, whose processes they use."""
    catalogue: list[bytes] = []  # the answer of GET /v1/quiz, which never changes

    @router.get("/v1/quiz", **documented("Kinds of practice sheets", answer={"kinds": []}, errors=(503, 504)))
    async def kinds(request: Request) -> Response:
        """Return the kinds of exercises that practice sheets can be drawn of, and the difficulties."""
        if not catalogue:
            catalogue.append(await pool.answer({"call": "quiz_kinds"}))
        return json_bytes(catalogue[0])

    @router.post(
        "/v1/quiz",
        **documented(
            "Draw a practice sheet",
            body=BodyExample.of(QuizDrawRequest, {"kind": "softmax", "difficulty": 2, "seed": 7}),
            answer={"number": _NUMBER, "givens": [], "lines": []},
            errors=_ERRORS,
        ),
    )
    async def draw(request: Request) -> Response:
        """Draw a practice sheet, or the sheet of a number; without its solution, unless that is requested."""
        body = await read_request(request, QuizDrawRequest, server.settings.limits.body_bytes)
        return json_bytes(await answer_by_worker(pool, request, {"call": "quiz", **body.model_dump()}))

    @router.post(
        "/v1/quiz/mark",
        **documented(
            "Mark a practice sheet",
            body=BodyExample.of(QuizMarkRequest, {"number": _NUMBER, "lines": {"A": [["0.27", "0.73"]]}}),
            answer={"number": _NUMBER, "marks": {"earned": 2.0, "out_of": 2.0}, "is_right": True, "errors": []},
            errors=_ERRORS,
        ),
    )
    async def mark(request: Request) -> Response:
        """Mark what is written on a sheet, with errors carried forward; without the right numbers, unless requested."""
        body = await read_request(request, QuizMarkRequest, server.settings.limits.body_bytes)
        return json_bytes(await answer_by_worker(pool, request, {"call": "quiz_mark", **body.model_dump()}))
