"""Whether the server is alive and ready, and its metrics."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.api_documentation import documented
from clearhead.serve.api_errors import JsonResponse, error_response
from clearhead.serve.catalogue import is_usable
from clearhead.serve.metrics import CONTENT_TYPE
from clearhead.serve.server import Server

_OK = {"status": "ok"}


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Operation"])

    @router.get("/health", **documented("Whether the server is alive, as LibreTranslate answers", answer=_OK))
    async def health(request: Request) -> Response:
        return JsonResponse(_OK)

    @router.get("/health/live", **documented("Whether the server is alive", answer=_OK))
    async def live(request: Request) -> Response:
        return JsonResponse(_OK)

    @router.get("/health/ready", **documented("Whether requests are accepted", answer=_OK, errors=(503,)))
    async def ready(request: Request) -> Response:
        queue = server.settings.queue
        if server.is_stopping:
            return error_response(503, "the server is stopping.", queue.retry_after)
        if server.batcher.num_waiting >= queue.max_sentences:
            return error_response(503, "the queue is full.", queue.retry_after)
        if not any(map(is_usable, server.catalogue.models)):
            return error_response(503, "the folders of all models were removed.", queue.retry_after)
        return JsonResponse(_OK)

    @router.get("/metrics", **documented("Metrics in Prometheus' format", media_type="text/plain"))
    async def metrics(request: Request) -> Response:
        return Response(server.metrics.text(), media_type=CONTENT_TYPE)

    return router
