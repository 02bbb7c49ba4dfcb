"""Small tasks that a model must learn: their sentences, a training loop of a dozen lines, greedy decoding."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clearhead.model import Batch, ModelConfig, SequenceModel, build_model, check_batch

PAD, BOS, EOS, FIRST = 0, 1, 2, 3  # the first word is 3
VOCABULARY, SHORTEST, LONGEST = 20, 3, 10

Task = Callable[[int, torch.Generator], Batch]


@dataclass(frozen=True)
class Recipe:
    """How long and how fast to train."""

    steps: int
    rate: float = 3e-3
    batch: int = 64
    warm_up: int = 100


def train(config: ModelConfig, task: Task, recipe: Recipe) -> SequenceModel:
    """Train a model on fresh batches of a task: AdamW, warm-up, then a cosine down to 0."""
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(1)
    model = build_model(config)
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    for step in range(1, recipe.steps + 1):
        gone = max(0, step - recipe.warm_up) / (recipe.steps - recipe.warm_up)
        rate = recipe.rate * min(step / recipe.warm_up, 0.5 * (1 + math.cos(math.pi * gone)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = task(recipe.batch, random)
        if step == 1:
            check_batch(batch, config)
        optimiser.zero_grad()
        model.loss(batch).mean.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


@torch.no_grad()
def greedy(model: SequenceModel, source: Tensor, longest: int) -> Tensor:
    """Write the most probable token again and again, with a cache, until eos: (B, longest), padded on the right."""
    memory = model.encode(source)
    cache = model.start_cache(memory, len(source), source.device)
    token = torch.full((len(source), 1), model.config.start_id)
    has_ended = torch.zeros(len(source), 1, dtype=torch.bool)
    tokens = []
    for _ in range(longest):
        token = model.decode(token, memory, cache).argmax(dim=-1)
        token = token.masked_fill(has_ended, PAD)
        has_ended = has_ended | (token == EOS)
        tokens.append(token)
    return torch.cat(tokens, dim=1)


def held_out(task: Task, number: int = 512) -> Batch:
    """Return sentences drawn with a different seed than those of training."""
    return task(number, torch.Generator().manual_seed(2))


def small_config(**changes: Any) -> ModelConfig:
    """Return the config of one block per side, of width 64: enough for these tasks."""
    sizes = {"source_vocabulary": VOCABULARY, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 64}
    own = {"d_ff": 128, "num_heads": 4} if "architecture" not in changes else {}
    return ModelConfig(**{**sizes, **own, "dropout": 0.0, "max_length": 16, **changes})


# Tasks


def _words(number: int, random: torch.Generator, longest: int = LONGEST) -> Iterator[list[int]]:
    lengths = torch.randint(SHORTEST, longest + 1, (number,), generator=random).tolist()
    words = torch.randint(FIRST, VOCABULARY, (number, longest), generator=random).tolist()
    return (row[:length] for row, length in zip(words, lengths, strict=True))


def padded(rows: list[list[int]]) -> Tensor:
    """Return sentences of one length, each ended by eos and padded on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, EOS, *[PAD] * (longest - len(row))] for row in rows])


def rewriting(rule: Callable[[list[int]], list[int]], longest: int = LONGEST) -> Task:
    """Return the task of writing the result of a rule for a sentence."""

    def task(number: int, random: torch.Generator) -> Batch:
        rows = list(_words(number, random, longest))
        return Batch(padded(rows), padded([rule(row) for row in rows]))

    return task


def counting_on(number: int, random: torch.Generator) -> Batch:
    """A language in which two words determine all that follow: each word repeats the step between the two before it.

    Words are counted round a ring of 17; the first two of a sentence cannot be predicted.
    """
    ring = VOCABULARY - FIRST
    starts, steps = torch.randint(0, ring, (2, number, 1), generator=random)
    return Batch(target=FIRST + (starts + steps * torch.arange(LONGEST)) % ring, is_padded=False)


def commonest(number: int, random: torch.Generator) -> Batch:
    """Which of three words a sentence has most of; the sentence has no tie."""
    rows, labels = [], []
    while len(rows) < number:
        for row in _words(number, random):
            few = [FIRST + word % 3 for word in row]
            counts = [few.count(FIRST + kind) for kind in range(3)]
            if counts.count(max(counts)) == 1 and len(rows) < number:
                rows.append(few)
                labels.append(counts.index(max(counts)))
    return Batch(padded(rows), labels=torch.tensor(labels))
