"""`clearhead serve`: translation models over HTTP, with an API that existing clients understand and web pages."""

from typing import Annotated

import typer

from clearhead.errors import ClearheadError, not_installed

_PACKAGES = {"fastapi", "uvicorn", "starlette", "multipart", "prometheus_client", "lingua"}


def serve(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Run folders, OPUS-MT folders or names from `clearhead models`."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. \\[default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port. \\[default: 5000]")] = None,
) -> None:
    """Serve models over HTTP, with web pages."""
    try:
        import uvicorn

        from clearhead.serve.app import create_app
        from clearhead.serve.server import Server
        from clearhead.serve.settings import ServeSettings
        from clearhead.settings import read_settings
    except ModuleNotFoundError as missing:
        if missing.name in _PACKAGES:
            raise ClearheadError(not_installed("serve", str(missing.name), "serve")) from None
        raise
    flags = {"models": models, "host": host, "port": port}
    settings = read_settings(ServeSettings, {name: value for name, value in flags.items() if value is not None})
    uvicorn.run(create_app(Server(settings)), host=settings.host, port=settings.port, log_level="warning")
