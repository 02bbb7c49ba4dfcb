"""A report on every attention head of a model: what it looks at, and what it is worth on a test set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import word_links, words_of
from clearhead.evaluation.alignment import GoldLinks, alignment_error_rate
from clearhead.evaluation.scores import Score, compute_counts
from clearhead.evaluation.significance import Resampling, compare, holm, randomised_sums
from clearhead.explain.head_importance import head_importance, loss_score, losses_alone, losses_without
from clearhead.explain.head_kind import HeadStatistics, kind_of_head
from clearhead.explain.head_statistics import AttentionSummary, measure_attention
from clearhead.explain.token_pairs import TokenPair, encode_pairs, no_progress
from clearhead.model import SequenceModel
from clearhead.model.gates import Gates, open_gates
from clearhead.model.heads import AttentionHead
from clearhead.text.tokeniser import Vocabularies, split_tag

Texts = Sequence[tuple[str, str]]
Progress = Callable[[str, int, int], None]  # receives the measurement, how much of it is done, and the total


@dataclass(frozen=True)
class HeadLinks:
    """The alignment error rate of a cross-attention head in per cent, at the better of its two positions.

    `is_shifted`: where a token is the input of the decoder; otherwise where it is predicted.
    """

    error: float
    is_shifted: bool


@dataclass(frozen=True)
class MeasuredChange:
    """A change of a score if a head is removed, and its p-value, corrected for the number of heads."""

    difference: float
    p_value: float


@dataclass(frozen=True)
class HeadRow:
    """All that was measured for one head; losses are in nats per token."""

    statistics: HeadStatistics
    importance: float
    loss: MeasuredChange  # without the head
    loss_alone: float  # the change of the loss if it is the only head of its attention layer
    links: HeadLinks | None = None
    bleu: MeasuredChange | None = None

    @property
    def head(self) -> AttentionHead:
        """The head."""
        return self.statistics.head

    @property
    def kind(self) -> str:
        """What it does; a cross-attention head can be named after its alignments, where these were rated."""
        return kind_of_head(self.statistics, None if self.links is None else self.links.error)

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON and CSV; what was not measured is None."""
        return {
            **self.statistics.to_dict(),
            "kind": self.kind,
            "importance": self.importance,
            "loss_change": self.loss.difference,
            "loss_p_value": self.loss.p_value,
            "loss_change_alone": self.loss_alone,
            "alignment_error": None if self.links is None else self.links.error,
            "alignment_is_shifted": None if self.links is None else self.links.is_shifted,
            "bleu_change": None if self.bleu is None else self.bleu.difference,
            "bleu_p_value": None if self.bleu is None else self.bleu.p_value,
        }


