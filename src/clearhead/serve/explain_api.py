"""Translations are explained, changed and compared, over HTTP."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

if TYPE_CHECKING:
    from clearhead.serve.server import Server


def make_router(server: "Server") -> APIRouter:
    """Return the routes."""
    return APIRouter()
