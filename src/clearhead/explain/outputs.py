"""The output tokens of a traced pass: probability, alternatives and logit lens of each."""

from collections.abc import Iterable, Sequence

import torch

from clearhead.explain.explanation import ExplainedToken
from clearhead.explain.lens import decided_at, logit_lens, ranked
from clearhead.explain.traced_pass import TracedPass
from clearhead.model import SequenceModel


def explained_outputs(
    model: SequenceModel, traced: TracedPass, tokens: Sequence[int], names: Sequence[str], number: int
) -> tuple[ExplainedToken, ...]:
    """Explain tokens, one for each row of the logits, or classes, which share a single row; `names` are their texts."""
    own = torch.tensor(list(tokens), device=traced.logits.device)[:, None]
    logits = traced.allowed(traced.logits).expand(len(tokens), -1)  # (T, V)
    probabilities = torch.softmax(logits, dim=-1)
    probability = probabilities.gather(1, own)
    log_probs = torch.log_softmax(logits, dim=-1).gather(1, own)[:, 0].tolist()
    ranks = (probabilities > probability).sum(dim=1).tolist()
    alternatives = ranked(probabilities, number)
    lens = logit_lens(model, traced, list(tokens))
    return tuple(
        ExplainedToken(
            position=position,
            token=token,
            piece=names[position],
            probability=float(probability[position, 0]),
            log_prob=log_probs[position],
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
