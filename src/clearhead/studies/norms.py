"""Why Transformers normalise over the features.

Batch norm computes its mean and variance over the rows of a batch. Sentences are padded to one length with rows of
zeros, and if these rows are included, the values of a real token depend on the amount of padding. Layer norm uses only
the row of one token, so padding has no effect.
"""

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.picture import Panel
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reading import gallery, read_data
from clearhead.worksheet.reference import mean, normalise, variance

CLAIM = "Padding with zeros changes the batch norm of the other tokens, but not their layer norm."
EPSILON = 1e-5
_SHOWN = (0, 1, 2, 5, 10, 20, 50, 100)
_NORMS = ("batch norm, padding included", "batch norm, padding excluded", "layer norm")
PANELS = (
    Panel("Normalised value of z1 = 7 of token s1", _NORMS, "padding rows", label="normalised value"),
    Panel("Largest change of a real value", _NORMS, "padding rows", tables={1: ""}, label="change"),
)


def run(seed: int) -> Measurement:
    """Normalise the table of the exercise `norms` with 0 … 100 rows of padding. The seed has no effect."""
    table = given_table()
    values: Rows = []
    changes: Rows = []
    unpadded = norms_of(table)
    for rows in _SHOWN:
        padded = np.concatenate([table, np.zeros((rows, table.shape[1]))])
        mu = mean(padded, "tokens")
        normed = norms_of(padded, num_real=len(table))
        values.append((rows, float(mu[0, 0]), float(variance(padded, mu, "tokens")[0, 0]), *normed[:, 0, 0].tolist()))
        changes.append((rows, *np.max(np.abs(normed - unpadded), axis=(1, 2)).tolist()))
    tables = (
        ResultTable(
            "normalised value of feature z1 of token s1 (z1 = 7)",
            ("padding rows", "batch mean", "batch variance", *_NORMS),
            values,
        ),
        ResultTable("largest change of any of the 15 values that are not padding", ("padding rows", *_NORMS), changes),
    )
    before, after = (float(row[3]) for row in (values[0], values[-1]))
    included, excluded, layer = map(float, changes[-1][1:])
    finding = (
        f"With {_SHOWN[-1]} padding rows included, batch norm changes the value of z1 from {before:.2f} to "
        f"{after:.2f}. The largest change of any value that is not padding is {included:.2f}. With padding "
        f"excluded this change is {excluded:.3g}, and with layer norm it is {layer:.3g}."
    )
    return Measurement(tables, finding)


def given_table() -> Array:
    """Return the table of the gallery exercise `norms`: three features for each of five tokens."""
    return np.asarray(read_data(gallery()["norms"].read_bytes())["parts"][0]["X"], dtype=np.float64)


def norms_of(padded: Array, num_real: int | None = None) -> Array:
    """Return the real rows of a table under the three norms: (3, S, D). The first `num_real` rows are no padding."""
    is_real = np.arange(len(padded)) < len(padded[:num_real])
    kinds = (("tokens", None), ("tokens", is_real), ("features", None))
    return np.stack([norm(padded, over, counted)[:num_real] for over, counted in kinds])


def norm(x: Array, over: str, counted: Mask | None) -> Array:
    """(x - μ) / √(σ² + ε), with μ and σ² over the counted tokens of a feature, or over the features of a token"""
    mu = mean(x, over, counted)
    return normalise(x, mu, variance(x, mu, over, counted), epsilon=EPSILON)
