"""Whose turn it is: equal shares of tokens for clients, in whatever requests they come."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from clearhead.decoding.pipeline import EncodedLine, EncodedPart, SourceLine, TranslationPipeline
from clearhead.decoding.translation import TranslatedPart
from clearhead.formats.built_in import Direction
from clearhead.serve.catalogue import Route, ServedModel
from clearhead.serve.model_pool import EncodedText
from clearhead.serve.tickets import Client, FairShares, Ticket
from clearhead.serve.translation_task import TranslationTask

MODEL = ServedModel("m", Path("m"), (Direction(source="en", target="es"),), frozenset())
TASK = TranslationTask(Route(MODEL, "en", "es"))


def ticket_of(name: str, num_parts: int, num_tokens: int, task: TranslationTask = TASK) -> Ticket:
    """Return an encoded request of a client whose parts have so many tokens."""
    loop = asyncio.new_event_loop()
    ticket = Ticket(task, [], Client(name), loop.create_future(), 0.0)
    loop.close()
    parts = [TranslatedPart(name, "", tuple(range(num_tokens))) for _ in range(num_parts)]
    line = EncodedLine(SourceLine(1, name), [EncodedPart(part) for part in parts])
    ticket.start(EncodedText(cast(TranslationPipeline, None), [line]))
    return ticket


def served(shares: FairShares, tickets: Sequence[Ticket], num_batches: int, tokens: int = 256) -> Counter[str]:
    """Choose batches; return the tokens of each client."""
    counts: Counter[str] = Counter()
    for _ in range(num_batches):
        for piece in shares.choose(tickets, tokens, 128):
            counts[piece.ticket.client.name] += piece.cost
    return counts


def test_clients_get_equal_shares_of_tokens_whatever_the_length_of_their_sentences() -> None:
    tickets = [ticket_of("long", 997, 101), ticket_of("short", 997, 7)]
    counts = served(FairShares(), tickets, num_batches=100)
    assert abs(counts["long"] - counts["short"]) <= 101 + 32


def test_many_requests_of_a_client_have_the_share_of_one() -> None:
    tickets = [*(ticket_of("many", 11, 5) for _ in range(97)), ticket_of("one", 997, 5)]
    counts = served(FairShares(), tickets, num_batches=20)
    assert abs(counts["many"] - counts["one"]) <= 5 + 32


def test_the_requests_of_one_client_take_turns() -> None:
    tickets = [ticket_of("a", 13, 5), ticket_of("a", 13, 5), ticket_of("a", 1, 5)]
    batch = FairShares().choose(tickets, 15, 128)
    assert [piece.ticket for piece in batch] == tickets


def test_a_wider_beam_counts_for_more() -> None:
    wide = TranslationTask(TASK.route, beam=7)
    tickets = [ticket_of("wide", 997, 3, wide), ticket_of("greedy", 997, 3)]
    shares = FairShares()
    batches = [shares.choose(tickets, 256, 128) for _ in range(60)]
    names = Counter(piece.ticket.client.name for batch in batches for piece in batch)
    assert abs(7 * names["wide"] - names["greedy"]) <= (21 + 32) / 3
    assert all(len({piece.ticket.task.group for piece in batch}) == 1 for batch in batches)


def test_a_client_that_comes_later_neither_waits_for_the_earlier_nor_overtakes_for_long() -> None:
    long, shares = ticket_of("long", 997, 11), FairShares()
    served(shares, [long], num_batches=20)
    late = ticket_of("late", 997, 11)
    counts = served(shares, [long, late], num_batches=40)
    assert counts["long"] > 500
    assert abs(counts["long"] - counts["late"]) <= 11 + 32


def test_a_client_that_went_ahead_does_not_lose_its_count_by_leaving() -> None:
    shares, other = FairShares(), ticket_of("other", 9973, 5)
    counts: Counter[str] = Counter()
    for _ in range(200):  # a sentence of 50 tokens again and again, each in a request of its own
        counts += served(shares, [other, ticket_of("again", 1, 50)], num_batches=1)
    assert abs(counts["again"] - counts["other"]) <= 50 + 32


def test_clients_with_short_sentences_are_in_every_batch_and_one_with_a_long_text_hardly_lengthens_it() -> None:
    shares, long = FairShares(), ticket_of("long", 997, 23)
    for _ in range(40):
        short = [ticket_of(f"short {number}", 1, 5 + number) for number in range(10)]
        batch = shares.choose([long, *short], 600, 128)
        assert {piece.ticket for piece in batch} >= set(short)
        assert sum(piece.cost for piece in batch if piece.ticket is long) <= 32 + 2 * 23


def test_a_batch_has_at_least_one_part_and_none_that_nobody_waits_for() -> None:
    gone, here = ticket_of("gone", 5, 1000), ticket_of("here", 2, 1000)
    gone.future.cancel()
    shares = FairShares()
    assert [piece.ticket for piece in shares.choose([gone, here], 0.5, 128)] == [here]
    assert len(shares.choose([gone, here], 1e9, 128)) == 1
    assert shares.choose([gone, here], 1e9, 128) == []
