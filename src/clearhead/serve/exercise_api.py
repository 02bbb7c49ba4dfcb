"""Exercises are solved and workings are marked, over HTTP."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

if TYPE_CHECKING:
    from clearhead.serve.server import Server


def make_router(server: "Server") -> APIRouter:
    """Return the routes."""
    return APIRouter()
