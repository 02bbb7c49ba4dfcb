"""`clearhead serve`: translation models over HTTP, with an API that existing clients understand and web pages."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ConfigError, printable

# Libraries whose threads wait for each other at every product: on a machine with other work, one thread is faster than
# two. CTranslate2 has a thread for each core all the same, which translate different sentences.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class AddressOptions:
    """Where the server listens; an option that is not given has the value of the config file, or its default."""

    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; 0.0.0.0 is reachable from other machines. \\[default: 127.0.0.1]"),
    ] = None
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free port. \\[default: 5000]")
    ] = None
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Origin whose web pages may call the API; * is any. Can be repeated."),
    ] = None


@dataclass(frozen=True)
class LoadingOptions:
    """When models are loaded."""

    preload: Annotated[
        bool | None,
        typer.Option("--preload/--no-preload", help="Load all models at the start. \\[default: on first use]"),
    ] = None
    idle_minutes: Annotated[
        float | None, typer.Option(help="Unload a model that was not used for this many minutes. \\[default: never]")
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of settings; options on the command line win.")
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting: queue.max_batch=32. Can be repeated."),
    ] = None
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print all settings with their descriptions as YAML, and exit.")
    ] = False


@dataclass(frozen=True)
class ApiKeyOptions:
    """API keys."""

    keys: Annotated[Path | None, typer.Option(metavar="FILE", help="SQLite file of API keys.")] = None
    require_key: Annotated[
        bool | None, typer.Option("--require-key", help="Refuse requests without a key. \\[default: keys are optional]")
    ] = None
    add_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Add a key to the file of --keys, print it, and exit.")
    ] = None
    rate: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Requests per minute: with --add-key of this key, otherwise of clients without a key. "
            "\\[default: no limit]",
        ),
    ] = None
    list_keys: Annotated[bool, typer.Option("--list-keys", help="List the keys of the file, and exit.")] = False
    remove_key: Annotated[str | None, typer.Option(metavar="NAME", help="Remove a key from the file, and exit.")] = None


@with_option_groups
def serve(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Run folders, OPUS-MT folders or names from `clearhead models`. A run that does not state its "
            "languages needs them: runs/mine=en-de. [default: the built-in models]",
            show_default=False,
        ),
    ] = None,
    address: AddressOptions,
    loading: LoadingOptions,
    access: ApiKeyOptions,
) -> None:
    """Serve models over HTTP, with web pages: an API like LibreTranslate's, and explanations."""
    if access.add_key is not None or access.list_keys or access.remove_key is not None:
        _manage_keys(access)
        return
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    from clearhead.serve.http_server import is_reachable_by_anybody, serve_forever
    from clearhead.serve.server import Server
    from clearhead.serve.settings_file import load_settings, settings_page

    if loading.show_config:
        typer.echo(settings_page(), nl=False)
        return
    settings = load_settings(loading.config, loading.set or (), _flags(models, address, loading, access))
    server = Server(settings)
    if is_reachable_by_anybody(settings):
        typer.echo(
            f"clearhead: warning: other machines can reach the server at {printable(settings.host)}, and no key is "
            "required. Use --require-key with --keys, or a firewall.",
            err=True,
        )
    names = ", ".join(model.name for model in server.catalogue.models)
    serve_forever(
        server,
        lambda place: typer.echo(f"clearhead: serving {printable(names)} at {place} (Ctrl-C stops it).", err=True),
    )


def _flags(
    models: list[str] | None, address: AddressOptions, loading: LoadingOptions, access: ApiKeyOptions
) -> dict[str, Any]:
    """Return the settings that are given as options, by their paths."""
    values = {
        "models": models or None,
        "host": address.host,
        "port": address.port,
        "cors": address.cors,
        "loading.preload": loading.preload,
        "loading.idle_minutes": loading.idle_minutes,
        "keys.file": None if access.keys is None else str(access.keys),
        "keys.is_required": access.require_key,
        "keys.rate": access.rate,
    }
    return {path: value for path, value in values.items() if value is not None}


def _manage_keys(access: ApiKeyOptions) -> None:
    """Add, list or remove keys."""
    from clearhead.serve.api_keys import KeyFile

    if access.keys is None:
        raise ConfigError(
            "--add-key, --list-keys and --remove-key need the file of the keys. Name it with --keys FILE."
        )
    file = KeyFile(access.keys)
    if access.add_key is not None:
        typer.echo(file.add(access.add_key, access.rate))
        typer.echo("clearhead: keep this key; only its hash is stored, so it cannot be shown again.", err=True)
    if access.remove_key is not None:
        file.remove(access.remove_key)
    if access.list_keys:
        listed = file.keys()
        for key in listed:
            rate = "no limit" if key.rate is None else f"{key.rate} per minute"
            typer.echo(f"{printable(key.name)}\t{rate}")
