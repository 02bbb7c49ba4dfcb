"""Whether the server is alive and ready: /health (as LibreTranslate), /health/live and /health/ready."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.serve.api_errors import JsonResponse
from clearhead.serve.server import Server


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Operation"])

    @router.get("/health")
    async def health(request: Request) -> Response:
        return JsonResponse({"status": "ok"})

    return router
