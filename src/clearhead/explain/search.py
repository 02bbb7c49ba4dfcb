"""Record a beam search: every candidate of every step, whether it was kept, and why not.

The records are plain numbers, to be written as JSON and drawn elsewhere without computing anything again.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import Tensor

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.decoding.search.beam import SearchObserver, beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, best_attainable
from clearhead.decoding.search.rules import Rules
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.state import Beams, Candidates
from clearhead.model import SequenceModel

Fate = Literal["kept", "ended", "dropped", "hidden"]


@dataclass(frozen=True)
class RecordedCandidate:
    """A candidate: hypothesis `parent` of the previous step, continued by a token.

    `slot` is its index among the kept candidates. `attention` has the weights on the source in the step that wrote
    the token: of one head, or of every layer and head if all were requested.
    """

    parent: int
    token: int
    log_prob: float
    total: float
    fate: Fate
    why: str = ""
    slot: int | None = None
    attention: Any = None


@dataclass(frozen=True)
class DroppedHypothesis:
    """A hypothesis of the previous step without a kept continuation, and its best continuation."""

    slot: int
    token: int
    total: float
    why: str


@dataclass(frozen=True)
class SearchStep:
    """One step: candidates, best first, then hidden ones that would have ranked among them, and `lost` hypotheses."""

    number: int
    options: tuple[RecordedCandidate, ...]
    lost: tuple[DroppedHypothesis, ...]


@dataclass(frozen=True)
class EndedHypothesis:
    """An ended hypothesis, the step it ended at, and the step at which a better one replaced it, if any."""

    step: int
    hypothesis: Hypothesis
    pushed_out_at: int | None = None


@dataclass(frozen=True)
class RecordedSearch:
    """The complete search of one sentence."""

    source: tuple[int, ...]
    steps: tuple[SearchStep, ...]
    ended: tuple[EndedHypothesis, ...]
    best: tuple[Hypothesis, ...]
    stopped: str


def explain_search(
    model: SequenceModel,
    source: Tensor,
    limit: int,
    settings: SearchSettings,
    constraints: Constraints = Constraints(),
    head: Head | Literal["all", "none"] = "none",
) -> RecordedSearch:
    """Search for translations of one sentence (S,); return every step of the search with the attention of a head."""
    recorder = SearchRecorder(settings, limit, model.config.eos)
    best = beam_search(model, source[None], [limit], settings, [constraints], recorder)[0]
    steps = tuple(recorder.steps)
    if head != "none":
        steps = _with_attention(model, source, recorder, head)
    return RecordedSearch(tuple(source.tolist()), steps, tuple(recorder.pool), tuple(best), recorder.stop_reason)


@dataclass
class SearchRecorder(SearchObserver):
    """Records the search of one sentence."""

    settings: SearchSettings
    limit: int
    eos: int
    is_on: bool = True
    steps: list[SearchStep] = field(default_factory=list)
    survivors: list[list[list[int]]] = field(default_factory=list)  # the tokens of the kept hypotheses of each step
    pool: list[EndedHypothesis] = field(default_factory=list)
    stop_reason: str = ""

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Find the best tokens that a rule hides, and the name of the rule."""
        after = log_probs.clone()
        rules.hide(after, beams.tokens, beams.numbers)
        totals = (beams.totals[0, :, None] + log_probs[0]).flatten()
        size = log_probs.shape[-1]
        self._best = after[0].max(dim=-1)
        self._hidden = []
        for place in totals.topk(min(2 * self.settings.beam, len(totals))).indices.tolist():
            parent, token = divmod(place, size)
            if after[0, parent, token].isinf() and totals[place].isfinite():
                name = _name_of_rule(rules, log_probs, beams, parent, token)
                log_prob, total = float(log_probs[0, parent, token]), float(totals[place])
                why = f"hidden by the rule {name}"
                self._hidden.append(RecordedCandidate(parent, token, log_prob, total, "hidden", why))

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Record whether each candidate was kept, ended or was dropped."""
        survivors = choice[0].tolist()
        options: list[RecordedCandidate] = []
        for rank, (parent, token, own_log_prob, total, is_ended) in enumerate(candidates.tolist()[0]):
            if total > -float("inf"):
                fate, why = self._fate(rank, is_ended, rank in survivors)
                slot = survivors.index(rank) if fate == "kept" else None
                options.append(RecordedCandidate(parent, token, own_log_prob, total, fate, why, slot))
        going = [option.parent for option in options if option.fate in ("kept", "ended")]
        needed = min((option.total for option in options if option.fate == "kept"), default=0.0)
        why = f"all its continuations scored below {needed:.4f}, the lowest total log P that was kept"
        tokens, own = self._best.indices.tolist(), self._best.values.tolist()
        lost = [
            DroppedHypothesis(slot, tokens[slot], total + own[slot], why)
            for slot, total in enumerate(beams.totals[0].tolist())
            if total > -float("inf") and slot not in going
        ]
        prefixes = beams.tokens[0].tolist()
        self.survivors.append([[*prefixes[option.parent], option.token] for option in options if option.fate == "kept"])
        self.steps.append(SearchStep(beams.length + 1, (*options, *self._hidden), tuple(lost)))

    def _fate(self, rank: int, is_ended: bool, is_chosen: bool) -> tuple[Fate, str]:
        beam = self.settings.beam
        if is_ended and rank < beam:
            return "ended", ""
        if is_ended:
            return "dropped", f"it ends, but ranks {rank + 1} among the candidates, below the beam size of {beam}"
        if is_chosen:
            return "kept", ""
        return "dropped", "a better candidate was kept" if beam == 1 else f"{beam} better candidates were kept"

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Record an ended hypothesis."""
        step = len(self.steps) + 1
        self.pool = [
            replace(ended, pushed_out_at=step) if ended.hypothesis is pushed_out else ended for ended in self.pool
        ]
        self.pool.append(EndedHypothesis(step, hypothesis))

    def stopped(self, number: int, length: int, best: float) -> None:
        """Record why the search stopped."""
        if length >= self.limit:
            reason = "this is the length limit"
        elif best == -float("inf"):
            reason = "no hypothesis can be continued"
        elif self.settings.beam == 1:
            reason = "the hypothesis has ended"
        elif self.settings.stopping == "first":
            reason = f"{self.settings.beam} hypotheses have ended, which is the beam size"
        elif self.settings.stopping == "likely":
            reason = "the best unfinished hypothesis scores no better than the worst ended one"
        else:
            bound = best_attainable(best, length, self.limit, self.settings.length_penalty)
            reason = f"no unfinished hypothesis can reach a score above {bound:.4f}"
        self.stop_reason = f"after {length} tokens: {reason}"


