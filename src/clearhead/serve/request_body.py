"""Read the body of a request, with all mistakes in one answer, never a framework's own error.

Our own calls take JSON, which becomes settings; clients of LibreTranslate send JSON, a form or a query string.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from clearhead.serve.api_errors import ApiError
from clearhead.settings import REQUEST_WORDING, Settings, read_settings

S = TypeVar("S", bound=Settings)
_FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_MAX_FIELDS = 100


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
        raise _disconnected() from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


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
    return read_settings(cls, parse_object(await read_bytes(request, limit)), wording=REQUEST_WORDING)


def media_type(request: Request) -> str:
    """Return the media type of the body, without its parameters; an empty text if there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_fields(request: Request, limit: int) -> Mapping[str, Any]:
    """Return the fields of a request: of a JSON object, or else those of the form and the query string together."""
    kind = media_type(request)
    if kind == MULTIPART:
        return {**request.query_params, **await _multipart_texts(request, limit)}
    body = await read_bytes(request, limit)
    if kind == "application/json" or kind.endswith("+json"):
        return parse_object(body)
    fields = dict(request.query_params)
    if body and kind in (_FORM, ""):
        if kind == "" and body.lstrip()[:1] == b"{":
            return parse_object(body)
        fields |= _form(body)
    elif body:
        raise ApiError(415, f"the body must be JSON or a form ({_FORM}), not '{kind}'.")
    return fields


def _form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; of a repeated field the first one counts."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="replace")
    except (UnicodeDecodeError, ValueError):
        raise ApiError(
            400, f"the body is not a form: {_FORM} has ASCII characters and at most {_MAX_FIELDS} fields."
        ) from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields


async def _multipart_texts(request: Request, limit: int) -> dict[str, str]:
    """Return the fields of a multipart form that are texts."""
    form = await read_form(request, limit)
    try:
        return {name: value for name, value in form.items() if isinstance(value, str)}
    finally:
        await form.close()  # a file that nobody wanted


async def read_form(request: Request, limit: int) -> FormData:
    """Return the fields and the file of a multipart form, or raise ApiError 400, or 413 if it is too large."""
    check_length(request, limit)
    size = 0

    async def receive() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise too_large(limit)
        return message

    try:
        form = await Request(request.scope, receive).form(max_files=1, max_fields=_MAX_FIELDS)
    except HTTPException as error:
        raise ApiError(400, f"the form cannot be read: {error.detail}") from None
    except UnicodeError:  # a charset of Python that is no charset of texts, such as punycode
        raise _not_utf8() from None
    except ClientDisconnect:
        raise _disconnected() from None
    try:
        for _, value in form.multi_items():
            text = value if isinstance(value, str) else value.filename or ""
            text.encode()  # UTF-7 and others can produce characters that no answer can contain
    except UnicodeError:
        await form.close()
        raise _not_utf8() from None
    return form


def _disconnected() -> ApiError:
    return ApiError(400, "the client closed the connection before the request was complete.")


def _not_utf8() -> ApiError:
    return ApiError(400, "the form cannot be read: its texts and its file's name are not UTF-8.")
