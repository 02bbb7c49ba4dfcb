"""The OpenAPI documentation of a call: a request body from its settings, an example, and every status it can have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clearhead.settings import Settings

_STATUSES = {
    400: "The request is wrong; the sentence says what and where.",
    401: "A key is required.",
    403: "The key is not valid.",
    404: "There is no such thing.",
    405: "The method is not allowed here.",
    413: "The request is too large.",
    415: "The format of the request or of the document is not supported.",
    429: "Too many requests for this key or client; Retry-After says when to try again.",
    501: "The server cannot explain: PyTorch is not installed, or explanations are switched off.",
    503: "The queue is full, or a model cannot be loaded; Retry-After says when to try again.",
    504: "The time limit of a request has passed.",
}
_EXAMPLES = {501: "explanations are switched off on this server."}  # of an error, other than its description
KEY_ERRORS = (401, 403, 429)
_ERROR_SCHEMA = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


@dataclass(frozen=True)
class BodyExample:
    """The body of a request: its schema, an example, and the media types in which it is accepted."""

    schema: dict[str, Any]
    example: Any
    media_types: tuple[str, ...] = ("application/json",)

    @staticmethod
    def of(cls: type[Settings], example: Any) -> "BodyExample":
        """Return the body that is validated by settings."""
        schema = cls.model_json_schema()
        return BodyExample(_resolved(schema, schema.pop("$defs", {})), example)


def _resolved(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema in which references to definitions are replaced by them, so that it is complete in itself."""
    if isinstance(schema, list):
        return [_resolved(entry, definitions) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _resolved(value, definitions) for name, value in schema.items()}


def without_framework_errors(description: dict[str, Any]) -> dict[str, Any]:
    """Remove the status 422 from an OpenAPI description: FastAPI adds it, but no answer has it."""
    for operations in description.get("paths", {}).values():
        for operation in operations.values():
            operation.get("responses", {}).pop("422", None)
    schemas = description.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return description


def documented(
    summary: str,
    *,
    answer: Any = None,
    body: BodyExample | None = None,
    errors: Sequence[int] = (),
    media_type: str = "application/json",
) -> dict[str, Any]:
    """Return the keyword arguments of a route: `@router.post("/v1/score", **documented(...))`.

    `answer` is an example of a successful answer, `errors` are the other statuses of this call in addition to those of
    keys and rates, which every call has.
    """
    success: dict[str, Any] = {"description": "The answer."}
    if media_type != "application/json":
        success["content"] = {media_type: {"schema": {"type": "string"}}}
    elif answer is not None:
        success["content"] = {media_type: {"schema": {}, "example": answer}}
    responses: dict[int | str, dict[str, Any]] = {200: success}
    for code in sorted({*errors, *KEY_ERRORS}):
        example = {"error": _EXAMPLES.get(code, _STATUSES[code])}
        content = {"application/json": {"schema": _ERROR_SCHEMA, "example": example}}
        responses[code] = {"description": _STATUSES[code], "content": content}
    extra: dict[str, Any] = {}
    if body is not None:
        content = {name: {"schema": body.schema, "example": body.example} for name in body.media_types}
        extra = {"requestBody": {"required": True, "content": content}}
    return {
        "summary": summary,
        "responses": responses,
        "openapi_extra": extra,
        "response_model": None,
    }
