"""Beam search: at each step every hypothesis is extended by every token, and the best `beam` of them are kept.

Hypotheses that end go into a pool. The search of a sentence stops by the rule in `SearchSettings.stopping`; the
sentence then leaves the batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, Pool, is_finished, normalised
from clearhead.decoding.search.required import holds_all, spread
from clearhead.decoding.search.rules import Rules, hidden_logits, rules_of
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.state import Beams, Candidates
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import SequenceModel


class SearchObserver:
    """Is called at every step of a beam search; it must not change anything. This one does nothing."""

    is_on = False  # whether it looks at steps

    def is_wanted(self, number: int) -> bool:
        """Return whether the translation of a sentence is still wanted; if not, its search stops after this step."""
        return True

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Receive the log-probabilities (B, K, V) of the next tokens after `beams`, before rules hide any of them."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Receive the indices of the candidates that are kept: `choice` (B, K)."""

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Receive an ended hypothesis of a sentence, and the one that it pushed out of the pool."""

    def stopped(self, number: int, length: int, best: float) -> None:
        """Receive the length at which the search of a sentence stopped, and the best unfinished log P."""


NO_OBSERVER = SearchObserver()


def beam_search(
    model: SequenceModel,
    source: Tensor,
    limits: Sequence[int],
    settings: SearchSettings,
    constraints: Sequence[Constraints] | None = None,
    observer: SearchObserver = NO_OBSERVER,
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each sentence of `source` (B, S), best first.

    `limits` are the maximum lengths, including eos; a hypothesis that reaches its limit is returned as it is.
    """
    hidden = hidden_logits(constraints or (), model.config.target_size, source.device)
    stepper = Stepper(model, source, hidden)
    return search_with(stepper, source, limits, settings, constraints, observer)


def search_with(
    stepper: Stepper,
    source: Tensor,
    limits: Sequence[int],
    settings: SearchSettings,
    constraints: Sequence[Constraints] | None = None,
    observer: SearchObserver = NO_OBSERVER,
) -> list[list[Hypothesis]]:
    """Search as `beam_search` does, with a stepper that has already encoded the source."""
    constraints = [Constraints()] * len(source) if constraints is None else constraints
    model = stepper.model
    search = BeamSearch(limits, settings, rules_of(settings, constraints, model.config), model.config.eos, observer)
    beams = Beams.start(source, model.dtype)
    while beams.numbers:
        log_probs = stepper.step(beams.tokens)  # (B, K, V)
        candidates = search.candidates(beams, log_probs)
        search.set_aside(beams, candidates)
        parents, beams = search.survivors(beams, candidates)
        stepper.follow(parents)
        going = search.still_going(beams)
        if len(going) < len(beams.numbers):
            rows = torch.tensor(going, device=source.device, dtype=torch.long)
            beams = beams.only(rows)
            stepper.keep(rows)
    return [pool.best[: settings.n_best] for pool in search.pools]


