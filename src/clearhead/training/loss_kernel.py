"""The Triton kernel of `fused_loss`. No other module imports it, because Triton is only installed for GPUs.

For a pair of rows x and y with P = softmax(x), Q = softmax(y), cross-entropy H with label smoothing ε, the label as a
one-hot vector t, and V tokens in the vocabulary:

    loss = (H(x) + H(y)) / 2 + α (KL(P‖Q) + KL(Q‖P)) / 4
    ∂ loss / ∂x = (P - (1 - ε) t - ε / V) / 2 + α (P (log P - log Q - KL(P‖Q)) + P - Q) / 4
"""

import triton
import triton.language as tl


@triton.jit
def _log_sum(row, vocabulary, BLOCK: tl.constexpr):
    """Return log Σ exp of a row, and the sum of the row."""
    largest, total, plain = -float("inf"), 0.0, 0.0
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < vocabulary
        x = tl.load(row + at, mask=inside, other=-float("inf")).to(tl.float32)
        above = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - above) + tl.sum(tl.exp(x - above), axis=0)
        plain += tl.sum(tl.where(inside, x, 0.0), axis=0)
        largest = above
    return largest + tl.log(total), plain


@triton.jit
def _entropy(row, label, log_sum, plain, vocabulary, smoothing):
    """Return the cross-entropy of a row with label smoothing."""
    surprise = log_sum - tl.load(row + label).to(tl.float32)
    return (1.0 - smoothing) * surprise + smoothing * (log_sum - plain / vocabulary)


@triton.jit
def _clear(row, vocabulary, BLOCK: tl.constexpr):
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(row + at, tl.zeros((BLOCK,), tl.float32), mask=at < vocabulary)


@triton.jit
def loss_kernel(
    logits, labels, losses, programs, vocabulary, ignored, smoothing, r_drop,
    IS_PAIR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Process one row, or with IS_PAIR one row of the first half and the same row of the second half."""
    number = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + number)
    first = logits + number * vocabulary
    second = logits + (number + programs) * vocabulary
    if label == ignored:
        tl.store(losses + number, 0.0)
        _clear(first, vocabulary, BLOCK)
        if IS_PAIR:
            _clear(second, vocabulary, BLOCK)
        return
    log_sum, plain = _log_sum(first, vocabulary, BLOCK)
    loss = _entropy(first, label, log_sum, plain, vocabulary, smoothing)
    if not IS_PAIR:
        tl.store(losses + number, loss)
        for start in range(0, vocabulary, BLOCK):
            at = start + tl.arange(0, BLOCK)
            inside = at < vocabulary
            p = tl.exp(tl.load(first + at, mask=inside, other=0.0).to(tl.float32) - log_sum)
            wanted = tl.where(at == label, 1.0 - smoothing, 0.0) + smoothing / vocabulary
            tl.store(first + at, p - wanted, mask=inside)
        return
    log_sum_2, plain_2 = _log_sum(second, vocabulary, BLOCK)
    loss = (loss + _entropy(second, label, log_sum_2, plain_2, vocabulary, smoothing)) / 2
    apart, apart_2 = 0.0, 0.0  # KL(P‖Q), KL(Q‖P)
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < vocabulary
        log_p = tl.load(first + at, mask=inside, other=0.0).to(tl.float32) - log_sum
        log_q = tl.load(second + at, mask=inside, other=0.0).to(tl.float32) - log_sum_2
        apart += tl.sum(tl.where(inside, tl.exp(log_p) * (log_p - log_q), 0.0), axis=0)
        apart_2 += tl.sum(tl.where(inside, tl.exp(log_q) * (log_q - log_p), 0.0), axis=0)
    tl.store(losses + number, loss + r_drop * (apart + apart_2) / 4)
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < vocabulary
        log_p = tl.load(first + at, mask=inside, other=0.0).to(tl.float32) - log_sum
        log_q = tl.load(second + at, mask=inside, other=0.0).to(tl.float32) - log_sum_2
        p, q = tl.exp(log_p), tl.exp(log_q)
        wanted = tl.where(at == label, 1.0 - smoothing, 0.0) + smoothing / vocabulary
        by_first = (p - wanted) / 2 + r_drop * (p * (log_p - log_q - apart) + p - q) / 4
        by_second = (q - wanted) / 2 + r_drop * (q * (log_q - log_p - apart_2) + q - p) / 4
        tl.store(first + at, by_first, mask=inside)
        tl.store(second + at, by_second, mask=inside)
