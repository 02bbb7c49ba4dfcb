"""The output tokens of a traced pass: probability, alternatives and logit lens of each."""

from collections.abc import Iterable, Sequence

import torch

from clearhead.explain.explanation import ExplainedToken
from clearhead.explain.lens import decided_at, logit_lens, ranked
from clearhead.explain.traced_pass import TracedPass
from clearhead.model import Transformer


def explained_outputs(
    model: Transformer, traced: TracedPass, tokens: Sequence[int], names: Sequence[str], number: int
) -> tuple[ExplainedToken, ...]:
    """Explain tokens, one for each row of the logits, or classes, which share a single row; `names` are their texts."""
    log_probs = torch.log_softmax(traced.logits, dim=-1)
    log_probs = log_probs.expand(len(tokens), -1)  # (T, V)
    own = log_probs.gather(1, torch.tensor(list(tokens), device=log_probs.device)[:, None])
    ranks = (log_probs > own).sum(dim=1).tolist()
    alternatives = ranked(log_probs.exp(), number)
    lens = logit_lens(model, traced, list(tokens))
    return tuple(
        ExplainedToken(
            position=position,
            token=token,
            piece=names[position],
            probability=float(own[position, 0].exp()),
            log_prob=float(own[position, 0]),
            rank=ranks[position],
            alternatives=alternatives[position],
            lens=tuple(lens[position]),
            decided_at=decided_at(lens[position]),
        )
        for position, token in enumerate(tokens)
    )


def shown_ids(outputs: Iterable[ExplainedToken]) -> set[int]:
    """Return the ids of all tokens that outputs name: their own, alternatives, and those of the lens."""
    ids = set()
    for output in outputs:
        ids |= {output.token, *(other.token for other in output.alternatives)}
        ids |= {best.token for layer in output.lens for best in layer.best}
    return ids
