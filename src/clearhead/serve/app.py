"""The web application: the routes of all modules, and one form of error bodies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from clearhead import __version__
from clearhead.errors import ClearheadError
from clearhead.serve import exercise_api, explain_api, health_api, page_routes
from clearhead.serve.api_errors import ApiError, answer_api_error
from clearhead.serve.server import Server

_MODULES = (health_api, explain_api, exercise_api)


def create_app(server: Server) -> FastAPI:
    """Return the application of a server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await server.start()
        try:
            yield
        finally:
            await server.stop()

    app = FastAPI(title="clearhead", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for module in _MODULES:
        app.include_router(module.make_router(server))
    if server.settings.has_pages:
        app.include_router(page_routes.make_router(server))
    app.add_exception_handler(ApiError, answer_api_error)
    app.add_exception_handler(ClearheadError, answer_api_error)
    return app
