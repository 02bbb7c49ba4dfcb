"""A report on all heads: the same numbers as the single measurements, alignments as rated elsewhere, BLEU by removal."""

import json
from typing import Any

import pytest
import torch

from clearhead.decoding.alignment import AlignmentRule, Head, rate_rules
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import words_of
from clearhead.evaluation.alignment import GoldLinks, alignment_error_rate
from clearhead.evaluation.scores import bleu
from clearhead.evaluation.significance import Resampling, holm
from clearhead.explain.head_importance import head_importance, losses_alone, losses_without
from clearhead.explain.head_report import HeadReport, measure_heads, with_bleu
from clearhead.explain.head_statistics import measure_attention
from clearhead.explain.token_pairs import encode_pairs
from clearhead.model import Transformer
from clearhead.model.heads import every_head
from clearhead.text.config import TextConfig
from tests.parity.test_model_gates import without_rows
from tests.unit.decoding.toys import Both, Letters, random_model

TEXTS = [("abcd", "efgh"), ("hello", "there"), ("q", "rs"), ("some", "words")]
FEW = Resampling(num_trials=200)


class Characters(Letters):
    """Letters of which each is a word, for `words_of` and for BLEU."""

    pad, bos, eos, digest, config = 0, 1, 2, "0123456789abcdef", TextConfig()

    def pieces(self, ids: Any) -> list[str]:
        return [f"▁{self.decode([[number]])[0]}" for number in ids]

    def starts_word(self, piece: int) -> bool:
        return piece > self.eos

    def decode(self, ids: Any) -> list[str]:
        return [" ".join(text) for text in super().decode(ids)]

    def normalised(self, text: str) -> str:
        return " ".join(text)


def vocabularies() -> Any:
    both = Both(Characters(), Characters())
    object.__setattr__(both, "digest", Characters.digest)
    return both


def translator_of(model: Transformer) -> Translator:
    return Translator(vocabularies(), TorchEngine(model))


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(36)


@pytest.fixture(scope="module")
def report(model: Transformer) -> HeadReport:
    links = [GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset()) for _ in TEXTS]
    links[2] = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 1)}))
    return measure_heads(model, vocabularies(), TEXTS, links, FEW)


def test_every_row_has_the_numbers_of_the_single_measurements(model: Transformer, report: HeadReport) -> None:
    pairs = encode_pairs(model, vocabularies(), TEXTS)
    importance, without, alone = head_importance(model, pairs), losses_without(model, pairs), losses_alone(model, pairs)
    assert [row.statistics for row in report.rows] == [*measure_attention(model, pairs).statistics]
    assert report.loss.value == without[None].mean
    for row in report.rows:
        assert row.importance == importance[row.head]
        assert row.loss.difference == without[row.head].mean - report.loss.value
        assert row.loss_alone == alone[row.head].mean - report.loss.value
        assert 1 / 201 * len(report.rows) <= row.loss.p_value <= 1
        assert row.bleu is None


def test_the_best_head_alone_has_the_lowest_loss_of_its_layer(report: HeadReport) -> None:
    assert len(report.best_alone) == 6
    for where, head in report.best_alone.items():
        losses = {row.head: row.loss_alone for row in report.rows if row.head.where == where}
        assert losses[head] == min(losses.values())


def test_alignment_errors_are_those_of_the_same_rule_elsewhere(model: Transformer, report: HeadReport) -> None:
    links = [{(0, 0), (1, 1)} for _ in TEXTS]
    sure, possible = [*links], [*links]
    sure[2], possible[2] = {(0, 0)}, {(0, 0), (0, 1)}
    pairs = [(torch.tensor(pair.source), pair.target) for pair in encode_pairs(model, vocabularies(), TEXTS)]

    def error(predicted: Any) -> float:
        return alignment_error_rate([frozenset(line) for line in predicted], sure, possible).value

    with torch.inference_mode():
        rated = {rule.rule: rule.error for rule in rate_rules(model, pairs, error)}
    assert words_of(vocabularies().source, [4, 5], "ab").words == ("a", "b"), "a letter is a word"
    for row in report.rows:
        if row.head.kind != "decoder.cross_attention":
            assert row.links is None
            continue
        assert row.links is not None
        own = [rated[AlignmentRule(Head(row.head.layer, row.head.number), shifted)] for shifted in (True, False)]
        assert row.links.error == pytest.approx(min(own))
        assert own[0 if row.links.is_shifted else 1] == pytest.approx(row.links.error)


@pytest.mark.parametrize("options", [{}, {"beam": 3}], ids=["greedy", "beam"])
def test_the_change_of_bleu_is_that_of_the_model_without_the_rows(
    model: Transformer, report: HeadReport, options: dict[str, Any]
) -> None:
    translator, search = translator_of(model), SearchSettings(**options)
    sources = [source for source, _ in TEXTS]
    references = [translation.text for translation in translator.translate(sources, search)]
    texts = list(zip(sources, references, strict=True))
    measured = with_bleu(report, translator, texts, search, FEW)
    assert measured.bleu is not None
    assert measured.bleu.value == pytest.approx(100)
    changes = []
    for row in measured.rows:
        outputs = translator_of(without_rows(model, row.head)).translate(sources, search)
        expected = bleu([translation.text for translation in outputs], references).value - measured.bleu.value
        assert row.bleu is not None
        assert row.bleu.difference == pytest.approx(expected)
        changes.append(expected)
    assert min(changes) < -10, "no head changes a translation"


def test_all_heads_have_gates_at_the_same_places_so_that_one_recorded_step_serves_them(
    model: Transformer, report: HeadReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator, gates = translator_of(model), []
    gated = translator.gated
    monkeypatch.setattr(Translator, "gated", lambda self, own: gates.append(own) or gated(own))
    with_bleu(report, translator, TEXTS, SearchSettings(), FEW)
    assert len(gates) == len(report.rows)
    assert all(gates[0].is_like(own) for own in gates)


def test_the_data_are_json_and_name_their_signatures(report: HeadReport) -> None:
    data = json.loads(json.dumps(report.to_dict()))
    assert [row["head"] for row in data["heads"]] == [str(head) for head in every_head(random_model(36).config)]
    assert data["signatures"]["loss_p_value"] == "ar:200|seed:12345|correction:holm|tests:12"
    assert data["loss"]["signature"] == "unit:token|log:e|eos:yes|sentences:4|vocabulary:0123456789ab"
    assert data["bleu"] is None
    assert set(data["best_alone"]) == {row["head"].rpartition(".head.")[0] for row in data["heads"]}
    assert data["heads"][-1]["alignment_error"] is not None
    assert data["heads"][0]["alignment_error"] is None


def test_p_values_of_losses_are_corrected(report: HeadReport) -> None:
    p_values = [row.loss.p_value for row in report.rows]
    assert min(p_values) >= holm([1 / 201] * len(p_values))[0]
