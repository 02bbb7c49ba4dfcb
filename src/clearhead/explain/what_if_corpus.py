"""What if heads were missing or uniform, over a test set: the changes of loss, BLEU and chrF, with paired tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.scoring import Scorer, TextPair
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.counts import compute_counts
from clearhead.evaluation.multiple_tests import randomised_sums
from clearhead.evaluation.significance import Resampling, compare
from clearhead.evaluation.tables import ScoreTable
from clearhead.explain.head_measurement import tagged
from clearhead.explain.intervention import Intervention, gates_of_heads, refuse_changes_of_a_sentence
from clearhead.explain.opening import LoadedModel
from clearhead.model.gated import GatedModel
from clearhead.model.gates import Gates
from clearhead.text.tokeniser import Vocabularies

_METRICS = ("bleu", "chrf")


@dataclass(frozen=True)
class ScoreChange:
    """A score of the unchanged and the changed model, and the p-value of a paired test of their difference."""

    name: str
    before: float
    after: float
    p_value: float
    signature: str

    @property
    def difference(self) -> float:
        """The change of the score."""
        return self.after - self.before

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table; a loss has more decimals, because it is small."""
        digits = 4 if self.name == "loss" else 2
        difference = round(self.difference, digits) + 0.0
        values = (f"{self.before:.{digits}f}", f"{self.after:.{digits}f}", f"{difference:+.{digits}f}")
        return (self.name, *values, f"{self.p_value:.4f}")

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {**vars(self), "difference": self.difference}


@dataclass(frozen=True)
class CorpusChange:
    """The changes of all scores on a test set; `num_changed` counts other translations, None for a language model."""

    lines: tuple[str, ...]  # what was changed
    intervention: Intervention
    num_sentences: int
    num_changed: int | None
    scores: tuple[ScoreChange, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {
            "clearhead_what_if": 1,
            "kind": "test set",
            "change": self.intervention.to_dict(),
            "sentences": self.num_sentences,
            "changed_translations": self.num_changed,
            "scores": [score.to_dict() for score in self.scores],
        }

    def table(self) -> ScoreTable:
        """Return the scores as a table."""
        rows = tuple(score.cells() for score in self.scores)
        notes = [f"{score.name}: {score.signature}" for score in self.scores]
        if self.num_changed is not None:
            notes.insert(0, f"{self.num_changed:,} of {self.num_sentences:,} translations changed")
        title = f"{'; '.join(self.lines)}: {self.num_sentences:,} sentences"
        return ScoreTable(title, ("score", "before", "after", "Δ", "p"), rows, tuple(notes))


def what_if_on_corpus(
    model: Translator | LoadedModel,
    texts: Sequence[tuple[str, str]],
    intervention: Intervention,
    *,
    search: SearchSettings = SearchSettings(),
    language: str | None = None,
    resampling: Resampling = Resampling(),
) -> CorpusChange:
    """Compare a model with and without heads on sentences and their translations.

    A language model reads only the second text of a pair, and only its loss is compared. Differences are tested by
    paired approximate randomisation.
    """
    if not texts:
        raise DataError("there are no sentences. Give at least one.")
    refuse_changes_of_a_sentence(intervention)
    if model.model.can_classify:
        raise ConfigError("a classifier has no translations to score. Give a single text.")
    gates = gates_of_heads(model.model, without=intervention.without, uniform=intervention.uniform)
    lines, sources = tuple(intervention.lines(model.model.config)), [source for source, _ in texts]
    num_changed, scores = None, []
    if isinstance(model, Translator):
        options = TranslationOptions(language=language)
        language = model.pipeline(search, options).options.language
        outputs = [
            [translation.text for translation in version.translate(sources, search, options)]
            for version in (model, model.gated(gates))
        ]
        num_changed = sum(one != other for one, other in zip(*outputs, strict=True))
        scores = _score_changes(outputs, [target for _, target in texts], resampling)
        if language is not None:
            texts = [(tagged(source, language), target) for source, target in texts]
    scores.append(_loss_change(model, texts, gates, resampling))
    return CorpusChange(lines, intervention, len(texts), num_changed, tuple(scores))


def _score_changes(
    outputs: Sequence[Sequence[str]], references: Sequence[str], resampling: Resampling
) -> list[ScoreChange]:
    changes = []
    for metric in _METRICS:
        before, after = (compute_counts(metric, texts, [references]) for texts in outputs)
        test = compare(("before", "after"), before, after, "randomisation", resampling)
        values = (before.corpus_score.value, after.corpus_score.value)
        changes.append(ScoreChange(test.metric, *values, test.p_value, test.signature))
    return changes


def _loss_change(
    model: Translator | LoadedModel, texts: Sequence[tuple[str, str]], gates: Gates, resampling: Resampling
) -> ScoreChange:
    """Return the change of the loss of the references, in nats per token."""
    pairs = [TextPair(source, target) for source, target in texts]
    before, after = (
        list(Scorer(version, model.vocabularies).score(pairs))
        for version in (model.model, GatedModel(model.model, gates))
    )
    num_tokens = sum(len(target.tokens) for target in before)
    losses = np.array([[-target.log_prob for target in side] for side in (before, after)])
    p_value = randomised_sums(losses[1:] - losses[:1], resampling)[0]
    means = losses.sum(axis=1) / max(1, num_tokens)
    return ScoreChange(
        "loss", float(means[0]), float(means[1]), p_value, _loss_signature(model.vocabularies, resampling)
    )


def _loss_signature(vocabularies: Vocabularies, resampling: Resampling) -> str:
    trials = f"ar:{resampling.num_trials}|seed:{resampling.seed}"
    return f"unit:token|{trials}|log:e|eos:yes|vocabulary:{vocabularies.digest[:12]}"
