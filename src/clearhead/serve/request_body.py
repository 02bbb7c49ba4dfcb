"""Read the body of a request: JSON into settings, with all mistakes in one answer, never a framework's own error."""

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from starlette.requests import ClientDisconnect, Request

from clearhead.serve.api_errors import ApiError
from clearhead.settings import REQUEST_WORDING, Settings, read_settings

S = TypeVar("S", bound=Settings)


def too_large(limit: int) -> ApiError:
    """Return the error for a body that is larger than a number of bytes."""
    return ApiError(413, f"the body of the request is larger than the maximum of {limit:,} bytes. Send less.")


def announced_length(request: Request, unknown: int) -> int:
    """Return the number of bytes of the body as the client announces it, or `unknown`."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else unknown


def check_length(request: Request, limit: int) -> None:
    """Raise ApiError 413 if a request announces a larger body."""
    if announced_length(request, 0) > limit:
        raise too_large(limit)


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the body, or raise ApiError 413 as soon as it is larger than the limit."""
    check_length(request, limit)
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            chunks.append(chunk)
    except ClientDisconnect:
        raise ApiError(400, "the client closed the connection before the request was complete.") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def read_object(request: Request, limit: int) -> Mapping[str, Any]:
    """Return the JSON object in the body, or raise ApiError 400."""
    return parse_object(await read_bytes(request, limit))


def parse_object(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a body, or raise ApiError 400."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        raise ApiError(400, f"the body of the request is not JSON: {wrong}.") from None
    if not isinstance(content, dict):
        raise ApiError(400, "the body of the request is JSON, but not an object. Write {...}.")
    return content


async def read_request(request: Request, cls: type[S], limit: int) -> S:
    """Return the JSON body as validated settings, or raise ApiError 400, 413, or ConfigError with all mistakes."""
    return read_settings(cls, await read_object(request, limit), wording=REQUEST_WORDING)
