"""The web application: the routes of all modules, and one form of error bodies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from clearhead import __version__
from clearhead.errors import ClearheadError
from clearhead.retired import removed
from clearhead.serve import (
    exercise_api,
    explain_api,
    files_api,
    health_api,
    libretranslate,
    models_api,
    page_routes,
    translate_api,
)
from clearhead.serve.api_documentation import without_framework_errors
from clearhead.serve.api_errors import ApiError, answer_api_error, error_response
from clearhead.serve.middleware import RequestMiddleware
from clearhead.serve.server import Server

_MODULES = (libretranslate, translate_api, files_api, explain_api, exercise_api, models_api, health_api)
_SENTENCES = {
    404: "there is nothing at this address. The addresses of the API are listed in /openapi.json.",
}
_DESCRIPTION = """Translation models over HTTP. `/translate`, `/detect` and `/languages` are those of LibreTranslate.
Every error has the form `{"error": "one sentence"}`."""


def create_app(server: Server) -> FastAPI:
    """Return the application of a server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await server.start()
        try:
            yield
        finally:
            await server.stop()

    app = FastAPI(
        title="clearhead",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in _MODULES:
        app.include_router(module.make_router(server), dependencies=[Depends(server.access.admit)])
    if server.settings.has_pages:
        app.include_router(page_routes.make_router())
    if server.settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=server.settings.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    app.add_middleware(RequestMiddleware, server=server)  # the outermost, so that it sees every answer
    for error in (ApiError, ClearheadError):
        app.add_exception_handler(error, answer_api_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    describe = app.openapi
    app.openapi = lambda: without_framework_errors(describe())  # type: ignore[method-assign]
    return app


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses, such as an unknown path, in our form."""
    assert isinstance(error, HTTPException)
    sentence = _SENTENCES.get(error.status_code, str(error.detail))
    if error.status_code == 404:
        sentence = removed(request.url.path) or sentence
    if error.status_code == 405:
        methods = (error.headers or {}).get("Allow", "").replace(", ", " or ")
        sentence = f"this address does not have the method {request.method}. Use {methods}. See /openapi.json."
    response = error_response(error.status_code, sentence)
    response.headers.update(error.headers or {})
    return response


async def _answer_invalid(request: Request, error: Exception) -> Response:
    """Answer a parameter of a path or query that the framework cannot read."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return error_response(400, f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}.")
