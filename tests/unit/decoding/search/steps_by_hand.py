"""A search of three steps that is worked by hand, and random searches: log-probabilities without any model."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from clearhead.decoding.search.beam import NO_OBSERVER, BeamSearch, SearchObserver
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.rules import LongEnough, NeverWritten, Rule, Rules
from clearhead.decoding.search.selection import Selection
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.state import Beams

PAD, BOS, EOS = 0, 1, 2
NEVER = torch.tensor([-math.inf, -math.inf, 0.0, 0.0, 0.0], dtype=torch.float64)  # of five tokens

# One sentence, two beams, five tokens, at most three of them, at least one before eos. Padding and bos always have the
# highest probability, and are never written.
#   step 0: eos is hidden; "3" has -1, "4" has -2: both continue.
#   step 1: "3 eos" -1 - 0.5 = -1.5 ends; "3 3" -1 - 1 = -2 and "4 3" -2 - 0.25 = -2.25 continue; "4 4" has -2.5.
#   step 2: the limit: "3 3 3" -2 - 0.1 = -2.1, then "4 3 eos" -2.25 - 0.3 = -2.55, "3 3 eos" -3, "3 3 4" -5.
# Scores (length penalty 1): "3 eos" -1.5/2 = -0.75, "3 3 3" -2.1/3 = -0.7, "4 3 eos" -2.55/3 = -0.85.
STEPS = [
    torch.tensor([[row_of_first, row_of_second]], dtype=torch.float64)  # (B, K, V) = (1, 2, 5)
    for row_of_first, row_of_second in [
        ([-0.1, -0.1, -0.2, -1.0, -2.0], [-0.1, -0.1, -0.2, -1.0, -2.0]),
        ([-0.1, -0.1, -0.5, -1.0, -3.0], [-0.1, -0.1, -4.0, -0.25, -0.5]),
        ([-0.1, -0.1, -1.0, -0.1, -3.0], [-0.1, -0.1, -0.3, -5.0, -6.0]),
    ]
]
SETTINGS_BY_HAND = SearchSettings(beam=2, n_best=2, min_length=1)
LIMITS_BY_HAND = [3]


def new_search(limits: Sequence[int], settings: SearchSettings, observer: SearchObserver = NO_OBSERVER) -> BeamSearch:
    """Return a search without a model that never writes padding or bos."""
    rules: list[Rule] = [NeverWritten(PAD), NeverWritten(BOS, "start")]
    if settings.min_length:
        rules.append(LongEnough(EOS, settings.min_length))
    return BeamSearch(limits, settings, Rules(tuple(rules), [Constraints()] * len(limits)), EOS, observer)


def first_beams(num_sentences: int) -> Beams:
    """Return the start state of a search."""
    return Beams.start(torch.zeros(num_sentences, 1, dtype=torch.long), torch.float64)


def run_search(search: BeamSearch, steps: Sequence[Tensor]) -> None:
    """Search as `search_with` does, with these log-probabilities (B, K, V) instead of a model."""
    beams = first_beams(len(search.limits))
    for log_probs in steps:
        rows = log_probs[beams.numbers, : beams.totals.shape[1]].clone()  # at first there is one hypothesis
        candidates = search.candidates(beams, rows)
        search.set_aside(beams, candidates)
        beams = search.survivors(beams, candidates)[1]
        beams = beams.only(torch.tensor(search.still_going(beams), dtype=torch.long))
        if not beams.numbers:
            return


def run_selection(steps: Sequence[Tensor], limits: Sequence[int], settings: SearchSettings, never: Tensor) -> Selection:
    """Return a selection that has chosen at each step."""
    selection = Selection(len(limits), settings.beam, len(steps), never, EOS)
    selection.start(limits, settings.min_length)
    for place, log_probs in enumerate(steps):
        selection.choose(log_probs, torch.tensor([place]))
    return selection


def random_steps(seed: int, num_sentences: int, beam: int, num_tokens: int, length: int) -> list[Tensor]:
    """Return log-probabilities (B, K, V) for each step; in float64, so that there are no ties."""
    random = torch.Generator().manual_seed(seed)
    size = (length, num_sentences, beam, num_tokens)
    return list(torch.randn(size, generator=random, dtype=torch.float64).mul(2.0).log_softmax(dim=-1))


def never_written(num_tokens: int) -> Tensor:
    """Return the penalty that hides padding and bos: (V,)."""
    never = torch.zeros(num_tokens, dtype=torch.float64)
    never[[PAD, BOS]] = -math.inf
    return never
