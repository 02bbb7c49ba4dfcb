"""Comparisons of two programs: numbers, the first place where translations differ, and the interval of BLEU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.errors import DataError
from clearhead.evaluation.scores import compute_counts
from clearhead.evaluation.significance import Resampling, compare, difference_interval
from clearhead.export.comparison import (
    compare_bleu,
    compare_numbers,
    find_divergence,
    translate_timed,
)
from clearhead.export.probe import ComparedProgram, torch_probe
from clearhead.export.sentences import ComparisonText
from clearhead.formats.model_folder import find_model, load_config, load_vocabularies

RUN = find_model(Path(__file__).parents[2] / "golden" / "first_release" / "run")
CONFIG, VOCABULARIES = load_config(RUN), load_vocabularies(RUN)
SENTENCES = ("the cat sees a dog.", "the dog sleeps.")


@pytest.fixture(scope="module")
def original() -> ComparedProgram:
    return torch_probe(RUN)


def translation(number: int, tokens: tuple[int, ...]) -> Translation:
    text = VOCABULARIES.target.decode([tokens])[0]
    hypothesis = Hypothesis(tokens, (), 0.0, has_ended=tokens[-1] == CONFIG.eos)
    return Translation(number, "", (TranslatedPart("", "", (5, 7), texts=(text,), hypotheses=(hypothesis,)),))


def test_the_largest_and_the_mean_difference_of_logits_are_measured(original: ComparedProgram) -> None:
    assert original.logits is not None
    lines = translate_timed(original, RUN, SENTENCES).lines
    right = original.logits

    def changed(sources: Any, targets: Any) -> Any:
        logits = right(sources, targets).copy()
        logits[0, 0, 7] += 0.25
        return logits

    numbers = compare_numbers(original, ComparedProgram(original.engine, "changed", changed), CONFIG, lines)
    num_tokens = sum(len(line.hypotheses[0].tokens) for line in lines)
    assert numbers is not None
    assert (numbers.of, numbers.tokens) == ("logits", num_tokens)
    assert numbers.largest == pytest.approx(0.25, abs=1e-5)
    assert numbers.mean == pytest.approx(0.25 / (num_tokens * CONFIG.target_size), rel=1e-3)


def test_log_probabilities_are_compared_where_there_are_no_logits(original: ComparedProgram) -> None:
    assert original.logits is not None
    right = original.logits
    lines = translate_timed(original, RUN, SENTENCES).lines

    def log_probs(sources: Any, targets: Any) -> list[list[float]]:
        logits = right(sources, targets).astype(np.float64)
        logits[..., list(CONFIG.never_written)] = -1e4
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        rows = [
            [float(logits[row, place, token]) for place, token in enumerate(own)] for row, own in enumerate(targets)
        ]
        rows[0][1] -= 0.5
        return rows

    numbers = compare_numbers(original, ComparedProgram(original.engine, "changed", log_probs=log_probs), CONFIG, lines)
    assert numbers is not None
    assert numbers.of == "log-probabilities"
    assert numbers.largest == pytest.approx(0.5, abs=1e-5)


def test_the_first_token_that_differs_is_found_with_its_margin(original: ComparedProgram) -> None:
    assert original.logits is not None
    eos = CONFIG.eos
    first = [translation(1, (5, 11, eos)), translation(2, (7, 13, 17, eos))]
    second = [translation(1, (5, 11, eos)), translation(2, (7, 19, 17, eos))]
    divergence = find_divergence(original, RUN, first, second)
    assert divergence is not None
    logits = original.logits([(5, 7, eos)], [(7, 13, 17, eos)])[0, 1]
    assert (divergence.sentence, divergence.token) == (2, 2)
    assert [divergence.original, divergence.exported] == VOCABULARIES.target.pieces((13, 19))
    assert divergence.margin == pytest.approx(float(logits[13] - logits[19]))
    assert find_divergence(original, RUN, first, first) is None


def test_a_translation_that_ends_sooner_diverges_at_its_end(original: ComparedProgram) -> None:
    divergence = find_divergence(original, RUN, [translation(1, (5, 11))], [translation(1, (5, 11, 13))])
    assert divergence is not None
    assert (divergence.token, divergence.original, divergence.margin) == (3, "", None)
    assert divergence.exported == VOCABULARIES.target.pieces((13,))[0]


def test_bleu_has_the_interval_of_its_difference() -> None:
    references = tuple(f"a sentence of {number} words that is long enough" for number in range(23))
    worse = [text if number % 3 else "something else" for number, text in enumerate(references)]
    text = ComparisonText(references, references, "text")
    measured = compare_bleu(text, references, worse)
    assert measured is not None
    assert measured.original == pytest.approx(100)
    assert measured.difference == pytest.approx(measured.exported - 100)
    assert measured.low < measured.difference < measured.high < 0
    assert "bs:1000" in measured.signature
    assert compare_bleu(ComparisonText(references, None, "text"), references, worse) is None


def test_the_interval_agrees_with_the_paired_test() -> None:
    references = [f"a sentence of {number} words that is long enough" for number in range(23)]
    worse = [text if number % 7 else "something else" for number, text in enumerate(references)]
    baseline, system = (compute_counts("bleu", own, [references]) for own in (references, worse))
    interval = difference_interval(baseline, system, Resampling(num_samples=400))
    test = compare(("baseline", "system"), baseline, system, "bootstrap", Resampling(num_samples=400))
    assert interval.low < test.difference < 0
    assert difference_interval(baseline, baseline).low == difference_interval(baseline, baseline).high == 0
    with pytest.raises(DataError, match="the systems have 23 and 22 sentences"):
        difference_interval(baseline, compute_counts("bleu", worse[1:], [references[1:]]))
