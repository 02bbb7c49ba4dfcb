"""What is served: /v1/models with cards and scores, and /v1/languages."""

from asyncio import to_thread
from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.files.own_file import read_own_file
from clearhead.files.reading import UnreadableFileError
from clearhead.serve.api_documentation import documented
from clearhead.serve.api_errors import JsonResponse
from clearhead.serve.catalogue import ServedModel, language_name
from clearhead.serve.server import Server

MAX_CARD = 2**16  # bytes; Markdown made to be slow takes two seconds for so many
_MODEL = {
    "name": "tatoeba",
    "title": "English to Spanish, Hindi and Bengali, and Spanish to English.",
    "directions": [{"source": "en", "target": "es"}],
    "is_loaded": True,
    "can_explain": True,
    "scores": [{"source": "en", "target": "es", "bleu": 47.2, "chrf": 66.1, "test": "…", "signature": "…"}],
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
        "licence": model.licence,
        "attribution": model.attribution,
    }


def read_card(model: ServedModel) -> str:
    """Return the model card as Markdown; an empty text if there is none, or only a link out of the folder."""
    try:
        return read_own_file(model.path, model.card, MAX_CARD).decode("utf-8", errors="replace")
    except (OSError, UnreadableFileError, RuntimeError):  # a RuntimeError: links in a circle, before Python 3.13
        return ""


@lru_cache(maxsize=16)
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
        text = await to_thread(read_card, served)
        page = await to_thread(card_html, text)
        return JsonResponse({**model_record(server, served), "card": text, "card_html": page})

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