@dataclass(frozen=True)
class HeadReport:
    """The rows of all heads, the scores of the unchanged model, and the signatures of all numbers."""

    rows: tuple[HeadRow, ...]
    loss: Score
    signatures: Mapping[str, str]
    bleu: Score | None = None

    @property
    def best_alone(self) -> dict[str, AttentionHead]:
        """The best head of each attention layer if it is alone, by the place of the layer."""
        best: dict[str, HeadRow] = {}
        for row in self.rows:
            where = row.head.where
            if where not in best or row.loss_alone < best[where].loss_alone:
                best[where] = row
        return {where: row.head for where, row in best.items()}

    @property
    def has_links(self) -> bool:
        """Whether the alignments of heads were rated."""
        return any(row.links is not None for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {
            "loss": self.loss.to_dict(),
            "bleu": None if self.bleu is None else self.bleu.to_dict(),
            "signatures": dict(self.signatures),
            "best_alone": {where: str(head) for where, head in self.best_alone.items()},
            "heads": [row.to_dict() for row in self.rows],
        }


def measure_heads(
    model: SequenceModel,
    vocabularies: Vocabularies,
    texts: Texts,
    gold_links: Sequence[GoldLinks] | None = None,
    resampling: Resampling = Resampling(),
    progress: Progress = no_progress,
) -> HeadReport:
    """Measure every head of a model on sentences and their translations, or on the texts of a language model.

    With links between the words of the texts, the alignments of cross-attention heads are rated too.
    """
    pairs = encode_pairs(model, vocabularies, texts)
    summary = measure_attention(model, pairs, partial(progress, "attention"))
    importance = head_importance(model, pairs, partial(progress, "importance"))
    without = losses_without(model, pairs, partial(progress, "loss without each head"))
    alone = losses_alone(model, pairs, partial(progress, "loss of each head alone"))
    base = without[None]
    heads = [row.head for row in summary.statistics]
    differences = np.array([without[head].totals - base.totals for head in heads])
    p_values = holm(randomised_sums(differences, resampling))
    links = {} if gold_links is None else _rate_links(summary, pairs, vocabularies, texts, gold_links)
    rows = tuple(
        HeadRow(
            statistics,
            importance[statistics.head],
            MeasuredChange(without[statistics.head].mean - base.mean, p_value),
            alone[statistics.head].mean - base.mean,
            links.get(statistics.head),
        )
        for statistics, p_value in zip(summary.statistics, p_values, strict=True)
    )
    return HeadReport(rows, loss_score(base.mean, len(pairs), vocabularies), _signatures(len(heads), resampling))


def _signatures(num_heads: int, resampling: Resampling) -> dict[str, str]:
    trials = f"ar:{resampling.num_trials}|seed:{resampling.seed}|correction:holm|tests:{num_heads}"
    return {
        "importance": "mean over sentences of |∂loss/∂gate|, gates:1|loss:per token",
        "loss_p_value": trials,
        "bleu_p_value": trials,
    }


# Alignments


def _rate_links(
    summary: AttentionSummary,
    pairs: Sequence[TokenPair],
    vocabularies: Vocabularies,
    texts: Texts,
    gold_links: Sequence[GoldLinks],
) -> dict[AttentionHead, HeadLinks]:
    """Return the error rate of every cross-attention head, at the better of its two positions."""
    words = [
        (
            words_of(vocabularies.source, pair.source[:-1], split_tag(source)[1]),
            words_of(vocabularies.target, pair.target[:-1], target),
        )
        for pair, (source, target) in zip(pairs, texts, strict=True)
    ]
    sure, possible = [line.sure for line in gold_links], [line.possible for line in gold_links]
    rated = {}
    for head, rows in summary.peaks.items():
        choices = []
        for is_shifted in (True, False):
            predicted = [
                frozenset(word_links(_piece_links(row.tolist(), pair, is_shifted=is_shifted), *both))
                for row, pair, both in zip(rows, pairs, words, strict=True)
            ]
            choices.append(HeadLinks(alignment_error_rate(predicted, sure, possible).value, is_shifted))
        rated[head] = min(choices, key=lambda choice: choice.error)
    return rated


def _piece_links(row: Sequence[int], pair: TokenPair, *, is_shifted: bool) -> tuple[tuple[int, int], ...]:
    """Return the links of one sentence from its peaks; the end tokens are not linked."""
    if len(pair.source) < 2:
        return ()
    return tuple((source, target) for target, source in enumerate(row[1:] if is_shifted else row[:-1]))


# BLEU


def with_bleu(
    report: HeadReport,
    translator: Translator,
    texts: Texts,
    search: SearchSettings = SearchSettings(),
    resampling: Resampling = Resampling(),
    progress: Progress = no_progress,
) -> HeadReport:
    """Return the report with the change of BLEU if a head is removed: the texts are translated without each head."""
    sources, references = [source for source, _ in texts], [[target for _, target in texts]]
    total = len(report.rows) + 1
    progress("BLEU without each head", 0, total)
    plain_outputs = [translation.text for translation in translator.translate(sources, search)]
    base = compute_counts("bleu", plain_outputs, references)
    comparisons = []
    for number, row in enumerate(report.rows, 1):
        progress("BLEU without each head", number, total)
        gated = translator.gated(_gates_without(row.head, translator))
        outputs = [translation.text for translation in gated.translate(sources, search)]
        counts = compute_counts("bleu", outputs, references)
        names = ("unchanged", f"without {row.head}")
        comparisons.append(compare(names, base, counts, "randomisation", resampling))
    p_values = holm([comparison.p_value for comparison in comparisons])
    rows = tuple(
        replace(row, bleu=MeasuredChange(comparison.difference, p_value))
        for row, comparison, p_value in zip(report.rows, comparisons, p_values, strict=True)
    )
    return replace(report, rows=rows, bleu=base.corpus_score)


def _gates_without(head: AttentionHead, translator: Translator) -> Gates:
    """Return gates at every place, so that one recorded step of a GPU serves all heads; all but one are open."""
    gates = open_gates(translator.model.config, translator.model.device)
    gates.outputs[head.where][head.number] = 0.0
    return gates