def _name_of_rule(rules: Rules, log_probs: Tensor, beams: Beams, parent: int, token: int) -> str:
    for rule in rules.rules:
        after = log_probs.clone()
        rule.hide(after, beams.tokens, beams.numbers)
        if after[0, parent, token].isinf():
            return rule.name
    return "prefix"


def _with_attention(
    model: SequenceModel, source: Tensor, recorder: SearchRecorder, head: Head | Literal["all"]
) -> tuple[SearchStep, ...]:
    """Return the steps with the attention of their kept candidates, computed in one traced pass."""
    sequences = {tuple(tokens) for step in recorder.survivors for tokens in step}
    prefixes = {tokens[:-1] for tokens in sequences}
    leaves = sorted(sequences - prefixes)
    if not leaves:
        return tuple(recorder.steps)
    attention = dict(zip(leaves, cross_attention(model, source, leaves), strict=True))
    steps = []
    for step, survivors in zip(recorder.steps, recorder.survivors, strict=True):
        rows: list[Any] = []
        for tokens in survivors:
            leaf = next(leaf for leaf in leaves if leaf[: len(tokens)] == tuple(tokens))
            place = len(tokens) - 1
            weights = (
                [layer[:, place].tolist() for layer in attention[leaf].weights]
                if head == "all"
                else attention[leaf].rows(head, is_shifted=False)[place].tolist()
            )
            rows.append(weights)
        options = [
            option if option.slot is None else replace(option, attention=rows[option.slot]) for option in step.options
        ]
        steps.append(replace(step, options=tuple(options)))
    return tuple(steps)
