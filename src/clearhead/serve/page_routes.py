"""The web pages and their files, with the headers that keep foreign content out."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

if TYPE_CHECKING:
    from clearhead.serve.server import Server


def make_router(server: "Server") -> APIRouter:
    """Return the routes of the pages and of the files that they load."""
    return APIRouter(include_in_schema=False)
