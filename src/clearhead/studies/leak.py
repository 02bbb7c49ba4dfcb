"""Why the decoder is masked.

In training the complete target sentence is available. Without a mask a token can attend to the next one, which
is the answer that it must predict: the score is perfect but meaningless, because at inference the next token does not
exist yet.

The model here is not trained. The vector of a token is its one-hot vector concatenated with the one-hot vector of its
position. The query of position p is the key of position p + 1, so that it attends to its right neighbour; the value is
the token; the prediction is the token with the largest weight. The model copies the next token if it can attend to it.
The sequences are random, so earlier tokens do not help: chance is one divided by the size of the vocabulary.
"""

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable
from clearhead.studies.picture import Panel
from clearhead.worksheet import solve
from clearhead.worksheet.arrays import Array, Ids
from clearhead.worksheet.reference import divide, mask, mix, project, score, softmax

CLAIM = (
    "Without a mask, a decoder in training can read the token that it must predict. At inference it cannot, so its "
    "training accuracy is meaningless."
)
VOCABULARY = 7
LENGTH = 11
NUM_SEQUENCES = 1000
_SHARPNESS = 50.0  # the other tokens get a weight of about e^-50, which is negligible
_WORDS = ("word 1", "word 2", "word 3")
_ACCURACIES = ("accuracy in training", "accuracy at inference")
PANELS = (
    Panel("No mask: word 1 reads words 2 and 3", _WORDS, "mixture for", label="weight"),
    Panel("Masked, renormalised", _WORDS, "mixture for", tables={1: ""}, label="weight"),
    Panel(f"The copier (chance: {1 / VOCABULARY:.2f})", _ACCURACIES, "attention", tables={2: ""}, label="accuracy"),
)


def run(seed: int) -> Measurement:
    """Mask the weights of the exercise `leak`, and score the copier with and without a mask and later tokens."""
    weights = solve("leak").answers[0]  # its vectors are one-hot, so the mixtures are the weights
    allowed = np.tri(len(weights), dtype=bool)
    masked = divide(mask(weights, allowed, 0.0))
    leaks = [float(np.sum(row[~may])) for row, may in zip(weights, allowed, strict=True)]
    unmasked_table = ResultTable(
        "weights from the lecture notes: each word is a mixture of all three",
        ("mixture for", *_WORDS, "share from later words"),
        [(word, *row.tolist(), leak) for word, row, leak in zip(_WORDS, weights, leaks, strict=True)],
    )
    masked_table = ResultTable(
        "the same weights, masked and renormalised",
        ("mixture for", *_WORDS),
        [(word, *row.tolist()) for word, row in zip(_WORDS, masked, strict=True)],
    )
    tokens = np.random.default_rng(seed).integers(VOCABULARY, size=(NUM_SEQUENCES, LENGTH))
    rows = []
    for name, is_causal in (("without a mask", False), ("with a mask", True)):
        training, inference = predict(tokens, is_causal), predict_step_by_step(tokens, is_causal)
        rows.append(
            (
                name,
                accuracy(training, tokens),
                accuracy(inference, tokens),
                float(np.mean(training[:, :-1] == inference[:, :-1])),
            )
        )
    scores = ResultTable(
        f"the copier on {NUM_SEQUENCES:,} sequences of length {LENGTH}, vocabulary {VOCABULARY}, "
        f"chance {1 / VOCABULARY:.4f}",
        ("attention", *_ACCURACIES, "same prediction in both"),
        rows,
    )
    (_, leaky, leaky_later, _), (_, honest, honest_later, same) = rows
    finding = (
        f"Without a mask the copier predicts {leaky:.1%} of the tokens correctly in training, but {leaky_later:.1%} at "
        f"inference, where later tokens are missing. With a mask the accuracy is {honest:.1%} in training and "
        f"{honest_later:.1%} at inference (chance: {1 / VOCABULARY:.1%}); {same:.0%} of the predictions are the same."
    )
    return Measurement((unmasked_table, masked_table, scores), finding)


def copier() -> tuple[Array, Array, Array]:
    """Return W_Q, W_K and W_V, set by hand as the module docstring describes."""
    nothing = np.zeros((VOCABULARY, LENGTH))
    w_k = np.concatenate([nothing, np.eye(LENGTH)])  # the position
    w_q = np.concatenate([nothing, _SHARPNESS * np.eye(LENGTH, k=1)])  # the position after it
    w_v = np.concatenate([np.eye(VOCABULARY), np.zeros((LENGTH, VOCABULARY))])  # the token
    return w_q, w_k, w_v


def predict(tokens: Ids, is_causal: bool) -> Ids:
    """Return the predicted next token of every position, with all given tokens available at once."""
    length = tokens.shape[1]
    places = np.broadcast_to(np.eye(LENGTH)[:length], (len(tokens), length, LENGTH))
    x = np.concatenate([np.eye(VOCABULARY)[tokens], places], axis=-1)  # (B, T, V + T)
    q, k, v = (project(x, w) for w in copier())
    scores = score(q, k)
    if is_causal:
        scores = mask(scores, np.tri(length, dtype=bool), -np.inf)
    votes = mix(softmax(scores), v)  # (B, T, V)
    # Rounded, so that equal votes are equal in whatever order they were added; argmax then takes the first.
    return np.asarray(np.argmax(np.round(votes, 9), axis=-1), dtype=np.int64)


def predict_step_by_step(tokens: Ids, is_causal: bool) -> Ids:
    """Return the predictions at inference: each one is made only from the tokens up to its position."""
    steps = [predict(tokens[:, : end + 1], is_causal)[:, -1] for end in range(tokens.shape[1])]
    return np.stack(steps, axis=1)


def accuracy(predicted: Ids, tokens: Ids) -> float:
    """Return the share of next tokens that were predicted correctly; the last position has no next token."""
    return float(np.mean(predicted[:, :-1] == tokens[:, 1:]))
