"""Documents over HTTP: /translate_file as in LibreTranslate, and /v1/files with server-sent events for the progress."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError, JsonResponse
from clearhead.serve.document_translation import DocumentTarget, document_formats, translate_file
from clearhead.serve.file_jobs import FileJob, FileJobs, result_name
from clearhead.serve.libretranslate import LibreTranslate
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import check_length
from clearhead.serve.request_fields import read_form
from clearhead.serve.server import Server

_TEXT = {"type": "string"}
_FIELDS = {"file": {"type": "string", "format": "binary"}, "source": _TEXT, "target": _TEXT}
_LIBRE = BodyExample(
    {"type": "object", "required": ["file", "source", "target"], "properties": {**_FIELDS, "api_key": _TEXT}},
    {"file": "Let's go.", "source": "en", "target": "es"},
    ("multipart/form-data",),
)
_BODY = BodyExample(
    {"type": "object", "required": ["file"], "properties": {**_FIELDS, "model": _TEXT}},
    {"file": "Let's go.", "source": "en", "target": "es"},
    ("multipart/form-data",),
)
_EXAMPLE_ID = "5cQ0Jd0c1rV0hZ8v2m3n4p5q"
_JOB = {
    "id": _EXAMPLE_ID,
    "events": f"/v1/files/{_EXAMPLE_ID}/events",
    "download": f"/v1/files/{_EXAMPLE_ID}",
}


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
        self.jobs = FileJobs(server.settings.limits)
        self.libre = LibreTranslate(server)

    async def upload(self, request: Request) -> Upload:
        """Read a form with a document; its temporary file is deleted."""
        check_length(request, self.server.settings.limits.file_bytes)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "multipart/form-data":
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

    async def translate_as_libre(self, request: Request) -> Response:
        """Translate a document, and answer with the address of the result."""
        upload = await self.upload(request)
        self.libre.check_key(request, upload.fields)
        source, target = upload.fields.get("source"), upload.fields.get("target")
        for name, value in (("source", source), ("target", target)):
            if not value:
                raise ApiError(400, f"Invalid request: missing {name} parameter")
        assert source is not None
        assert target is not None
        if PurePosixPath(upload.name).suffix.lower() not in document_formats():
            raise ApiError(400, "Invalid request: file format not supported")
        self.libre.check_codes(target)
        if source not in ("auto", target):
            self.libre.route(source, target)
        job = self.jobs.add(result_name(upload.name, target))
        await self._translate(job, upload, DocumentTarget(self.server, source, target))
        if job.error is not None:
            self.jobs.remove(job)
            if job.error.status == 504:
                raise ApiError(504, f"{job.error.sentence} /v1/files answers at once and reports the progress.")
            raise job.error
        return JsonResponse({"translatedFileUrl": f"{request.base_url}download_file/{job.id}"})

    async def start(self, request: Request) -> Response:
        """Start to translate a document, and answer with the addresses of its progress and its result."""
        upload = await self.upload(request)
        source, target, model = (upload.fields.get(name) or None for name in ("source", "target", "model"))
        suffix = PurePosixPath(upload.name).suffix.lower()
        if suffix not in document_formats():
            listed = ", ".join(document_formats())
            raise ApiError(415, f"documents of this kind are not translated. Extensions: {listed}.")
        if source != "auto" and not self.server.catalogue.is_same(source, target):
            target = self.server.catalogue.route(source, target, model).target
        job = self.jobs.add(result_name(upload.name, target))
        notes_of(request.scope)["document"] = suffix
        wanted = DocumentTarget(self.server, source, target, model, lambda: job.is_wanted)
        self.server.spawn(self._translate(job, upload, wanted))
        place = f"/v1/files/{job.id}"
        return JsonResponse({"id": job.id, "events": f"{place}/events", "download": place})

    async def _translate(self, job: FileJob, upload: Upload, target: DocumentTarget) -> None:
        try:
            content = await translate_file(target, upload.name, upload.content, job.advance)
            job.finish(content, target.notes)
        except Exception as fault:
            job.fail(fault)
            if job.error is not None and job.error is not fault:
                self.server.log.fault("/v1/files", fault)

    def download(self, identity: str) -> Response:
        """Return a translated document, and delete it."""
        job = self.jobs.find(identity)
        if job.error is not None:
            self.jobs.remove(job)
            raise job.error
        if job.content is None:
            raise ApiError(503, "the document is not translated yet. Try again later.", retry_after=2)
        self.jobs.remove(job)
        headers = {
            "content-disposition": _disposition(job.name),
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "no-store",
        }
        return Response(job.content, media_type="application/octet-stream", headers=headers)

    async def events(self, job: FileJob) -> AsyncIterator[bytes]:
        """Yield server-sent events until a document is translated."""
        async for has_changed in job.changes():
            yield _event("progress", {"done": job.num_done, "total": job.total}) if has_changed else b": waiting\n\n"
        if job.error is not None:
            yield _event("error", {"error": job.error.sentence})
        elif job.content is not None:
            yield _event("done", {"notes": job.notes})


def _disposition(name: str) -> str:
    """Return the header with a name: in ASCII for simple clients such as curl, and as it is for browsers."""
    plain = "".join(letter if " " <= letter <= "~" and letter not in '"\\%' else "_" for letter in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Documents"])
    api = FilesApi(server)
    address = {"translatedFileUrl": f"http://127.0.0.1:5000/download_file/{_EXAMPLE_ID}"}
    errors = (400, 413, 415, 503, 504)

    @router.post(
        "/translate_file",
        **documented("Translate a document, as LibreTranslate", answer=address, body=_LIBRE, errors=errors),
    )
    async def translate_document(request: Request) -> Response:
        return await api.translate_as_libre(request)

    binary = documented(
        "Download a translated document, which is then deleted",
        media_type="application/octet-stream",
        errors=(400, 404, 503, 504),
    )

    @router.get("/download_file/{identity}", **binary)
    async def download_file(request: Request, identity: str) -> Response:
        return api.download(identity)

    @router.post("/v1/files", **documented("Start to translate a document", answer=_JOB, body=_BODY, errors=errors))
    async def start(request: Request) -> Response:
        server.authorise(request)
        return await api.start(request)

    stream = documented("The progress of a document", media_type="text/event-stream", errors=(404,))

    @router.get("/v1/files/{identity}/events", **stream)
    async def events(request: Request, identity: str) -> Response:
        job = api.jobs.find(identity)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(api.events(job), media_type="text/event-stream", headers=headers)

    @router.get("/v1/files/{identity}", **binary)
    async def download(request: Request, identity: str) -> Response:
        return api.download(identity)

    @router.delete("/v1/files/{identity}", **documented("Delete a document", answer={"deleted": True}, errors=(404,)))
    async def remove(request: Request, identity: str) -> Response:
        api.jobs.remove(api.jobs.find(identity))
        return JsonResponse({"deleted": True})

    return router
