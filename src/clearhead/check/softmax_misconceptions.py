"""Misconceptions about the exponentials of a softmax and their sums."""

from collections.abc import Iterator

import numpy as np

from clearhead.check.wrong_rule import Calculation, Site, Variant


def exponentiate_rules(site: Site) -> Iterator[Variant]:
    """Return the exponentials with another base."""
    base = site.inputs.get("base")
    for other in (2.0, 3.0, 10.0):
        if other != base:
            yield site.changed(f"base {other:g}", base=other)
    if base is not None:
        yield site.changed("e instead of the base in the question", base=None)


def row_sum_rules(site: Site) -> Iterator[Variant]:
    """Return the sums over other cells than those of a row."""
    x = site.inputs["x"]
    height, width = x.shape
    if height > 1 and height == width:
        columns = x.sum(axis=0)[:, None]
        yield Variant("softmax down the columns", columns, Calculation("row_sum", {"x": x.T}))
    if height > 1:
        everything = Calculation("row_sum", {"x": x.reshape(1, -1)}, lambda row, column: (0, column))
        yield Variant("softmax over the whole matrix", np.full((height, 1), x.sum()), everything)
