"""Stories about persons, rooms and things, with questions that take one, two or three lookups.

"Karin: Paul. Paul: kitchen. kitchen: guitar. … Karin: it" says that Karin's brother is Paul, that he entered the
kitchen, that a guitar is there, and asks what he picked up. A place of the input is a word with the word before it, so
that a statement is one place, and finding it is one lookup for attention.
"""

import torch
from torch import Tensor

from clearhead.model import Batch

_VOCABULARY = (
    "he where it "
    "Karin Anna Maria Julia Petra Helga Sofia Ingrid Nora Vera Wanda Clara Elena Lotte Irma Frida Olga Ursula "
    "Paul Otto Emil Jonas Hugo Karl Felix Leo Anton Bruno Oskar Erik Jakob Moritz Simon Theo Konrad Viktor "
    "kitchen garden cellar attic hall study garage porch "
    "guitar wine book cake lamp coin drum kite"
)
WORDS = _VOCABULARY.split()
NUM_WORDS, NUM_NAMES, NUM_ROOMS, CHAINS = len(WORDS), 18, 8, 4
ROOM, THING = WORDS.index("kitchen"), WORDS.index("guitar")
KINDS = ((3, NUM_NAMES), (3 + NUM_NAMES, NUM_NAMES), (ROOM, NUM_ROOMS), (THING, NUM_ROOMS))
NUM_RESERVED = 4  # the last names of women and of brothers: training never asks what such a person picked up
SHARE_ALL_NAMES = 0.2  # of the stories of training, in which all names occur
SHARES = torch.tensor([0.2, 0.3, 0.5])  # of questions with one, two and three hops in training


def draw_stories(number: int, random: torch.Generator, hops: int | None = None, *, is_reserved: bool = False) -> Batch:
    """Return 12 shuffled statements with a question about every chain (number, 16), and the answers (number, 4).

    A chain is a woman, her brother, a room and a thing. Tests ask for the thing; training (no `hops`) for any word.
    """
    end = torch.full((number, CHAINS), 3)
    has_all_names = torch.tensor(False)
    if hops is None:
        lookups = 1 + torch.multinomial(SHARES, number * CHAINS, replacement=True, generator=random).view(end.shape)
        start = (torch.rand(end.shape, generator=random) * (4 - lookups)).long()
        has_all_names = torch.rand(number, 1, generator=random) < SHARE_ALL_NAMES
        end = start + lookups
        end = torch.where(has_all_names & (start < 2), end.clamp(max=2), end)  # persons: no questions for things
    else:
        start = end - hops
    columns = []
    for first, size in KINDS:
        order = torch.rand(number, size, generator=random)
        if size == NUM_NAMES:
            order[:, -NUM_RESERVED:] += torch.where(has_all_names, 0.0, -2.0 if is_reserved else 2.0)
        columns.append(first + order.argsort(dim=1)[:, :CHAINS])
    chains = torch.stack(columns, dim=2)  # (B, chains, 4)
    statements = (chains[:, :, 1:] + NUM_WORDS * chains[:, :, :-1]).flatten(1)
    order = torch.rand(statements.shape, generator=random).argsort(dim=1)
    subjects = chains.gather(2, start[:, :, None])[:, :, 0]
    questions = end - 1 + NUM_WORDS * subjects  # "he", "where" or "it"
    source = torch.cat((statements.gather(1, order), questions), dim=1)
    return Batch(source, labels=chains.gather(2, end[:, :, None])[:, :, 0], is_padded=False)


def held_out_stories(
    number: int, random: torch.Generator, hops: int, *, is_reserved: bool = False
) -> tuple[Tensor, Tensor]:
    """Return stories of a test, and the answers to their first questions (number,)."""
    batch = draw_stories(number, random, hops, is_reserved=is_reserved)
    assert batch.source is not None
    assert batch.labels is not None
    return batch.source, batch.labels[:, 0]


def last_mention(source: Tensor) -> Tensor:
    """Return the things (B,) that the stories mention last."""
    words = source % NUM_WORDS
    last = (torch.arange(source.shape[1]) * (words >= THING)).argmax(dim=1, keepdim=True)
    return words.gather(1, last)[:, 0]


def text_of(place: int) -> str:
    """Return the two words of a place: `Karin: Paul`."""
    return f"{WORDS[place // NUM_WORDS]}: {WORDS[place % NUM_WORDS]}"


def path_of(source: Tensor) -> list[int]:
    """Return the places of the first question of a story (T,) and of the statements that lead to the thing."""
    subjects = (source // NUM_WORDS).tolist()
    path = [len(source) - CHAINS]
    word = subjects[path[0]]
    while word < THING:
        path.append(subjects.index(word))
        word = int(source[path[-1]]) % NUM_WORDS
    return path
