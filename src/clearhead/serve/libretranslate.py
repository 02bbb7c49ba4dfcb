"""The API of LibreTranslate: the same paths, fields, statuses and error bodies, so that its clients work unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.access import client_of, header_key
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError, JsonResponse
from clearhead.serve.catalogue import Route, language_name
from clearhead.serve.detection import detect_sources
from clearhead.serve.document_translation import DocumentTarget, document_formats, translate_html
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import read_fields
from clearhead.serve.server import Server
from clearhead.serve.translation_task import TranslatedText, TranslationTask

_MEDIA_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_TEXT = {"type": "string"}
_TRANSLATE = BodyExample(
    {
        "type": "object",
        "required": ["q", "source", "target"],
        "properties": {
            "q": {"oneOf": [_TEXT, {"type": "array", "items": _TEXT}], "description": "Text or texts to translate."},
            "source": {**_TEXT, "description": "Code of the source language, or auto."},
            "target": {**_TEXT, "description": "Code of the target language."},
            "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
            "alternatives": {"type": "integer", "minimum": 0, "default": 0},
            "api_key": _TEXT,
        },
    },
    {"q": "Let's go", "source": "en", "target": "es", "format": "text", "alternatives": 0},
    _MEDIA_TYPES,
)
_DETECT = BodyExample(
    {"type": "object", "required": ["q"], "properties": {"q": _TEXT, "api_key": _TEXT}}, {"q": "Vamos"}, _MEDIA_TYPES
)
_SUGGEST = BodyExample(
    {"type": "object"}, {"q": "Let's go", "s": "Vamos", "source": "en", "target": "es"}, _MEDIA_TYPES
)
_LANGUAGES = [{"code": "en", "name": "English", "targets": ["es", "hi", "bn"]}]
_SETTINGS = {"charLimit": 100_000, "frontendTimeout": 500, "apiKeys": False, "keyRequired": False}


@dataclass(frozen=True)
class LibreRequest:
    """A validated call of /translate."""

    texts: list[str]
    is_list: bool
    source: str
    target: str
    is_html: bool
    num_alternatives: int

    @staticmethod
    def of(fields: Mapping[str, Any], most: int) -> "LibreRequest":
        """Validate the fields, or raise ApiError 400 with the sentence of LibreTranslate."""
        texts, source, target = (required_field(fields, name) for name in ("q", "source", "target"))
        is_list = isinstance(texts, list)
        texts = texts if is_list else [texts]
        if not all(isinstance(text, str) for text in texts):
            raise ApiError(400, "Invalid request: q parameter is not a text or a list of texts")
        for name, value in (("source", source), ("target", target)):
            if not isinstance(value, str):
                raise ApiError(400, f"Invalid request: {name} parameter is not a text")
        style = fields.get("format") or "text"
        if style not in ("text", "html"):
            raise ApiError(400, f"{style if isinstance(style, str) else 'This'} format is not supported")
        return LibreRequest(texts, is_list, source, target, style == "html", _num_alternatives(fields, most))


def required_field(fields: Mapping[str, Any], name: str) -> Any:
    """Return a field of a request, or raise ApiError 400 with the sentence of LibreTranslate if it is missing."""
    value = fields.get(name)
    if not value:
        raise ApiError(400, f"Invalid request: missing {name} parameter")
    return value


def _num_alternatives(fields: Mapping[str, Any], most: int) -> int:
    try:
        number = int(fields.get("alternatives") or 0)
    except (TypeError, ValueError, OverflowError):
        raise ApiError(400, "Invalid request: alternatives parameter is not a number") from None
    if number > most:
        raise ApiError(400, f"Invalid request: alternatives parameter must be <= {most}")
    return max(0, number)


class LibreTranslate:
    """The calls of LibreTranslate."""

    def __init__(self, server: Server) -> None:
        self.server = server
        catalogue = server.catalogue
        self.languages = [
            {"code": code, "name": language_name(code), "targets": sorted(catalogue.targets_of(code))}
            for code in catalogue.codes
        ]

    async def fields(self, request: Request) -> Mapping[str, Any]:
        """Read the fields of a request, and check its key as LibreTranslate does."""
        fields = await read_fields(request, self.server.settings.limits.body_bytes)
        self.check_key(request, fields)
        return fields

    def check_key(self, request: Request, fields: Mapping[str, Any], advice: str = "") -> None:
        """Raise ApiError 400 (no key), 403 (invalid key) or 429 (too many requests).

        A key in the headers or in the query was checked before the fields were read.
        """
        if header_key(request):
            return
        key = fields.get("api_key")
        try:
            self.server.access.check(request, key if isinstance(key, str) else "")
        except ApiError as error:
            if error.status == 401:
                raise ApiError(400, f"Please contact the server operator to get an API key{advice}") from None
            raise

    async def translate(self, request: Request) -> Response:
        """Translate a text or a list of texts."""
        limits = self.server.settings.limits
        wanted = LibreRequest.of(await self.fields(request), limits.beam - 1)
        self.server.check_texts(wanted.texts)
        notes_of(request.scope)["texts"] = len(wanted.texts)
        detected = None
        if wanted.source == "auto":
            self.check_codes(wanted.target)
            detected = await detect_sources(self.server, wanted.texts, wanted.target)
        groups = {wanted.source: list(range(len(wanted.texts)))} if detected is None else detected.groups
        results: dict[int, list[str]] = {}
        for source, places in groups.items():
            texts = [wanted.texts[place] for place in places]
            results.update(zip(places, await self._translated(request, wanted, source, texts), strict=True))
        columns = {"translatedText": [results[place][0] for place in range(len(wanted.texts))]}
        answer: dict[str, Any] = dict(columns)
        if detected is not None:
            answer["detectedLanguage"] = [language.record for language in detected.languages]
        if wanted.num_alternatives:
            answer["alternatives"] = [results[place][1:] for place in range(len(wanted.texts))]
        return JsonResponse(answer if wanted.is_list else {name: column[0] for name, column in answer.items()})

    async def _translated(
        self, request: Request, wanted: LibreRequest, source: str, texts: list[str]
    ) -> list[list[str]]:
        """Return the translation of each text of one language and its alternatives, which HTML does not have."""
        if source == wanted.target:
            self.check_codes(source)
            return [[text] for text in texts]
        route = self.route(source, wanted.target)
        notes_of(request.scope)["model"] = route.model.name
        if wanted.is_html:
            target = DocumentTarget(self.server, route.source, route.target, client=client_of(request))
            return [[await translate_html(target, text)] for text in texts]
        number = wanted.num_alternatives + 1
        task = TranslationTask(route, max(number, self.server.settings.beam), number)
        translated = await self.server.batcher.translate(task, texts, client_of(request))
        return [_distinct_texts(text, number) for text in translated]

    def check_codes(self, *codes: str) -> None:
        """Raise ApiError 400 with the sentence of LibreTranslate if a language is not served."""
        for code in codes:
            if code not in (codes := self.server.catalogue.codes):
                raise ApiError(400, f"{code} is not supported. Languages: {', '.join(codes)}.")

    def route(self, source: str, target: str) -> Route:
        """Return the model for two codes, or raise ApiError 400 with the sentence of LibreTranslate."""
        catalogue = self.server.catalogue
        self.check_codes(source, target)
        if target not in catalogue.targets_of(source):
            raise ApiError(
                400,
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})",
            )
        return catalogue.route(source, target)

    async def detect(self, request: Request) -> Response:
        """Detect the language of a text."""
        text = required_field(await self.fields(request), "q")
        texts = text if isinstance(text, list) else [text]
        if not all(isinstance(item, str) for item in texts):
            raise ApiError(400, "Invalid request: q parameter is not a text")
        self.server.check_texts(texts)
        languages = await self.server.in_thread(self.server.detector.detect, " ".join(texts))
        return JsonResponse([language.record for language in languages])

    @property
    def frontend_settings(self) -> dict[str, Any]:
        """What LibreTranslate tells its own pages."""
        settings, first = self.server.settings, self.server.catalogue.models[0].directions[0]
        return {
            "charLimit": settings.limits.characters,
            "frontendTimeout": 500,
            "apiKeys": settings.keys.file is not None,
            "keyRequired": settings.keys.is_required,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": document_formats(),
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": first.target, "name": language_name(first.target)},
            },
        }


def _distinct_texts(text: TranslatedText, number: int) -> list[str]:
    """Return the translations of a text, best first, without repetitions."""
    return list(dict.fromkeys(text.text_of(rank) for rank in range(min(number, text.num_texts))))


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["LibreTranslate"])
    api = LibreTranslate(server)
    answer = {"translatedText": "Vamos"}
    translating = documented(
        "Translate a text or a list of texts", answer=answer, body=_TRANSLATE, errors=(400, 413, 415, 503, 504)
    )
    detected = [{"confidence": 98.2, "language": "es"}]
    detecting = documented("Detect the language of a text", answer=detected, body=_DETECT, errors=(400, 413, 415))

    @router.post("/translate", **translating)
    async def translate(request: Request) -> Response:
        return await api.translate(request)

    @router.post("/detect", **detecting)
    async def detect(request: Request) -> Response:
        return await api.detect(request)

    listing = documented("List the languages and their targets", answer=_LANGUAGES, errors=(400, 413, 415))

    @router.get("/languages", **listing)
    async def languages(request: Request) -> Response:
        await api.fields(request)  # libretranslatepy sends its key in the body, although this is a GET
        return JsonResponse(api.languages)

    @router.get("/frontend/settings", **documented("The settings of LibreTranslate's pages", answer=_SETTINGS))
    async def frontend_settings(request: Request) -> Response:
        return JsonResponse(api.frontend_settings)

    @router.post("/suggest", **documented("Suggest a better translation: refused", body=_SUGGEST, errors=(403,)))
    async def suggest(request: Request) -> Response:
        raise ApiError(403, "Suggestions are disabled on this server.")

    return router
