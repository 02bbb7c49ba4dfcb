"""The server as one object: its settings, models, batches, keys and metrics. There are no globals."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from clearhead.errors import ConfigError, printable
from clearhead.serve.access import Access
from clearhead.serve.api_errors import ApiError
from clearhead.serve.batching import Batcher
from clearhead.serve.catalogue import Catalogue, ServedModel, make_catalogue
from clearhead.serve.detection import DetectedLanguage, Detector
from clearhead.serve.metrics import ServerMetrics
from clearhead.serve.model_pool import ModelPool
from clearhead.serve.request_log import RequestLog
from clearhead.serve.settings import ServeSettings
from clearhead.text.tokeniser import Tokeniser

A = TypeVar("A")
R = TypeVar("R")
Hook = Callable[[], Awaitable[None]]
_CHECK_SECONDS = 20.0  # between checks for idle models


class Server:
    """What all endpoints share; `start` and `stop` are called once, when the application starts and ends."""

    def __init__(self, settings: ServeSettings) -> None:
        if settings.keys.file is not None and not Path(settings.keys.file).is_file():
            raise ConfigError(
                f"keys.file = '{printable(settings.keys.file)}' does not exist. Add a key first, or leave it out.",
                options=("keys",),
            )
        if settings.keys.is_required and settings.keys.file is None:
            raise ConfigError(
                "keys.is_required = true, but there is no keys.file. Add a key to a file, and name this file.",
                options=("keys", "add_key"),
            )
        self.settings = settings
        self.catalogue: Catalogue = make_catalogue(settings.models)
        self.log = RequestLog(is_on=settings.log == "json")
        self.metrics = ServerMetrics()
        self.pool = ModelPool(self.catalogue, settings.loading, self.log)
        self.batcher = Batcher(self.pool, settings.queue, self.metrics)
        self.access = Access(settings.keys)
        self.detector = Detector(self.catalogue.codes)
        self.is_stopping = False
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="detection")  # for work without a model
        self.document_threads = ThreadPoolExecutor(2, thread_name_prefix="documents")
        # By the name of a client; whoever has or waits for a turn keeps the lock.
        self.document_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._stopping: list[Hook] = []
        self._idle_check: asyncio.Task[None] | None = None

    def at_stop(self, hook: Hook) -> None:
        """Call a coroutine function when the server stops, after the last answer; the latest one first."""
        self._stopping.append(hook)

    def check_texts(self, texts: list[str]) -> None:
        """Raise ApiError 400 if a request has too many texts, or they are too long."""
        limits = self.settings.limits
        if len(texts) > limits.texts:
            raise ApiError(
                400, f"Invalid request: request ({len(texts)}) exceeds text limit ({limits.texts}). Send fewer texts."
            )
        size = sum(map(len, texts))
        if size > limits.characters:
            raise ApiError(
                400, f"Invalid request: request ({size}) exceeds text limit ({limits.characters}). Send shorter texts."
            )

    async def detect(self, texts: list[str]) -> DetectedLanguage:
        """Detect the language of texts without blocking the event loop."""
        return (await self.in_thread(self.detector.detect, " ".join(texts)))[0]

    async def in_thread(self, work: Callable[[A], R], argument: A) -> R:
        """Call a function in a thread for work without a model."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work, argument)

    async def tokeniser(self, model: ServedModel, *, is_plain: bool) -> Tokeniser:
        """Return the target tokeniser of a model that has been used before."""
        worker = self.pool.worker(model, is_plain=is_plain)
        if worker.target is None:  # all texts were empty, or the model was unloaded in the meantime
            await self.batcher.run(worker, [worker.translator])
        assert worker.target is not None
        return worker.target

    def preload(self) -> None:
        """Load all models if the settings say so; raise ConfigError if one of them cannot be loaded."""
        if not self.settings.loading.preload:
            return
        for model in self.catalogue.models:
            worker = self.pool.worker(model)
            try:
                worker.executor.submit(worker.translator).result()
            except ApiError as wrong:
                raise ConfigError(wrong.sentence) from None

    async def start(self) -> None:
        """Start everything that needs a running event loop."""
        if self.settings.loading.idle_minutes is not None:
            self._idle_check = asyncio.get_running_loop().create_task(self._unload_idle())

    async def _unload_idle(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            for name in self.pool.unload_idle():
                self.log.event("unloaded", {"model": name})

    def interrupt(self) -> None:
        """Answer 503 to requests that are still being translated, because the time to finish them is over."""
        self.is_stopping = True
        self.batcher.refuse_all()

    async def stop(self) -> None:
        """Release everything."""
        self.is_stopping = True
        for hook in reversed(self._stopping):
            await hook()
        if self._idle_check is not None:
            self._idle_check.cancel()
        await self.batcher.close()
        for threads in (self.threads, self.document_threads):
            threads.shutdown(wait=False, cancel_futures=True)
        self.pool.close()
        self.log.flush()
