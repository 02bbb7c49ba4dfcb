"""The settings of the server: a default is defined on its field, a YAML file changes it, and a flag changes that."""

from typing import Literal

from pydantic import Field

from clearhead.decoding.engines.engine import DeviceName, EngineName
from clearhead.settings import Settings


class ModelSettings(Settings):
    """When models are loaded, and with which engine."""

    preload: bool = Field(False, description="load all models when the server starts, not on first use")
    idle_minutes: float | None = Field(
        None, gt=0, description="unload a model that was not used for this many minutes; null: never"
    )
    engine: EngineName = Field("auto", description="the engine that translates")
    device: DeviceName = Field("auto", description="where the model runs")


class QueueSettings(Settings):
    """How requests of all clients are collected into batches, and how many of them may wait."""

    collect_ms: float = Field(3.0, ge=0, le=1000, description="milliseconds to wait for further requests of a batch")
    max_batch: int = Field(128, ge=1, le=4096, description="sentences that are translated together")
    max_sentences: int = Field(2000, ge=1, description="sentences that may wait; further requests are answered by 503")
    time_limit: float = Field(30.0, gt=0, description="seconds after which a request is answered by 504")
    retry_after: int = Field(2, ge=1, le=3600, description="seconds after which a refused client may try again")


class LimitSettings(Settings):
    """Limits of a single request."""

    body_bytes: int = Field(1_000_000, ge=1000, description="largest body of a request, in bytes")
    file_bytes: int = Field(20_000_000, ge=1000, description="largest uploaded document, in bytes")
    texts: int = Field(500, ge=1, description="texts in one request")
    characters: int = Field(100_000, ge=1, description="characters of all texts of one request")
    beam: int = Field(10, ge=1, le=100, description="largest beam and n-best list")
    files: int = Field(20, ge=1, description="documents that are translated or wait for their download")
    file_minutes: float = Field(15.0, gt=0, description="minutes after which a translated document is deleted")
    file_time_limit: float = Field(600.0, gt=0, description="seconds to translate a document; then 504")
    read_seconds: float = Field(20.0, gt=0, description="seconds in which a client must send its whole request")
    connections: int = Field(2000, ge=1, description="connections at one time; further ones are answered by 503")
    shutdown_seconds: int = Field(30, ge=0, description="seconds to finish started requests at the end; then 503")


class ExplainSettings(Settings):
    """Limits of explanations, which are computed by a process of their own."""

    is_enabled: bool = Field(True, description="whether the server explains translations")
    max_waiting: int = Field(16, ge=1, description="explanations that may wait; further ones are answered by 503")
    max_tokens: int = Field(60, ge=1, description="tokens of a source or a target that is explained")
    time_limit: float = Field(60.0, gt=0, description="seconds after which an explanation is answered by 504")
    workers: int = Field(1, ge=1, le=64, description="processes that compute explanations")


class KeySettings(Settings):
    """API keys and rates."""

    file: str | None = Field(None, description="SQLite file of API keys; null: no keys")
    is_required: bool = Field(False, description="whether requests without a key are refused")
    rate: int | None = Field(None, ge=1, description="requests per minute for clients without a key; null: no limit")


class ServeSettings(Settings):
    """All settings of `clearhead serve`."""

    models: tuple[str, ...] = Field(
        (), description="run folders, OPUS-MT folders or names of built-in models; empty: the built-in models"
    )
    host: str = Field("127.0.0.1", description="address to listen on; 0.0.0.0 is reachable from other machines")
    port: int = Field(5000, ge=0, le=65535, description="port to listen on; 0 is any free port")
    beam: int = Field(
        1, ge=1, le=100, description="beam of requests that do not state one; 1 is greedy search, as in `translate`"
    )
    cors: tuple[str, ...] = Field((), description="origins whose pages may call the API; * is any")
    log: Literal["json", "off"] = Field("json", description="a JSON line for each request on standard error, or none")
    has_pages: bool = Field(True, description="whether the web pages are served, besides the API")
    loading: ModelSettings = Field(default_factory=ModelSettings, description="loading of models")
    queue: QueueSettings = Field(default_factory=QueueSettings, description="queue and batches")
    limits: LimitSettings = Field(default_factory=LimitSettings, description="limits of a request")
    explain: ExplainSettings = Field(default_factory=ExplainSettings, description="explanations")
    keys: KeySettings = Field(default_factory=KeySettings, description="API keys")
