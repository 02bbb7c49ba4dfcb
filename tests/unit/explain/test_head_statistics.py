"""Statistics of heads: counted by hand for uniform attention, and from the complete trace for any other."""

from collections import Counter

import numpy as np
import pytest
import torch

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.errors import DataError
from clearhead.explain.head_kind import HeadStatistics
from clearhead.explain.head_statistics import AttentionReader, measure_attention
from clearhead.explain.token_pairs import TokenPair, batch_of
from clearhead.model import SequenceModel, Transformer
from clearhead.model.gates import closed_gates
from clearhead.model.heads import AttentionHead, every_head
from clearhead.model.probe import Probe
from clearhead.model.probed import ProbedModel
from clearhead.steps import Trace
from tests.parity.models import make_model
from tests.unit.decoding.toys import align

PAIRS = [
    TokenPair((3, 4, 5, 2), (6, 7, 2)),
    TokenPair((7, 8, 2), (9, 3, 4, 5, 2)),
    TokenPair((5, 2), (3, 2)),
    TokenPair((9, 8, 7, 6, 5, 4, 2), (3, 4, 5, 6, 7, 8, 2)),
]
CPU = torch.device("cpu")


def by_head(model: SequenceModel, pairs: list[TokenPair]) -> dict[str, HeadStatistics]:
    return {str(row.head): row for row in measure_attention(model, pairs).statistics}


def trace_of(model: Transformer, pair: TokenPair) -> Trace:
    return model.trace(batch_of([pair], model.config, CPU))[1]


@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_the_weights_are_those_of_the_trace(shape: str) -> None:
    model = make_model(shape, 5)
    batch = batch_of(PAIRS, model.config, CPU)
    weights = {}
    reader = AttentionReader(lambda head, values, allowed: weights.update({str(head): (values, allowed)}))
    model(batch, probe=Probe(reader))
    _, trace = model.trace(batch)
    records = trace.find("softmax", "*.head.*")
    assert [*weights] == [record.where for record in records]
    for record in records:
        assert torch.equal(weights[record.where][0], record.value)
        mask = trace.givens[f"{record.where.rpartition('.head.')[0]}.M"].value
        assert torch.equal(weights[record.where][1], mask)
    assert not reader.records
    assert not reader.givens


def test_uniform_attention_counted_by_hand() -> None:
    """Source of 3 tokens and an end, target of 2 and an end; every weight is 1 / number of visible keys."""
    model = make_model("encoder-decoder")
    uniform = ProbedModel(model, Probe(gates=closed_gates(model.config, CPU, uniform=every_head(model.config))))
    rows = by_head(uniform, PAIRS[:1])
    encoder, own, cross = (
        rows[f"{place}.head.1"] for place in ("encoder.0.self_attention", "decoder.1.self_attention", "decoder.0.cross_attention")
    )  # fmt: skip
    # 3 queries (the end token is none); 4 keys, weights 1/4; of equal weights the first counts: offsets 0, -1, -2
    assert encoder.num_queries == 3
    assert (encoder.confidence, encoder.first_share, encoder.end_share) == pytest.approx((0.25, 0.25, 0.25))
    assert (encoder.offset, encoder.offset_share) == (0, pytest.approx(1 / 3))
    # 3 rows of the decoder; the first sees only itself, the others 2 and 3 keys: weights 1/2 and 1/3, offsets -1, -2
    assert own.num_queries == 2
    assert (own.confidence, own.first_share) == pytest.approx((5 / 12, 5 / 12))
    assert own.end_share is None
    assert (own.offset, own.offset_share) == (-1, 0.5)
    # 3 rows, each over 4 source tokens
    assert cross.num_queries == 3
    assert (cross.confidence, cross.end_share, cross.offset) == (pytest.approx(0.25), pytest.approx(0.25), 0)
    assert not cross.is_positional


def expected_row(
    model: Transformer, head: AttentionHead
) -> tuple[int, float, Counter[int], Counter[int], float, float]:
    """Return the number of queries and the sums of one head, sentence by sentence from complete traces."""
    number, confidence, offsets, first, end, possible = 0, 0.0, Counter[int](), 0.0, 0.0, Counter[int]()
    for pair in PAIRS:
        weights = next(r.value[0] for r in trace_of(model, pair).find("softmax", str(head))).detach().numpy()
        has_end = head.kind != "decoder.self_attention"
        queries = weights[:-1] if head.kind.startswith("encoder") else weights
        for place, row in enumerate(queries):
            others = row[:-1] if has_end else row[: place + 1]
            if len(others) > 1:
                number += 1
                confidence += others.max()
                offsets[int(others.argmax()) - place] += 1
                possible.update(key - place for key in range(len(others)))
                first += row[0]
                end += row[-1]
    return number, confidence, offsets, possible, first, end


@pytest.mark.parametrize("shape", ["encoder-decoder", "decoder"])
def test_statistics_of_a_batch_are_those_of_single_traces(shape: str) -> None:
    model = make_model(shape, 5)
    rows = by_head(model, PAIRS)
    assert [*rows] == [str(head) for head in every_head(model.config)]
    for head in every_head(model.config):
        number, confidence, offsets, possible, first, end = expected_row(model, head)
        row = rows[str(head)]
        assert row.num_queries == number
        assert row.confidence == pytest.approx(confidence / number)
        assert row.first_share == pytest.approx(first / number)
        assert row.offset_share == pytest.approx(offsets[row.offset] / possible[row.offset])
        assert possible[row.offset] / number >= 2 / 3
        assert offsets[row.offset] == max(count for key, count in offsets.items() if possible[key] / number >= 2 / 3)
        if row.end_share is not None:
            assert row.end_share == pytest.approx(end / number)
        assert (row.end_share is None) == (head.kind == "decoder.self_attention")


def test_a_head_at_one_offset_in_nine_of_ten_queries_is_positional() -> None:
    head = AttentionHead("encoder.0.self_attention", 0)
    assert HeadStatistics(head, 10, 0.8, -1, 0.9, 0.1, 0.1).is_positional
    row = HeadStatistics(head, 10, 0.8, -1, 0.89, 0.1, 0.1)
    assert not row.is_positional
    assert row.to_dict()["head"] == "encoder.0.self_attention.head.0"
    assert row.to_dict()["is_positional"] is False
    assert row.to_dict()["kind"] == "mostly previous token"


def test_the_peaks_of_cross_attention_are_the_links_of_an_alignment() -> None:
    model = make_model("encoder-decoder", 5)
    peaks = measure_attention(model, PAIRS).peaks
    assert len(peaks) == 4
    for head, rows in peaks.items():
        for pair, row in zip(PAIRS, rows, strict=True):
            assert len(row) == len(pair.target)
            for is_shifted in (True, False):
                rule = AlignmentRule(Head(head.layer, head.number), is_shifted)
                expected = align(model, torch.tensor(pair.source), pair.target, rule)
                shown = row[1:] if is_shifted else row[:-1]
                assert [(int(source), target) for target, source in enumerate(shown)] == [*expected]
    assert isinstance(rows[0], np.ndarray)


def test_sentences_of_one_token_give_attention_no_choice() -> None:
    with pytest.raises(DataError, match="no sentence has two tokens, so that attention has nothing to choose"):
        measure_attention(make_model("decoder"), [TokenPair((), (2,)), TokenPair((), (2,))])


def test_the_mode_of_the_model_is_restored() -> None:
    model = make_model("encoder-decoder", dropout=0.5).train()
    first = measure_attention(model, PAIRS).statistics
    assert model.training
    assert measure_attention(model.eval(), PAIRS).statistics == first
