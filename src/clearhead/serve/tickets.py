"""The requests of a lane, and whose turn it is: clients that wait get equal shares of the translated tokens."""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from clearhead.decoding.pipeline import EncodedPart, SourceLine
from clearhead.decoding.translation import Translation
from clearhead.serve.model_pool import EncodedText
from clearhead.serve.translation_task import TranslationTask

_QUANTUM = 32  # tokens of a batch for each client, about a sentence
IsDisconnected = Callable[[], Awaitable[bool]]


class Client(NamedTuple):
    """Who sent a request: an API key or an address, and whether the connection was closed."""

    name: str = ""
    is_disconnected: IsDisconnected | None = None


NOBODY = Client()


@dataclass(eq=False)
class Ticket:
    """A request in a lane: its lines, and as soon as they are encoded, the parts that no batch has taken yet."""

    task: TranslationTask
    lines: Sequence[SourceLine]
    client: Client
    future: "asyncio.Future[list[Translation]]"
    arrival: float
    text: EncodedText | None = None
    parts: deque[EncodedPart] = field(default_factory=deque)
    num_left: int = 0  # parts that are not translated yet

    @property
    def encoded(self) -> EncodedText:
        """The text, once it is encoded."""
        assert self.text is not None
        return self.text

    @property
    def translations(self) -> list[Translation] | None:
        """The translations of all lines, or None if parts are left or nobody waits for them."""
        return self.encoded.translations if self.num_left == 0 and self.is_wanted() else None

    def start(self, text: EncodedText) -> None:
        """Note the encoded text."""
        self.text = text
        self.parts.extend(text.searched)
        self.num_left = len(self.parts)

    def is_wanted(self) -> bool:
        """Return whether somebody waits for the answer; a search asks this between two steps, in another thread."""
        return not self.future.done()


class TicketPart(NamedTuple):
    """A part of a request in a batch."""

    ticket: Ticket
    part: EncodedPart

    @property
    def cost(self) -> int:
        """The tokens of the part, in each hypothesis of the beam."""
        return len(self.part.part.ids) * self.ticket.task.beam


class FairShares:
    """Chooses batches. The next part is always that of the client whose parts had the fewest tokens so far.

    A client that is further ahead than a quantum waits while others do. One that takes less than a quantum of a batch
    is charged for it, and one that returns starts with the lowest count of those that wait: no share is saved up.
    """

    def __init__(self) -> None:
        self._counts: dict[str, float] = {}  # tokens of each client
        self._least = 0.0  # of the clients that waited last

    def choose(self, tickets: Sequence[Ticket], most_tokens: float, most_parts: int) -> list[TicketPart]:
        """Return the parts of a batch: those of requests that can share one with the first, at least one part."""
        waiting = [ticket for ticket in tickets if ticket.parts and ticket.is_wanted()]
        if not waiting:
            return []
        names = dict.fromkeys(ticket.client.name for ticket in waiting)
        counts = {name: max(self._counts.get(name, 0.0), self._least) for name in names}
        self._least = min(counts.values())
        is_shared = len(names) > 1
        ahead = {name: count for name, count in self._counts.items() if count > self._least}
        self._counts = ahead | counts  # of a client that neither waits nor is ahead, nothing need be known
        first = min(waiting, key=lambda ticket: counts[ticket.client.name])
        queues: dict[str, deque[Ticket]] = {}
        for ticket in waiting:
            if ticket.task.group == first.task.group:
                queues.setdefault(ticket.client.name, deque()).append(ticket)
        most_ahead = self._least + _QUANTUM if is_shared else math.inf
        pieces = self._taken(queues, most_ahead, most_tokens, most_parts)
        for name in {piece.ticket.client.name for piece in pieces}:
            self._counts[name] = max(self._counts[name], counts[name] + _QUANTUM)
        if not is_shared:  # nobody waited meanwhile
            self._least = self._counts[first.client.name]
        return pieces

    def _taken(
        self, queues: dict[str, deque[Ticket]], most_ahead: float, most_tokens: float, most_parts: int
    ) -> list[TicketPart]:
        """Take parts in turn, one of each request of a client before the next of the same."""
        turns = [(self._counts[name], place, name) for place, name in enumerate(queues)]
        heapify(turns)
        pieces: list[TicketPart] = []
        num_tokens = 0
        while turns and len(pieces) < most_parts and (not pieces or num_tokens < most_tokens):
            count, place, name = turns[0]
            if pieces and count > most_ahead:
                break
            ticket = queues[name].popleft()
            piece = TicketPart(ticket, ticket.parts.popleft())
            pieces.append(piece)
            num_tokens += piece.cost
            self._counts[name] += piece.cost
            if ticket.parts:
                queues[name].append(ticket)
            if queues[name]:
                heapreplace(turns, (self._counts[name], place, name))
            else:
                heappop(turns)
        return pieces
