"""Every route of the server with every method, without a key: which of them answer, and with what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
# What a client of LibreTranslate is told by that status, where our own calls answer 401.
LIBRE_SENTENCE = "Please contact the server operator to get an API key"
_BODY = {"q": "Let's go", "source": "en", "target": "es", "text": "Let's go"}


@dataclass(frozen=True)
class RouteAnswer:
    """What a request to a route came to."""

    method: str
    path: str  # as the route states it
    status: int
    media_type: str
    content: bytes

    @property
    def is_refused(self) -> bool:
        """Whether the answer says that a key is required, or that there is no such method; it contains nothing else."""
        if self.status == 400:
            return LIBRE_SENTENCE.encode() in self.content
        return self.status in (401, 405)


def route_paths(app: FastAPI) -> set[str]:
    """Return the paths of all routes, also of those that the description of the API does not mention."""
    return set(_paths(app.routes))


def _paths(routes: Any) -> Iterator[str]:
    for route in routes:
        router = getattr(route, "original_router", None)  # FastAPI keeps the router that was included
        if router is not None:
            yield from _paths(router.routes)
        else:
            yield route.path


def ask_every_route(client: TestClient, app: FastAPI, values: Mapping[str, str] = {}) -> list[RouteAnswer]:
    """Send a request of every method to every route; `values` are the parts of addresses."""
    answers = []
    for path in sorted(route_paths(app)):
        address = path
        for name in ("name", "identity"):
            for form in (f"{{{name}}}", f"{{{name}:path}}"):
                address = address.replace(form, values.get(name, "none"))
        assert "{" not in address, f"{path}: a part of the address that the attack does not know"
        for method in METHODS:
            answer = client.request(method, address, json=_BODY if method == "POST" else None)
            media_type = answer.headers.get("content-type", "").partition(";")[0]
            answers.append(RouteAnswer(method, path, answer.status_code, media_type, answer.content))
    return answers
