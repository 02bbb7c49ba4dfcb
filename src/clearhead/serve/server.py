"""The server as one object: its settings, models, batches, keys and metrics. There are no globals."""

from collections.abc import Awaitable, Callable

from clearhead.serve.catalogue import Catalogue, make_catalogue
from clearhead.serve.settings import ServeSettings

Hook = Callable[[], Awaitable[None]]


class Server:
    """What all endpoints share; `start` and `stop` are called once, when the application starts and ends."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.catalogue: Catalogue = make_catalogue(settings.models)
        self._starting: list[Hook] = []
        self._stopping: list[Hook] = []

    def at_start(self, hook: Hook) -> None:
        """Call a coroutine function when the server starts, before it accepts requests."""
        self._starting.append(hook)

    def at_stop(self, hook: Hook) -> None:
        """Call a coroutine function when the server stops, after the last answer; the latest one first."""
        self._stopping.append(hook)

    async def start(self) -> None:
        """Start everything that needs a running event loop."""
        for hook in self._starting:
            await hook()

    async def stop(self) -> None:
        """Release everything."""
        for hook in reversed(self._stopping):
            await hook()
