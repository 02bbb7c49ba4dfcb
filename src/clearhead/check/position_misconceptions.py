"""Misconceptions about position vectors: sines and cosines, and rotation by angles."""

from collections.abc import Iterator

import numpy as np

from clearhead.check.wrong_rule import Site, Variant
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import REFERENCE


def position_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about position vectors give."""
    inputs = site.inputs
    formula, base, width = inputs["formula"], inputs["base"], inputs["width"]
    pos, dim = np.asarray(inputs["positions"], dtype=np.float64), np.asarray(inputs["dimensions"])
    yield site.changed("positions from 1", positions=pos + 1)
    if not str(formula).startswith("sinusoidal"):
        return
    column, is_odd = dim[None, :], dim[None, :] % 2 == 1
    pair = column // 2

    def waves(angles: Array, odd: Array = is_odd) -> Array:
        return np.asarray(np.where(odd, np.cos(angles), np.sin(angles)))

    angles = pos[:, None] / base ** (np.where(is_odd & (formula == "sinusoidal"), column - 1, column) / width)
    rule_name = "2i in the exponent taken as the dimension"
    yield Variant(rule_name, waves(pos[:, None] / base ** (2.0 * column / width)))
    if formula == "sinusoidal":
        yield Variant(rule_name, waves(pos[:, None] / base ** (column / width)))
    yield Variant(rule_name, waves(pos[:, None] / base ** (pair / width)))
    yield Variant("degrees instead of radians", waves(np.deg2rad(angles)))
    swapped = column / base ** (2.0 * (pos[:, None] // 2) / width)
    yield Variant("position and dimension swapped", waves(swapped, pos[:, None] % 2 == 1))
    yield Variant("position and dimension swapped", waves(swapped))
    half = width / 2
    in_block = np.where(column < half, column, column - np.ceil(half))
    yield Variant("sine and cosine in blocks", waves(pos[:, None] / base ** (2.0 * in_block / width), column >= half))
    yield Variant("sine and cosine swapped", waves(angles, ~is_odd))


def angle_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about the angles of rotary positions give."""
    inputs = site.inputs
    pos = np.asarray(inputs["positions"], dtype=np.float64)
    yield site.changed("positions from 1", positions=pos + 1)
    pairs = np.arange(inputs["width"] // 2, dtype=np.float64)
    angles = pos[:, None] / inputs["base"] ** (pairs / inputs["width"])[None, :]
    yield Variant("2i in the exponent taken as the dimension", angles)
    yield Variant("degrees instead of radians", np.rad2deg(REFERENCE["angle"](**inputs)))


def rotate_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about rotation by position give."""
    inputs = site.inputs
    x, angles, pairing = inputs["x"], inputs["angles"], inputs["pairing"]
    other = "halves" if pairing == "neighbours" else "neighbours"
    yield site.changed("rotated in the wrong direction", angles=-angles)
    yield site.changed("dimensions paired differently", pairing=other)
    yield site.changed("degrees instead of radians", angles=np.deg2rad(angles))
    yield Variant("rotation forgotten", x + 0.0)
