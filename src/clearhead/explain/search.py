"""A beam search with nothing hidden: every candidate of every step, what became of it and why.

The records are plain numbers, made to be written as JSON and drawn elsewhere; nothing is computed again to draw them.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from torch import Tensor

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis, best_attainable
from clearhead.decoding.search.rules import Rules
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.state import Beams, Candidates
from clearhead.model import SequenceModel

Fate = Literal["kept", "ended", "dropped", "hidden"]


@dataclass(frozen=True)
class RecordedCandidate:
    """A candidate: hypothesis `parent` of the step before, continued by a token.

    `slot` is its place among the kept. `attention` is what the step that wrote the token gave to the source: the
    weights of one head, or, where all are asked for, of every block and head.
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
    """A hypothesis of the step before of which nothing went on, and the best that it could offer."""

    slot: int
    token: int
    total: float
    why: str


@dataclass(frozen=True)
class SearchStep:
    """One step: candidates best first, then hidden ones that would have been among them, and who was lost."""

    number: int
    options: tuple[RecordedCandidate, ...]
    lost: tuple[DroppedHypothesis, ...]


@dataclass(frozen=True)
class EndedHypothesis:
    """A hypothesis that ended, at which step, and which step's better one pushed it out, if one did."""

    step: int
    hypothesis: Hypothesis
    pushed_out_at: int | None = None


@dataclass(frozen=True)
class Explanation:
    """A whole search of one sentence."""

    source: tuple[int, ...]
    steps: tuple[SearchStep, ...]
    ended: tuple[EndedHypothesis, ...]
    best: tuple[Hypothesis, ...]
    stopped: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self)


def explain_search(
    model: SequenceModel,
    source: Tensor,
    limit: int,
    settings: SearchSettings,
    constraints: Constraints = Constraints(),
    head: Head | Literal["all"] | None = None,
) -> Explanation:
    """Search for translations of one sentence (S,), and return every step of the search with its attention."""
    recorder = SearchRecorder(settings, limit, model.config.eos)
    best = beam_search(model, source[None], [limit], settings, [constraints], recorder)[0]
    steps = _with_attention(model, source, recorder, Head.usual(model) if head is None else head)
    return Explanation(tuple(source.tolist()), steps, tuple(recorder.pool), tuple(best), recorder.stop_reason)


@dataclass
class SearchRecorder:
    """Watches the search of one sentence and writes it down."""

    settings: SearchSettings
    limit: int
    eos: int
    is_on: bool = True
    steps: list[SearchStep] = field(default_factory=list)
    survivors: list[list[list[int]]] = field(default_factory=list)  # the tokens of those that go on, by step
    pool: list[EndedHypothesis] = field(default_factory=list)
    stop_reason: str = ""

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Find the best tokens that a rule hides, and name the rule."""
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
                own = float(log_probs[0, parent, token])
                self._hidden.append(
                    RecordedCandidate(parent, token, own, float(totals[place]), "hidden", f"hidden by {name}")
                )

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Write down what became of every candidate."""
        survivors = choice[0].tolist()
        options: list[RecordedCandidate] = []
        for rank, (parent, token, own_log_prob, total, is_ended) in enumerate(candidates.tolist()[0]):
            if total > -float("inf"):
                fate, why = self._fate(rank, is_ended, rank in survivors)
                slot = survivors.index(rank) if fate == "kept" else None
                options.append(RecordedCandidate(parent, token, own_log_prob, total, fate, why, slot))
        going = [option.parent for option in options if option.fate in ("kept", "ended")]
        needed = min((option.total for option in options if option.fate == "kept"), default=0.0)
        why = f"none of its continuations has a log P of {needed:.4f}, the least that is kept"
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
            return "dropped", f"it ends, but is only number {rank + 1} of all, and the beam is {beam} wide"
        return ("kept", "") if is_chosen else ("dropped", f"{beam} better ones go on")

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Write down an end."""
        step = len(self.steps) + 1
        self.pool = [
            replace(ended, pushed_out_at=step) if ended.hypothesis is pushed_out else ended for ended in self.pool
        ]
        self.pool.append(EndedHypothesis(step, hypothesis))

    def stopped(self, number: int, length: int, best: float) -> None:
        """Say why no further step was taken."""
        if length >= self.limit:
            self.stop_reason = f"after {length} tokens, the most that it may have"
        elif best == -float("inf"):
            self.stop_reason = f"after {length} tokens nothing goes on"
        elif self.settings.beam == 1:
            self.stop_reason = f"after {length} tokens: it has ended"
        elif self.settings.stopping == "first":
            self.stop_reason = f"after {length} tokens: {self.settings.beam} have ended, as many as the beam is wide"
        elif self.settings.stopping == "likely":
            self.stop_reason = (
                f"after {length} tokens: the best that goes on is no better now than any of those that ended"
            )
        else:
            bound = best_attainable(best, length, self.limit, self.settings.length_penalty)
            self.stop_reason = f"after {length} tokens: the best that goes on can reach a score of {bound:.4f} at most"


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
    """Return the steps, their kept options with what each attended to: one traced pass over what was kept last."""
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
                attention[leaf].weights[:, :, place]
                if head == "all"
                else attention[leaf].rows(head, is_shifted=False)[place]
            )
            rows.append(weights.tolist())
        options = [
            option if option.slot is None else replace(option, attention=rows[option.slot]) for option in step.options
        ]
        steps.append(replace(step, options=tuple(options)))
    return tuple(steps)
