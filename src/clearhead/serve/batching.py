"""Batches across clients: requests that arrive within a few milliseconds are translated together, by one thread.

Each model has a lane, a queue with a loop. The thread encodes the texts and cuts them into parts that the model can
read; the loop chooses parts of all clients for a batch that is short enough, and the thread translates them. Answers do
not depend on what else is in a batch, except for rounding.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import TypeVar

from clearhead.decoding.pipeline import SourceLine
from clearhead.decoding.translation import Translation
from clearhead.errors import ClearheadError, is_out_of_memory
from clearhead.serve.api_errors import ApiError, stopping_error
from clearhead.serve.metrics import ServerMetrics
from clearhead.serve.model_pool import ModelPool, ModelWorker
from clearhead.serve.settings import QueueSettings
from clearhead.serve.tickets import NOBODY, Client, FairShares, Ticket, TicketPart
from clearhead.serve.translation_task import TextLines, TranslatedText, TranslationTask, joined, num_sentences

R = TypeVar("R")
_MAX_ROUNDS = 4  # the collection of a batch is prolonged this often, if requests keep arriving
_PAUSE = 10  # seconds until a client should try again after a lack of memory
_OLD = 0.1  # seconds; of a request that has waited longer, the connection is checked
_CHECK = 0.05  # seconds between two such checks
_BATCH_SECONDS = 0.05  # of a batch, by estimate; a request that arrives meanwhile waits for its end
_LEAST_TOKENS = 256  # where even a small batch takes longer, batches of one sentence each would only waste time
_TOKEN_SECONDS = 1e-4  # of a token in the first batch; later ones are estimated from those before
_ENCODED = 20_000  # characters that are encoded before the next batch


class Lane:
    """The queue of one worker, and the task that empties it."""

    def __init__(self, worker: ModelWorker, settings: QueueSettings, metrics: ServerMetrics) -> None:
        self.worker, self.settings, self.metrics = worker, settings, metrics
        self.tickets: list[Ticket] = []  # that wait or are being translated
        self._shares = FairShares()
        self._token_seconds = _TOKEN_SECONDS
        self._last_check = 0.0
        self._has_tickets = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    def add(self, ticket: Ticket) -> None:
        """Add a request."""
        self.tickets.append(ticket)
        self._has_tickets.set()

    def remove(self, ticket: Ticket) -> None:
        """Remove a request that is answered or given up."""
        self.tickets.remove(ticket)

    async def _run(self) -> None:
        while True:
            if not any(ticket.is_wanted() for ticket in self.tickets):
                self._has_tickets.clear()
                await self._has_tickets.wait()
            await self._collect()
            await self._drop_disconnected()
            await self._encode()
            most_tokens = max(_LEAST_TOKENS, _BATCH_SECONDS / self._token_seconds)
            batch = self._shares.choose(self.tickets, most_tokens, self.settings.max_batch)
            if batch:
                await self._translate(batch)

    async def _collect(self) -> None:
        """Wait for further requests, longer if they keep arriving."""
        count = 0
        for _ in range(_MAX_ROUNDS):
            if not count < len(self.tickets) < self.settings.max_batch:
                return
            count = len(self.tickets)
            await asyncio.sleep(self.settings.collect_ms / 1000)

    async def _drop_disconnected(self) -> None:
        """Give up old requests whose clients have closed the connection."""
        now = self._loop.time()
        if now - self._last_check < _CHECK:
            return
        self._last_check = now
        for ticket in [ticket for ticket in self.tickets if ticket.arrival < now - _OLD]:
            is_disconnected = ticket.client.is_disconnected
            if ticket.is_wanted() and is_disconnected is not None and await is_disconnected():
                self.metrics.cancelled.inc()
                _answer(ticket, ApiError(400, "the client closed the connection before the answer."))

    async def _encode(self) -> None:
        """Encode the oldest requests that are not encoded yet."""
        tickets: list[Ticket] = []
        num_characters = 0
        for ticket in self.tickets:
            if ticket.text is None and ticket.is_wanted() and num_characters < _ENCODED:
                tickets.append(ticket)
                num_characters += sum(len(line.text) for line in ticket.lines)
        if tickets:
            outcomes = await self._loop.run_in_executor(self.worker.executor, self._encode_tickets, tickets)
            for ticket, outcome in zip(tickets, outcomes, strict=True):
                _answer(ticket, outcome)

    def _encode_tickets(self, tickets: Sequence[Ticket]) -> list["list[Translation] | Exception | None"]:
        """Encode requests in the thread of the worker; return the answers of those that need no search."""
        outcomes: list[list[Translation] | Exception | None] = []
        for ticket in tickets:
            try:
                ticket.start(self.worker.encode(ticket.task, ticket.lines, ticket.is_wanted))
                outcomes.append(ticket.translations)
            except Exception as fault:  # this request fails, the lane goes on
                outcomes.append(_shown_fault(fault))
        return outcomes

    async def _translate(self, batch: Sequence[TicketPart]) -> None:
        start = self._loop.time()
        tickets = list(dict.fromkeys(piece.ticket for piece in batch))
        self.tickets.sort(key=set(tickets).__contains__)  # after those that wait for their turn
        work = self._loop.run_in_executor(self.worker.executor, self._work, tickets, batch)
        while not (await asyncio.wait([work], timeout=_CHECK))[0]:
            await self._drop_disconnected()
        self.worker.last_used = monotonic()
        seconds = self._loop.time() - start
        if all(ticket.is_wanted() for ticket in tickets):  # otherwise the batch may have been stopped
            self._token_seconds = (self._token_seconds + seconds / sum(piece.cost for piece in batch)) / 2
        self.metrics.batch_sentences.observe(len(batch))
        self.metrics.batch_seconds.observe(seconds)
        for ticket, outcome in zip(tickets, work.result(), strict=True):
            _answer(ticket, outcome)

    def _work(
        self, tickets: Sequence[Ticket], batch: Sequence[TicketPart]
    ) -> list["list[Translation] | Exception | None"]:
        """Translate a batch in the thread of the worker; return the answers of the requests that it completes."""
        try:
            self.worker.search(tickets[0].task, tickets[0].encoded, [piece.part for piece in batch])
        except (ClearheadError, ApiError) as wrong:
            if len(tickets) == 1:
                return [wrong]
            # an error concerns only the request that causes it
            return [self._work([ticket], [piece for piece in batch if piece.ticket is ticket])[0] for ticket in tickets]
        except Exception as fault:  # the requests of this batch fail, the lane goes on
            return [_shown_fault(fault) for _ in tickets]
        for piece in batch:
            piece.ticket.num_left -= 1
        return [ticket.translations for ticket in tickets]

    def refuse_all(self) -> None:
        """Answer 503 to all requests that wait or are being translated."""
        for ticket in self.tickets:
            _answer(ticket, stopping_error())

    async def close(self) -> None:
        """End the loop; requests that still wait are refused."""
        self._task.cancel()
        self.refuse_all()


def _answer(ticket: Ticket, outcome: "list[Translation] | Exception | None") -> None:
    """Answer a request, if there is something to answer and somebody waits for it."""
    if outcome is None or not ticket.is_wanted():
        return
    if isinstance(outcome, Exception):
        ticket.future.set_exception(outcome)
    else:
        ticket.future.set_result(outcome)


def _shown_fault(fault: Exception) -> Exception:
    """Return an answer for a fault that is not a bug, such as a lack of memory; otherwise the fault itself."""
    if is_out_of_memory(fault):
        return ApiError(503, "there is not enough memory to translate this now. Try again later.", retry_after=_PAUSE)
    return fault


class Batcher:
    """Translates the texts of all clients, within the limits of the queue."""

    def __init__(self, pool: ModelPool, settings: QueueSettings, metrics: ServerMetrics) -> None:
        self.pool, self.settings, self.metrics = pool, settings, metrics
        self._lanes: dict[ModelWorker, Lane] = {}
        self._waiting: Counter[str] = Counter()  # sentences of each client that wait or are being translated

    @property
    def num_waiting(self) -> int:
        """The number of sentences that wait or are being translated."""
        return self._waiting.total()

    async def translate(
        self, task: TranslationTask, texts: Sequence[str], client: Client = NOBODY, time_limit: float | None = None
    ) -> list[TranslatedText]:
        """Translate texts; raise ApiError 503 if too many sentences wait, and 504 if it takes too long.

        `time_limit` is a number of seconds; None is the limit of the settings.
        """
        sources = [TextLines.of(text) for text in texts]
        numbered = (source.lines[place] for source in sources for place in source.places)
        lines = [SourceLine(number, line) for number, line in enumerate(numbered, 1)]
        if not lines:
            return joined(sources, ())
        weight = sum(num_sentences(line.text) for line in lines)
        loop = asyncio.get_running_loop()
        ticket = Ticket(task, lines, client, loop.create_future(), loop.time())
        worker = self.pool.worker(task.route.model, is_plain=task.is_plain)
        async with self._admitted(weight, client, time_limit):
            lane = self._lane(worker)
            lane.add(ticket)
            try:
                translations = await ticket.future
            finally:
                ticket.future.cancel()
                lane.remove(ticket)
        self.metrics.sentences.inc(weight)
        return joined(sources, translations)

    async def run(
        self, worker: ModelWorker, steps: Sequence[Callable[[], R]], weight: int = 1, client: Client = NOBODY
    ) -> list[R]:
        """Call functions in the thread of a worker, between the batches of others; they count as sentences.

        When the request is given up, the running function is the last one.
        """
        results: list[R] = []
        async with self._admitted(weight, client):
            for step in steps:
                if client.is_disconnected is not None and await client.is_disconnected():
                    raise ApiError(400, "the client closed the connection before the answer.")
                try:
                    results.append(await asyncio.get_running_loop().run_in_executor(worker.executor, step))
                except (RuntimeError, MemoryError) as fault:
                    raise _shown_fault(fault) from None
                finally:
                    worker.last_used = monotonic()
        return results

    @asynccontextmanager
    async def _admitted(self, weight: int, client: Client, time_limit: float | None = None) -> AsyncIterator[None]:
        """Count sentences as waiting; raise ApiError 503 if there are too many, and 504 if they take too long."""
        limit = self.settings.time_limit if time_limit is None else time_limit
        self._admit(weight, client)
        self._count(weight, client)
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            self.metrics.late.inc()
            raise ApiError(504, f"the request took longer than the limit of {limit:g} s. Send less text.") from None
        finally:
            self._count(-weight, client)

    def _admit(self, weight: int, client: Client) -> None:
        """Raise ApiError if the queue has no room for a request, or half of it is full of the same client's."""
        most = self.settings.max_sentences
        if weight > most:
            raise ApiError(413, f"the request has about {weight:,} sentences, but the maximum is {most:,}. Send less.")
        own = self._waiting[client.name]
        sentence = ""
        if self.num_waiting + weight > most:
            sentence = f"the queue is full: {self.num_waiting:,} of {most:,} sentences are waiting. Try again later."
        elif own and own + weight > most / 2:
            sentence = f"{own:,} of your sentences are waiting, and half of the queue ({most // 2:,}) is the most for "
            sentence += "one client. Try again later."
        if sentence:
            self.metrics.refused.inc()
            raise ApiError(503, sentence, retry_after=self.settings.retry_after)

    def _count(self, weight: int, client: Client) -> None:
        self._waiting[client.name] += weight
        if not self._waiting[client.name]:
            del self._waiting[client.name]
        self.metrics.waiting.set(self.num_waiting)

    def _lane(self, worker: ModelWorker) -> Lane:
        if worker not in self._lanes:
            self._lanes[worker] = Lane(worker, self.settings, self.metrics)
        return self._lanes[worker]

    def refuse_all(self) -> None:
        """Answer 503 to all requests, because the server stops."""
        for lane in self._lanes.values():
            lane.refuse_all()

    async def close(self) -> None:
        """End all lanes."""
        for lane in self._lanes.values():
            await lane.close()
