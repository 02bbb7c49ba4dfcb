"""The routes of the web pages and of the files that they load, with headers that keep foreign content out."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from clearhead.errors import printable
from clearhead.retired import removed
from clearhead.serve.api_errors import ApiError
from clearhead.serve.page_files import FRAMES, LANGUAGES, PAGES, PageFile, make_frame, make_page, static_files

LANGUAGE_COOKIE = "clearhead_language"
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # ask each time: the answer has no content while the file is the same, and no page loads files of another version
    "Cache-Control": "no-cache",
}


def make_router() -> APIRouter:
    """Return the routes of the pages and of the files that they load."""
    router = APIRouter(include_in_schema=False)
    pages = {(path, language): make_page(name, language) for path, name in PAGES.items() for language in LANGUAGES}
    loaded = static_files()
    frames = {name: make_frame(frame) for name, frame in FRAMES.items()}

    async def page(request: Request) -> Response:
        answer = _answer(pages[request.scope["path"], choose_language(request)], request)
        answer.headers["Vary"] = "Accept-Language, Cookie"
        return answer

    async def static(request: Request) -> Response:
        return _answer(_find(loaded, request), request)

    async def frame(request: Request) -> Response:
        return _answer(_find(frames, request), request)

    for path in PAGES:
        router.add_api_route(path, page, methods=["GET", "HEAD"], response_model=None)
    router.add_api_route("/static/{name:path}", static, methods=["GET", "HEAD"], response_model=None)
    router.add_api_route("/frame/{name}", frame, methods=["GET", "HEAD"], response_model=None)
    return router


def choose_language(request: Request) -> str:
    """Return the language that was chosen on a page, else the first one of the browser that there is, else English."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return chosen
    wishes = []
    for part in request.headers.get("accept-language", "").split(","):
        code, _, quality = part.strip().partition(";q=")
        try:
            wishes.append((-float(quality or 1), code.lower().partition("-")[0]))
        except ValueError:
            continue
    ranked = (code for weight, code in sorted(wishes, key=lambda wish: wish[0]) if weight < 0 and code in LANGUAGES)
    return next(ranked, "en")


def _find(table: Mapping[str, PageFile], request: Request) -> PageFile:
    """Return a file by the name in the address; names are looked up in a table, and no path is ever opened."""
    name = request.path_params["name"]
    if name not in table:
        raise ApiError(404, removed(f"/{name}") or f"there is no page or file '{printable(name)}'.")
    return table[name]


def _answer(file: PageFile, request: Request) -> Response:
    headers = {**_HEADERS, **file.headers, "ETag": file.tag}
    tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in tags:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
