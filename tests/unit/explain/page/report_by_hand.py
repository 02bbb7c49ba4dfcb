"""A report on eight heads, written by hand: two of each layer of an encoder and of a decoder with one layer."""

from clearhead.evaluation.scores import Score
from clearhead.explain.head_kind import HeadStatistics
from clearhead.explain.head_report import HeadLinks, HeadReport, HeadRow, MeasuredChange
from clearhead.model.heads import AttentionHead

PLACES = (
    "encoder.0.self_attention", "encoder.1.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention",
)  # fmt: skip
IMPORTANCE = (0.01, 0.08, 0.02, 0.04, 0.03, 0.05, 0.16, 0.07)
LOSS = (0.0, 0.3, -0.01, 0.02, 0.03, 0.04, 0.6, 0.05)
BLEU = (0.0, -2.5, 0.1, -0.2, -0.3, -0.4, -7.25, -0.5)


def report(*, has_bleu: bool = True) -> HeadReport:
    """Return the report; heads 1 and 6 change the loss and BLEU significantly."""
    heads = [AttentionHead(where, number) for where in PLACES for number in range(2)]
    rows = tuple(_row(head, n, has_bleu=has_bleu) for n, head in enumerate(heads))
    loss = Score("loss", 1.5, "unit:token|sentences:7", is_higher_better=False)
    bleu = Score("BLEU", 41.5, "nrefs:1") if has_bleu else None
    return HeadReport(rows, loss, {"importance": "by gradient", "loss_p_value": "ar:40"}, bleu)


def _row(head: AttentionHead, n: int, *, has_bleu: bool) -> HeadRow:
    is_cross, p_value = "cross" in head.kind, 0.001 if n in (1, 6) else 1.0
    end = None if head.kind == "decoder.self_attention" else 0.1
    share = 0.95 if n == 1 else 0.4
    return HeadRow(
        HeadStatistics(head, 70, 0.3 + n / 20, -1, share, 0.2, end, 0.5 if is_cross else None),
        IMPORTANCE[n],
        MeasuredChange(LOSS[n], p_value),
        0.1 * n,
        HeadLinks(20.0 + n, True) if is_cross else None,
        MeasuredChange(BLEU[n], p_value) if has_bleu else None,
    )
