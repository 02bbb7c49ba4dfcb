"""The fields of a request that may be JSON, a form or a query string, as clients of LibreTranslate send all three."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from clearhead.serve.api_errors import ApiError
from clearhead.serve.request_body import check_length, parse_object, read_bytes, too_large

_FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_MAX_FIELDS = 100


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
        raise ApiError(400, "the client closed the connection before the request was complete.") from None
    try:
        for _, value in form.multi_items():
            text = value if isinstance(value, str) else value.filename or ""
            text.encode()  # UTF-7 and others can produce characters that no answer can contain
    except UnicodeError:
        await form.close()
        raise _not_utf8() from None
    return form


def _not_utf8() -> ApiError:
    return ApiError(400, "the form cannot be read: its texts and its file's name are not UTF-8.")
