"""Documents over HTTP: /translate_file as in LibreTranslate. The results are only in memory, and for a limited time."""

import secrets
import time
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote

from fastapi import APIRouter
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from clearhead.errors import ClearheadError, printable
from clearhead.serve.access import client_of
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError, JsonResponse
from clearhead.serve.document_translation import DocumentTarget, document_formats, translate_file
from clearhead.serve.libretranslate import LibreTranslate, required_field
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import MULTIPART, announced_length, check_length, media_type, read_form
from clearhead.serve.server import Server
from clearhead.serve.settings import LimitSettings

_MAX_NAME = 100  # characters
_MAX_LANGUAGE = 40  # characters of its code, which is the client's if the language of the document is to be detected
_RETRY = 30  # seconds until a refused upload may be tried again
_TEXT = {"type": "string"}
_FIELDS = {"file": {"type": "string", "format": "binary"}, "source": _TEXT, "target": _TEXT, "model": _TEXT}
_BODY = BodyExample(
    {"type": "object", "required": ["file", "source", "target"], "properties": {**_FIELDS, "api_key": _TEXT}},
    {"file": "Let's go.", "source": "en", "target": "es"},
    ("multipart/form-data",),
)
_ANSWER = {"translatedFileUrl": "http://127.0.0.1:5000/download_file/5cQ0Jd0c1rV0hZ8v2m3n4p5q", "notes": []}


@dataclass(eq=False)
class TranslatedFile:
    """A document that is being translated (without content), or whose translation waits for its download."""

    name: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    content: bytes | None = None
    end: float = 0.0  # when the translation is written

    def finish(self, content: bytes) -> None:
        """Note the translation."""
        self.content, self.end = content, time.monotonic()


class TranslatedFiles:
    """All documents of a server."""

    def __init__(self, limits: LimitSettings) -> None:
        self.limits = limits
        self._files: dict[str, TranslatedFile] = {}

    def add(self, name: str) -> TranslatedFile:
        """Add a document, or raise ApiError 503 if there are too many."""
        self._expire()
        if len(self._files) >= self.limits.files:
            raise ApiError(
                503, f"{len(self._files)} documents are being translated. Try again later.", retry_after=_RETRY
            )
        file = TranslatedFile(name)
        self._files[file.id] = file
        return file

    def take(self, identity: str) -> TranslatedFile:
        """Return a translated document and delete it, or raise ApiError 404."""
        self._expire()
        file = self._files.get(identity)
        if file is None or file.content is None:
            raise ApiError(404, "there is no such document, or it was downloaded or deleted already.")
        self.remove(file)
        return file

    def remove(self, file: TranslatedFile) -> None:
        """Delete a document."""
        self._files.pop(file.id, None)

    def _expire(self) -> None:
        oldest = time.monotonic() - self.limits.file_minutes * 60
        for file in list(self._files.values()):
            if file.content is not None and file.end < oldest:
                self.remove(file)


@dataclass(frozen=True)
class Upload:
    """A document of a form, with the fields beside it."""

    name: str
    content: bytes
    fields: dict[str, str]


class FilesApi:
    """The calls of this module."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.files = TranslatedFiles(server.settings.limits)
        self.libre = LibreTranslate(server)

    async def upload(self, request: Request) -> Upload:
        """Read a form with a document; its temporary file is deleted."""
        check_length(request, self.server.settings.limits.file_bytes)
        if media_type(request) != MULTIPART:
            raise ApiError(415, "send the document as a form: multipart/form-data with a field `file`.")
        form = await read_form(request, self.server.settings.limits.file_bytes)
        try:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(400, "Invalid request: missing file parameter")
            if not file.filename:
                raise ApiError(400, "Invalid request: empty file")
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            return Upload(file.filename, await file.read(), fields)
        finally:
            await form.close()

    async def translate(self, request: Request) -> Response:
        """Translate a document, and answer with the address of the result.

        The key can be a field of the form, as clients of LibreTranslate send it; of a long form, nothing is read before
        the client is known.
        """
        limit = self.server.settings.limits.body_bytes
        is_short_form = media_type(request) == MULTIPART and announced_length(request, limit + 1) <= limit
        if not is_short_form:
            advice = f". A form of more than {limit:,} bytes needs it in a header, or in the address: ?api_key=KEY."
            self.libre.check_key(request, {}, advice)
        upload = await self.upload(request)
        if is_short_form:
            self.libre.check_key(request, upload.fields)
        source, target = (required_field(upload.fields, name) for name in ("source", "target"))
        suffix = PurePosixPath(upload.name).suffix.lower()
        if suffix not in document_formats():
            listed = ", ".join(document_formats())
            raise ApiError(400, f"Invalid request: file format not supported. Extensions: {listed}.")
        self.libre.check_codes(target)
        if source not in ("auto", target):
            self.libre.route(source, target)
        notes_of(request.scope)["document"] = suffix
        file = self.files.add(result_name(upload.name, target))
        document = DocumentTarget(self.server, source, target, upload.fields.get("model") or None, client_of(request))
        try:
            content = await self._translated(upload, document)
            if await request.is_disconnected():
                raise ApiError(400, "the client closed the connection before the document was translated.")
            file.finish(content)
        finally:
            if file.content is None:
                self.files.remove(file)
        address = f"{request.base_url}download_file/{file.id}"
        return JsonResponse({"translatedFileUrl": address, "notes": document.notes})

    async def _translated(self, upload: Upload, document: DocumentTarget) -> bytes:
        """Return the translated document; a fault that is not the user's is not described."""
        try:
            return await translate_file(document, upload.name, upload.content)
        except (ApiError, ClearheadError):
            raise
        except Exception as fault:
            self.server.log.fault("/translate_file", fault)
            sentence = "the document cannot be translated. The log of the server says where it failed."
            raise ApiError(400, sentence) from None

    def download(self, identity: str) -> Response:
        """Return a translated document, and delete it."""
        file = self.files.take(identity)
        headers = {
            "content-disposition": _disposition(file.name),
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "no-store",
        }
        return Response(file.content, media_type="application/octet-stream", headers=headers)


def result_name(name: str, target: str) -> str:
    """Return the name of a translated document, without folders: `report.es.docx` for `../report.docx`."""
    path = PurePosixPath(name.replace("\\", "/"))
    stem = printable(path.stem).strip(". ")[:_MAX_NAME] or "document"
    return f"{stem}.{printable(target[:_MAX_LANGUAGE])}{printable(path.suffix[:20])}"


def _disposition(name: str) -> str:
    """Return the header with a name: in ASCII for simple clients such as curl, and as it is for browsers."""
    plain = "".join(letter if " " <= letter <= "~" and letter not in '"\\%;' else "_" for letter in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Documents"])
    api = FilesApi(server)

    @router.post(
        "/translate_file",
        **documented("Translate a document", answer=_ANSWER, body=_BODY, errors=(400, 413, 415, 503, 504)),
    )
    async def translate_document(request: Request) -> Response:
        return await api.translate(request)

    binary = documented(
        "Download a translated document, which is then deleted",
        media_type="application/octet-stream",
        errors=(400, 404),
    )

    @router.get("/download_file/{identity}", **binary)
    async def download_file(request: Request, identity: str) -> Response:
        return api.download(identity)

    return router
