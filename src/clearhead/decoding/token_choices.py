"""The choices of a language model: the probability and rank of each written token, and the most probable others."""

from dataclasses import dataclass
from typing import Any

import torch

from clearhead.decoding.generation import GeneratedText, TextGenerator
from clearhead.model.modes import evaluation_mode


@dataclass(frozen=True)
class LikelyToken:
    """A token that the model could have written, with its log-probability."""

    piece: str
    log_prob: float


@dataclass(frozen=True)
class TokenChoice:
    """A written token, its rank among all tokens (1 is the most probable), and the most probable other tokens."""

    piece: str
    log_prob: float
    rank: int
    alternatives: tuple[LikelyToken, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for JSON."""
        others = [{"piece": other.piece, "log_prob": other.log_prob} for other in self.alternatives]
        return {"piece": self.piece, "log_prob": self.log_prob, "rank": self.rank, "alternatives": others}


def token_choices(generator: TextGenerator, generated: GeneratedText, rank: int, number: int = 5) -> list[TokenChoice]:
    """Return the choice of each token of a continuation, from one pass over the prompt and the continuation."""
    model, tokeniser = generator.model, generator.vocabularies.target
    tokens = generated.continuations[rank].hypothesis.tokens
    target = torch.tensor([[*generated.prompt_ids, *tokens]], device=model.device)
    with evaluation_mode(model), torch.inference_mode():
        logits = model.decode(model.shifted(target))[0, len(generated.prompt_ids) :]  # (T, V)
        wide = torch.promote_types(logits.dtype, torch.float32)
        log_probs = torch.log_softmax(logits, dim=-1, dtype=wide)
        log_probs[:, list(model.config.never_written)] = float("-inf")  # no choice: padding, for example
    best = log_probs.topk(min(number + 1, log_probs.shape[-1]))
    choices = []
    for place, token in enumerate(tokens):
        own = float(log_probs[place, token])
        likely = zip(best.indices[place].tolist(), best.values[place].tolist(), strict=True)
        others = [(other, value) for other, value in likely if other != token][:number]
        pieces = tokeniser.pieces([token, *(other for other, _ in others)])
        alternatives = tuple(LikelyToken(piece, value) for piece, (_, value) in zip(pieces[1:], others, strict=True))
        choices.append(TokenChoice(pieces[0], own, int((log_probs[place] > own).sum()) + 1, alternatives))
    return choices
