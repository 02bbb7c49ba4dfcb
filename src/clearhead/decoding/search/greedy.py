"""Greedy search: write the most likely token at each step, with cached keys and values.

It equals beam search with a beam of 1, without the bookkeeping; a test compares the two.
"""

import torch
from torch import Tensor

from clearhead.model import SequenceModel


def greedy(model: SequenceModel, source: Tensor, max_length: int | Tensor) -> Tensor:
    """Return ids (B, T) that end with eos, padded on the right; a row that reached its `max_length` has no eos.

    `max_length` includes eos and can differ for each sentence (B,). The ids in `never_written` are not generated.
    """
    config = model.config
    limits = torch.as_tensor(max_length, device=source.device).expand(len(source))
    memory = model.encode(source)
    cache = model.start_cache(memory, len(source), source.device)
    token = torch.full_like(source[:, :1], config.start_id)  # (B, 1)
    is_going = limits > 0
    columns = []
    while bool(is_going.any()):
        logits = model.decode(token, memory, cache)[:, -1]  # (B, V)
        for hidden in config.never_written:
            logits[:, hidden] = float("-inf")
        token = torch.where(is_going, logits.argmax(dim=-1), config.pad)[:, None]
        columns.append(token)
        is_going = is_going & (token[:, 0] != config.eos) & (limits > len(columns))
    return torch.cat(columns, dim=1) if columns else source.new_empty(len(source), 0)
