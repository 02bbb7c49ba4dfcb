"""What is served: /v1/models with cards and scores, and /v1/languages."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.errors import ClearheadError
from clearhead.files.reading import read_file
from clearhead.serve.api_documentation import documented
from clearhead.serve.api_errors import JsonResponse
from clearhead.serve.catalogue import ServedModel, language_name
from clearhead.serve.server import Server

_FILM = "film.html"
_MAX_CARD = 200_000  # characters
_MODEL = {
    "name": "tatoeba",
    "title": "English to Spanish, Hindi and Bengali, and Spanish to English.",
    "directions": [{"source": "en", "target": "es"}],
    "is_loaded": True,
    "can_explain": True,
    "scores": [{"source": "en", "target": "es", "bleu": 47.2, "chrf": 66.1, "test": "…", "signature": "…"}],
    "has_film": False,
    "licence": "CC BY 2.0 FR",
}


def model_record(server: Server, model: ServedModel) -> dict[str, Any]:
    """Return what is known about a model, without its card."""
    return {
        "name": model.name,
        "title": model.title or model.name,
        "directions": [{"source": way.source, "target": way.target} for way in model.directions],
        "is_loaded": server.pool.is_loaded(model),
        "can_explain": server.settings.explain.is_enabled,
        "scores": [
            direction.model_dump()
            for direction in model.directions
            if direction.bleu is not None or direction.chrf is not None
        ],
        "has_film": (model.path / _FILM).is_file(),
        "licence": model.licence,
        "attribution": model.attribution,
    }


def read_card(model: ServedModel) -> str:
    """Return the model card as Markdown; an empty text if there is none."""
    try:
        return read_file(model.card).decode("utf-8", errors="replace")[:_MAX_CARD] if model.card.is_file() else ""
    except (OSError, ClearheadError):
        return ""


def card_html(text: str) -> str:
    """Return Markdown as HTML without scripts: HTML in it is shown as text, and links are only http(s) or relative."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))


def make_router(server: Server) -> APIRouter:
    """Return the routes of this module."""
    router = APIRouter(tags=["Models"], prefix="/v1")
    listed = [{"code": "en", "name": "English", "targets": ["es", "hi", "bn"]}]

    @router.get("/models", **documented("List the models", answer={"models": [_MODEL]}))
    async def models(request: Request) -> Response:
        return JsonResponse({"models": [model_record(server, model) for model in server.catalogue.models]})

    card = {**_MODEL, "card": "# tatoeba", "card_html": "<h1>tatoeba</h1>"}

    @router.get("/models/{name}", **documented("One model and its card", answer=card, errors=(404,)))
    async def model(request: Request, name: str) -> Response:
        served = server.catalogue.find(name)
        text = read_card(served)
        return JsonResponse({**model_record(server, served), "card": text, "card_html": card_html(text)})

    @router.get("/languages", **documented("List the languages and their targets", answer=listed))
    async def languages(request: Request) -> Response:
        catalogue = server.catalogue
        return JsonResponse(
            [
                {"code": code, "name": language_name(code), "targets": catalogue.targets_of(code)}
                for code in catalogue.codes
            ]
        )

    return router
