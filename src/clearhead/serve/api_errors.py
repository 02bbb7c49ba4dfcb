"""Errors of the API: each has a status and one sentence, and every answer to an error is {"error": sentence}."""

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from clearhead.errors import ClearheadError, printable

_MAX_CHARACTERS = 2000  # of a sentence, which can quote the request


class ApiError(Exception):
    """A request that is answered by a status other than 200; `retry_after` is a number of seconds."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


def stopping_error() -> ApiError:
    """Return the error for a request that the server cannot finish, because it stops."""
    return ApiError(503, "the server is stopping and could not finish this request. Try again later.", retry_after=10)


class JsonResponse(Response):
    """A response of JSON, written by orjson; numbers that are not finite are null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as bytes."""
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


def error_response(status: int, sentence: str, retry_after: int | None = None) -> JsonResponse:
    """Return the answer to a request that failed."""
    headers: Mapping[str, str] | None = None if retry_after is None else {"Retry-After": str(retry_after)}
    shown = "\n".join(printable(line) for line in sentence[:_MAX_CHARACTERS].split("\n"))
    return JsonResponse({"error": shown}, status, headers)


async def answer_api_error(request: Request, error: Exception) -> Response:
    """Answer an ApiError, or a ClearheadError (bad input: 400)."""
    if isinstance(error, ApiError):
        return error_response(error.status, error.sentence, error.retry_after)
    assert isinstance(error, ClearheadError)
    return error_response(400, str(error).replace("\n", " "))