@dataclass
class BeamSearch:
    """The choices of one search, and the pools of ended hypotheses."""

    limits: Sequence[int]
    settings: SearchSettings
    rules: Rules
    eos: int
    observer: SearchObserver = NO_OBSERVER

    def __post_init__(self) -> None:
        self.pools = [Pool(self.settings.beam) for _ in self.limits]

    def candidates(self, beams: Beams, log_probs: Tensor) -> Candidates:
        """Return the best 2·beam continuations: up to `beam` of them can end, and `beam` others must remain."""
        if self.observer.is_on:
            self.observer.look(beams, log_probs.clone(), self.rules)
        self.rules.hide(log_probs, beams.tokens, beams.numbers)
        number = 2 * self.settings.beam
        per_beam = log_probs.topk(min(number, log_probs.shape[-1]))  # (B, K, C)
        totals = (beams.totals[..., None] + per_beam.values).flatten(1)  # (B, K·C)
        best = totals.topk(min(number, totals.shape[1]))  # (B, 2·beam)
        parents = best.indices // per_beam.values.shape[-1]
        tokens, token_log_probs = (
            part.flatten(1).gather(1, best.indices) for part in (per_beam.indices, per_beam.values)
        )
        candidates = Candidates(parents, tokens, token_log_probs, best.values, self._is_ended(beams, tokens))
        if any(self.rules.constraints[number].required for number in beams.numbers):
            candidates = spread(candidates, beams, log_probs, self.rules.constraints)
            return replace(candidates, is_ended=self._is_ended(beams, candidates.tokens))
        return candidates

    def _is_ended(self, beams: Beams, tokens: Tensor) -> Tensor:
        """Return (B, C): whether each candidate writes eos or reaches the length limit of its sentence."""
        limits = torch.tensor([self.limits[number] for number in beams.numbers], device=tokens.device)
        return (tokens == self.eos) | (limits <= beams.length + 1)[:, None]

    def set_aside(self, beams: Beams, candidates: Candidates) -> None:
        """Put candidates that end into the pools, if they are among the best `beam` of all candidates."""
        ended, stuck = candidates.ended(self.settings.beam)
        prefixes = beams.hypotheses([(row, candidate.parent) for row, candidate in ended])
        for (row, candidate), prefix in zip(ended, prefixes, strict=True):
            score = normalised(candidate.total, beams.length + 1, self.settings.length_penalty)
            if self.pools[beams.numbers[row]].would_take(score):
                has_ended = candidate.token == self.eos
                hypothesis = replace(prefix, score=score).followed_by(candidate.token, candidate.log_prob, has_ended)
                self.add(beams.numbers[row], hypothesis)
        for row in stuck:
            self._give_up(beams, row)

    def add(self, number: int, hypothesis: Hypothesis) -> None:
        """Put a finished hypothesis into the pool of its sentence."""
        pool = self.pools[number]
        # one that was cut at the length limit before it contains all required phrases is only a last resort
        if hypothesis.has_ended or not pool.best or holds_all(hypothesis.tokens, self.rules.constraints[number]):
            self.observer.ended(number, hypothesis, pool.add(hypothesis))

    def _give_up(self, beams: Beams, row: int) -> None:
        """Finish the hypotheses of a sentence as they are, because the rules allow no continuation."""
        for beam, total in enumerate(beams.totals[row].tolist()):
            if total > -math.inf:
                score = normalised(total, max(beams.length, 1), self.settings.length_penalty)
                self.add(beams.numbers[row], beams.hypothesis(row, beam, score))

    def survivors(self, beams: Beams, candidates: Candidates) -> tuple[Tensor, Beams]:
        """Return the parents (B, K) of the best `beam` candidates that have not ended, and these as new beams."""
        choice = candidates.is_ended.int().argsort(dim=1, stable=True)[:, : self.settings.beam]  # (B, K)
        survivors = candidates.chosen(beams, choice)
        has_ended = candidates.is_ended.gather(1, choice)
        survivors.totals[has_ended] = -math.inf
        if self.observer.is_on:
            self.observer.chose(beams, candidates, choice)
        return candidates.parents.gather(1, choice), survivors

    def still_going(self, beams: Beams) -> list[int]:
        """Return the rows of the sentences that need another step; `beams` are the hypotheses after this step."""
        going = []
        for row, (number, best) in enumerate(zip(beams.numbers, beams.totals[:, 0].tolist(), strict=True)):
            if self.is_done(number, best, beams.length):
                self.observer.stopped(number, beams.length, best)
            else:
                going.append(row)
        return going

    def is_done(self, number: int, best: float, length: int) -> bool:
        """Return whether the search of a sentence is done; `best` is the log P of its best unfinished hypothesis."""
        if not self.observer.is_wanted(number):
            return True
        return is_finished(self.pools[number], best, length, self.limits[number], self.settings)
