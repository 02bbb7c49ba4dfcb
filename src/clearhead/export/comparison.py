"""Compare an export with its model on the same sentences: numbers, translations, BLEU and speed."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import compute_counts
from clearhead.evaluation.significance import difference_interval
from clearhead.export.certificate import BleuDifference, Divergence, NumericDifference
from clearhead.export.probe import ComparedProgram
from clearhead.export.sentences import ComparisonText
from clearhead.formats.ctranslate2 import HIDDEN_LOGIT
from clearhead.formats.model_folder import ModelFolder, load_config, load_statistics, load_vocabularies
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array, log_softmax

_WARM_UP = 4  # sentences that are translated before the time is measured
_BATCH = 16  # sentences whose logits are in memory at a time


@dataclass(frozen=True)
class TimedTranslations:
    """The translations of all sentences, and sentences per second."""

    lines: tuple[Translation, ...]
    speed: float

    @property
    def texts(self) -> list[str]:
        """The translations as text."""
        return [line.text for line in self.lines]


@dataclass(frozen=True)
class _Row:
    """A part of a line with the tokens of its translation, eos included."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def translate_timed(probe: ComparedProgram, model: ModelFolder, sentences: Sequence[str]) -> TimedTranslations:
    """Translate sentences by greedy search, with the vocabularies and the target language of the model."""
    vocabularies = load_vocabularies(model)
    translator = Translator(vocabularies, probe.engine, statistics=load_statistics(model))
    language = model.language if model.language in vocabularies.source.tags else None
    options = TranslationOptions(language=language, has_scores=False)
    translator.translate(sentences[:_WARM_UP], SearchSettings(), options)
    start = time.perf_counter()
    lines = translator.translate(sentences, SearchSettings(), options)
    return TimedTranslations(tuple(lines), len(lines) / max(time.perf_counter() - start, 1e-9))


def compare_numbers(
    original: ComparedProgram, exported: ComparedProgram, config: ModelConfig, lines: Sequence[Translation]
) -> NumericDifference | None:
    """Compare logits, or log-probabilities where a program returns no logits, on the translations of the model."""
    assert original.logits is not None, "the model itself returns logits"
    largest = total = 0.0
    num_values = num_tokens = 0
    for batch in _batches(lines, config.eos):
        sources, targets = [row.source for row in batch], [row.target for row in batch]
        expected = original.logits(sources, targets)  # (B, T, V)
        if exported.logits is not None:
            differences = _logit_differences(expected, exported.logits(sources, targets), targets)
        else:
            assert exported.log_probs is not None
            differences = _log_prob_differences(expected, exported.log_probs(sources, targets), targets, config)
        largest = max(largest, float(differences.max()))
        total += float(differences.sum(dtype=np.float64))
        num_values += differences.size
        num_tokens += sum(map(len, targets))
    if not num_tokens:
        return None
    kind = "log-probabilities" if exported.logits is None else "logits"
    return NumericDifference(of=kind, largest=largest, mean=total / num_values, tokens=num_tokens)


def _batches(lines: Sequence[Translation], eos: int) -> Iterator[list[_Row]]:
    rows = [
        _Row((*part.ids, eos), part.hypotheses[0].tokens)
        for line in lines
        for part in line.parts
        if part.hypotheses and part.hypotheses[0].tokens
    ]
    rows.sort(key=lambda row: len(row.target))
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH]


def _logit_differences(expected: Array, actual: Array, targets: Sequence[Sequence[int]]) -> Array:
    parts = [np.abs(expected[row, : len(target)] - actual[row, : len(target)]) for row, target in enumerate(targets)]
    return np.concatenate([part.ravel() for part in parts])


def _log_prob_differences(
    logits: Array, actual: Sequence[Sequence[float]], targets: Sequence[Sequence[int]], config: ModelConfig
) -> Array:
    """Compare log-probabilities; tokens that are never generated are hidden in the model too, as in the export."""
    logits = logits.copy()
    logits[..., list(config.never_written)] = HIDDEN_LOGIT
    log_probs = log_softmax(logits)
    parts = []
    for row, (target, own) in enumerate(zip(targets, actual, strict=True)):
        expected = log_probs[row, np.arange(len(own)), list(target[: len(own)])]
        parts.append(np.abs(expected - np.array(own, dtype=np.float32)))
    return np.concatenate(parts)


def find_divergence(
    original: ComparedProgram, model: ModelFolder, first: Sequence[Translation], second: Sequence[Translation]
) -> Divergence | None:
    """Return the first sentence, and its first token, in which two sets of translations differ."""
    for line, other in zip(first, second, strict=True):
        if line.text == other.text:
            continue
        number = 0
        for part, twin in zip(line.parts, other.parts, strict=True):
            tokens, others = (own.hypotheses[0].tokens if own.hypotheses else () for own in (part, twin))
            if tokens != others:
                return _divergence(original, model, line.number, number, (part.ids, tokens, others))
            number += len(tokens)
    return None


def _divergence(
    original: ComparedProgram, model: ModelFolder, line: int, before: int, ids: tuple[tuple[int, ...], ...]
) -> Divergence:
    source, tokens, others = ids
    pairs = zip(tokens, others, strict=False)
    place = next((number for number, (one, two) in enumerate(pairs) if one != two), min(len(tokens), len(others)))
    margin = None
    if place < min(len(tokens), len(others)) and original.logits is not None:
        logits = original.logits([(*source, load_config(model).eos)], [tokens])[0, place]
        margin = float(logits[tokens[place]] - logits[others[place]])
    tokeniser = load_vocabularies(model).target
    names = [tokeniser.pieces(row[place : place + 1]) for row in (tokens, others)]
    own, other = (name[0] if name else "" for name in names)
    return Divergence(sentence=line, token=before + place + 1, original=own, exported=other, margin=margin)


def compare_bleu(text: ComparisonText, original: Sequence[str], exported: Sequence[str]) -> BleuDifference | None:
    """Return BLEU of both and the interval of its difference, or None without references."""
    if text.references is None:
        return None
    first, second = (compute_counts("bleu", list(own), [text.references]) for own in (original, exported))
    interval = difference_interval(first, second)
    scores = first.corpus_score.value, second.corpus_score.value
    return BleuDifference(
        original=scores[0], exported=scores[1], difference=scores[1] - scores[0],
        low=interval.low, high=interval.high, signature=interval.signature,
    )  # fmt: skip
