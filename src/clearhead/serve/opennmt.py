"""The API of OpenNMT's server: /translator/translate takes a list of sources and answers a list for each rank."""

from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.errors import ClearheadError
from clearhead.serve.api_documentation import BodyExample, documented
from clearhead.serve.api_errors import ApiError, JsonResponse
from clearhead.serve.catalogue import Route
from clearhead.serve.middleware import notes_of
from clearhead.serve.request_body import read_bytes
from clearhead.serve.server import Server
from clearhead.serve.translation_task import TranslationTask

_FIRST = 100  # OpenNMT's examples number models from here
_ENTRY = {
    "type": "object",
    "required": ["src"],
    "properties": {
        "src": {"type": "string"},
        "id": {"description": "A model_id of /translator/models, or its name such as en-es."},
    },
}
_BODY = BodyExample({"type": "array", "items": _ENTRY, "minItems": 1}, [{"src": "Let's go", "id": _FIRST}])
_ANSWER = [[{"src": "Let's go", "tgt": "Vamos", "n_best": 1, "pred_score": -0.31}]]


@dataclass(frozen=True)
class OpenNmt:
    """The calls of OpenNMT's server; every direction of every model is one of its models."""

    server: Server

    @property
    def routes(self) -> dict[int, Route]:
        """All directions by their numbers."""
        models = self.server.catalogue.models
        routes = [Route(model, way.source, way.target) for model in models for way in model.directions]
        return dict(enumerate(routes, _FIRST))

    def models(self) -> list[dict[str, Any]]:
        """Return the list of models."""
        return [
            {
                "model_id": number,
                "name": f"{route.source}-{route.target}",
                "model": route.model.name,
                "status": "loaded" if self.server.pool.is_loaded(route.model) else "unloaded",
            }
            for number, route in self.routes.items()
        ]

    def route(self, identity: object) -> Route:
        """Return the model with a number or a name; None is the first one."""
        routes = self.routes
        if identity is None:
            return routes[_FIRST]
        by_name = {f"{route.source}-{route.target}": route for route in reversed(routes.values())}
        if isinstance(identity, str) and identity in by_name:
            return by_name[identity]
        number = int(identity) if isinstance(identity, str) and identity.isdecimal() and len(identity) < 9 else identity
        if isinstance(number, int) and number in routes:
            return routes[number]
        listed = ", ".join(f"{number} ({route.source}-{route.target})" for number, route in routes.items())
        raise ApiError(400, f"there is no model with this id. Models: {listed}.")

    async def translate(self, request: Request) -> Response:
        """Translate a list of sources; an error has the status 200 and OpenNMT's form, as its clients expect."""
        try:
            return JsonResponse(await self._translated(request))
        except ClearheadError as wrong:
            return JsonResponse({"error": str(wrong), "status": "error"})
        except ApiError as wrong:
            if wrong.status != 400:
                raise
            return JsonResponse({"error": wrong.sentence, "status": "error"})

    async def _translated(self, request: Request) -> list[list[dict[str, Any]]]:
        body = await read_bytes(request, self.server.settings.limits.body_bytes)
        try:
            entries = orjson.loads(body)
        except orjson.JSONDecodeError as wrong:
            raise ApiError(400, f"the body of the request is not JSON: {wrong}.") from None
        if not isinstance(entries, list) or not entries:
            raise ApiError(400, 'the body must be a list: [{"src": "…"}].')
        if not all(isinstance(entry, dict) and isinstance(entry.get("src"), str) for entry in entries):
            raise ApiError(400, 'each entry of the list must be an object with a text: {"src": "…"}.')
        texts = [entry["src"] for entry in entries]
        self.server.check_texts(texts)
        route = self.route(entries[0].get("id"))
        notes_of(request.scope).update(model=route.model.name, texts=len(texts))
        task = TranslationTask(route, self.server.settings.beam)
        translated = await self.server.batcher.translate(task, texts, request.is_disconnected)
        scores = [sum(part.score for part in text.translations) for text in translated]
        row = [
            {"src": source, "tgt": text.text, "n_best": 1, "pred_score": score}
            for source, text, score in zip(texts, translated, scores, strict=True)
        ]
        return [row]


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["OpenNMT"], prefix="/translator")
    api = OpenNmt(server)
    listed = [{"model_id": _FIRST, "name": "en-es", "model": "tatoeba", "status": "loaded"}]

    @router.post("/translate", **documented("Translate a list", answer=_ANSWER, body=_BODY, errors=(413, 503, 504)))
    async def translate(request: Request) -> Response:
        server.authorise(request)
        return await api.translate(request)

    @router.get("/models", **documented("List the models", answer=listed))
    async def models(request: Request) -> Response:
        return JsonResponse(api.models())

    @router.get("/health", **documented("Whether the server is alive", answer={"status": "ok"}))
    async def health(request: Request) -> Response:
        return JsonResponse({"status": "ok"})

    return router
