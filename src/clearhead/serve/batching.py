"""Batches across clients: requests that arrive within a few milliseconds are translated together, by one thread.

Each model has a lane, a queue with a loop that takes the oldest waiting request, adds those that can share its batch,
and translates them. Answers do not depend on what else is in a batch, except for rounding.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from clearhead.decoding.pipeline import SourceLine
from clearhead.decoding.translation import Translation
from clearhead.errors import ClearheadError, is_out_of_memory
from clearhead.serve.api_errors import ApiError, stopping_error
from clearhead.serve.metrics import ServerMetrics
from clearhead.serve.model_pool import ModelPool, ModelWorker
from clearhead.serve.settings import QueueSettings
from clearhead.serve.translation_task import TextLines, TranslatedText, TranslationTask, joined, num_sentences

R = TypeVar("R")
IsDisconnected = Callable[[], Awaitable[bool]]
_MAX_ROUNDS = 4  # the collection of a batch is prolonged this often, if requests keep arriving
_PAUSE = 10  # seconds until a client should try again after a lack of memory
_OLD = 0.1  # seconds; of a request that has waited longer, the connection is checked before it is translated


@dataclass(eq=False)
class Ticket:
    """A request in a lane: its lines, and how many of them were taken into batches."""

    task: TranslationTask
    lines: Sequence[SourceLine]
    future: "asyncio.Future[list[Translation]]"
    is_disconnected: IsDisconnected | None
    arrival: float
    num_taken: int = 0
    translations: list[Translation] = field(default_factory=list)

    @property
    def num_left(self) -> int:
        """The number of lines that were not taken yet."""
        return len(self.lines) - self.num_taken

    def take(self, number: int) -> Sequence[SourceLine]:
        """Take the next lines; they stay counted as waiting until the batch is finished."""
        lines = self.lines[self.num_taken : self.num_taken + number]
        self.num_taken += len(lines)
        return lines


class Lane:
    """The queue of one worker, and the task that empties it."""

    def __init__(self, worker: ModelWorker, settings: QueueSettings, metrics: ServerMetrics) -> None:
        self.worker, self.settings, self.metrics = worker, settings, metrics
        self.tickets: deque[Ticket] = deque()
        self._batch_tickets: list[Ticket] = []  # of the batch that is being translated
        self._has_tickets = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    def add(self, ticket: Ticket) -> None:
        """Add a request."""
        self.tickets.append(ticket)
        self._has_tickets.set()

    def remove(self, ticket: Ticket) -> None:
        """Remove a request that nobody waits for any more."""
        if ticket in self.tickets:
            self.tickets.remove(ticket)

    async def _run(self) -> None:
        while True:
            if not self.tickets:
                self._has_tickets.clear()
                await self._has_tickets.wait()
            await self._collect()
            await self._drop_disconnected()
            batch = self._batch()
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
        """Cancel old requests whose clients have closed the connection."""
        oldest = self._loop.time() - _OLD
        for ticket in [ticket for ticket in self.tickets if ticket.arrival < oldest]:
            if ticket.is_disconnected is not None and await ticket.is_disconnected():
                if not ticket.future.done():
                    ticket.future.set_exception(ApiError(400, "the client closed the connection before the answer."))
                self.remove(ticket)
                self.metrics.cancelled.inc()

    def _batch(self) -> list[tuple[Ticket, Sequence[SourceLine]]]:
        """Take a fair share of every request that can share a batch with the oldest one, then fill up with the rest."""
        while self.tickets and self.tickets[0].future.done():
            self.tickets.popleft()
        if not self.tickets:
            return []
        group = self.tickets[0].task.group
        tickets = [ticket for ticket in self.tickets if ticket.task.group == group and not ticket.future.done()]
        room = self.settings.max_batch
        tickets = tickets[:room]
        share = max(1, room // len(tickets))
        batch: list[tuple[Ticket, Sequence[SourceLine]]] = []
        for limit in (share, room):
            for ticket in tickets:
                lines = ticket.take(min(limit, room))
                if lines:
                    batch.append((ticket, lines))
                    room -= len(lines)
                if not room:
                    break
        self.tickets = deque(ticket for ticket in self.tickets if ticket.num_left)
        return batch

    async def _translate(self, batch: Sequence[tuple[Ticket, Sequence[SourceLine]]]) -> None:
        start = self._loop.time()
        self._batch_tickets = [ticket for ticket, _ in batch]
        try:
            outcomes = await self._loop.run_in_executor(self.worker.executor, self._work, batch)
        except Exception as fault:  # the requests of this batch fail, the lane goes on
            outcomes = [_shown_fault(fault) for _ in batch]
        self.worker.last_used = monotonic()
        self.metrics.batch_sentences.observe(sum(len(lines) for _, lines in batch))
        self.metrics.batch_seconds.observe(self._loop.time() - start)
        for (ticket, _), outcome in zip(batch, outcomes, strict=True):
            if ticket.future.done():
                continue
            if isinstance(outcome, BaseException):
                ticket.future.set_exception(outcome)
                self.remove(ticket)
                continue
            ticket.translations += outcome
            if len(ticket.translations) == len(ticket.lines):
                ticket.future.set_result(ticket.translations)

    def _work(self, batch: Sequence[tuple[Ticket, Sequence[SourceLine]]]) -> list[list[Translation] | BaseException]:
        """Translate a batch in the thread of the worker; an error concerns only the request that causes it."""
        task = batch[0][0].task
        try:
            translations = iter(self.worker.translate(task, [line for _, lines in batch for line in lines]))
            return [[next(translations) for _ in lines] for _, lines in batch]
        except (ClearheadError, ApiError) as wrong:
            if len(batch) == 1:
                return [wrong]
        outcomes: list[list[Translation] | BaseException] = []
        for ticket, lines in batch:
            try:
                outcomes.append(self.worker.translate(ticket.task, lines))
            except (ClearheadError, ApiError) as wrong:
                outcomes.append(wrong)
        return outcomes

    def refuse_all(self) -> None:
        """Answer 503 to all requests that wait or are being translated."""
        for ticket in (*self.tickets, *self._batch_tickets):
            if not ticket.future.done():
                ticket.future.set_exception(stopping_error())

    async def close(self) -> None:
        """End the loop; requests that still wait are refused."""
        self._task.cancel()
        self.refuse_all()


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
        self.num_waiting = 0  # sentences that wait or are being translated

    async def translate(
        self,
        task: TranslationTask,
        texts: Sequence[str],
        is_disconnected: IsDisconnected | None = None,
        time_limit: float | None = None,
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
        ticket = Ticket(task, lines, loop.create_future(), is_disconnected, loop.time())
        worker = self.pool.worker(task.route.model, is_plain=task.is_plain)
        async with self._admitted(weight, time_limit):
            lane = self._lane(worker)
            lane.add(ticket)
            try:
                translations = await ticket.future
            finally:
                ticket.future.cancel()
                if ticket.num_left:
                    lane.remove(ticket)
        self.metrics.sentences.inc(weight)
        return joined(sources, translations)

    async def run(self, worker: ModelWorker, function: Callable[[], R], weight: int = 1) -> R:
        """Call a function in the thread of a worker; it counts as sentences of the queue."""
        async with self._admitted(weight):
            try:
                return await asyncio.get_running_loop().run_in_executor(worker.executor, function)
            except (RuntimeError, MemoryError) as fault:
                raise _shown_fault(fault) from None
            finally:
                worker.last_used = monotonic()

    @asynccontextmanager
    async def _admitted(self, weight: int, time_limit: float | None = None) -> AsyncIterator[None]:
        """Count sentences as waiting; raise ApiError 503 if there are too many, and 504 if they take too long."""
        limit = self.settings.time_limit if time_limit is None else time_limit
        self._admit(weight)
        self._count(weight)
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            self.metrics.late.inc()
            raise ApiError(504, f"the request took longer than the limit of {limit:g} s. Send less text.") from None
        finally:
            self._count(-weight)

    def _admit(self, weight: int) -> None:
        """Raise ApiError if the queue has no room for a request."""
        most = self.settings.max_sentences
        if weight > most:
            raise ApiError(413, f"the request has about {weight:,} sentences, but the maximum is {most:,}. Send less.")
        if self.num_waiting + weight > most:
            self.metrics.refused.inc()
            sentence = f"the queue is full: {self.num_waiting:,} of {most:,} sentences are waiting. Try again later."
            raise ApiError(503, sentence, retry_after=self.settings.retry_after)

    def _count(self, weight: int) -> None:
        self.num_waiting += weight
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
