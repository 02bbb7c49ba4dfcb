"""The possible values of a record, given the earlier lines and their written precision: the image of rule 5."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph, Plain, Source
from clearhead.check.habits import Care, habits, roots
from clearhead.check.image import IMAGES
from clearhead.check.inner_image import INNER_UNIT, with_inner_numbers
from clearhead.check.interval import Range, around, exactly, hull, low_of, without_nan
from clearhead.check.norm_image import gained, joint_norm, joint_variance
from clearhead.check.statement import EXACT, NOISE, SLACK, Statement
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import NORM_AXES

DIVISORS = frozenset(  # lines that people often keep to two or more decimals without writing them
    {"mean", "variance", "length", "exponentiate", "row_sum", "deviation", "root_mean_square"}
)
Statements = Mapping[int, Sequence[Statement]]


def nearest_records(node: int, steps: Sequence[Sequence[int]], statements: Statements, *, is_written: bool) -> set[int]:
    """Return the nearest written records along `steps`, or the unwritten ones in between."""
    nearest: set[int] = set()
    todo, visited = [*steps[node]], {node}
    while todo:
        here = todo.pop()
        if here in visited:
            continue
        visited.add(here)
        if (here in statements) == is_written:
            nearest.add(here)
        if here not in statements:
            todo += steps[here]
    return nearest


class RecordImages:
    """The images of one sheet; `is_cut` allows numbers that were cut instead of rounded, all or the unwritten ones.

    `x` is the list of written values, which grows while the sheet is compared.
    """

    def __init__(
        self,
        graph: Graph,
        statements: Statements,
        x: Sequence[Array],
        rounded: Mapping[str, Array],
        *,
        is_cut: bool | Literal["unwritten"],
    ) -> None:
        self.graph, self.statements, self.x = graph, dict(statements), x
        self.rounded, self.is_cut, self.is_unwritten_cut = rounded, is_cut is True, bool(is_cut)
        self._ranges: dict[int, Range] = {}
        self._inner_unit: dict[int, float] = {}

    def set_inner_unit(self, index: int, unit: float) -> None:
        """Set how coarsely the inner numbers of a record can have been kept, if its line shows that."""
        self._inner_unit[index] = min(unit, INNER_UNIT)

    def _inner_unit_of(self, index: int) -> float:
        """Return how coarsely inner numbers can have been kept: to two decimals, and to two less than the line has."""
        if index not in self._inner_unit:
            value = np.abs(self.graph.records[index].value)
            largest = np.full(1, np.max(value, where=np.isfinite(value), initial=0.0))
            own = [float(line.style.unit(largest)[0]) for line in self.statements.get(index, ())]
            self._inner_unit[index] = min(INNER_UNIT, 100.0 * max(own, default=INNER_UNIT))
        return self._inner_unit[index]

    def correct(self, index: int, wrong: Mask, right: Array) -> None:
        """Replace miscopied cells by the right numbers, with the coarsest precision of their line.

        An integer in a line of integers is exact, as they are.
        """
        corrected = []
        for statement in self.statements[index]:
            unit = np.where(wrong, np.max(statement.unit), statement.unit)
            value = np.where(wrong & statement.is_written, right, statement.value)
            is_whole = statement.is_whole & (~wrong | (np.abs(right - np.round(right)) <= EXACT))
            corrected.append(replace(statement, value=value, unit=unit, unit_inwards=unit, is_whole=is_whole))
        self.statements[index] = corrected
        self.forget(index)

    def forget(self, index: int) -> None:
        """Discard the stored image of a record that was written again."""
        self._ranges.pop(index, None)

    def meets(self, statement: Statement, image: Range, reference: Array) -> Mask:
        """Return which cells meet the image, given the precision they were written with."""
        y = statement.value
        with np.errstate(invalid="ignore", over="ignore"):
            is_exact = statement.is_whole & (np.abs(reference - np.round(reference)) <= EXACT) & (image.radius == 0.0)
            unit = np.where(is_exact, 0.0, statement.unit)
            slack = SLACK * unit + NOISE * np.abs(y) + np.where(unit == 0.0, EXACT, 0.0)
            own = self._known(y, unit, np.minimum(unit, statement.unit_inwards))
            meets = (own.high >= image.low - slack) & (own.low <= image.high + slack)
        return np.asarray(meets & np.isfinite(y))

    def _known(self, y: Array, unit: Array, inwards: Array) -> Range:
        """Return the range of a written number: ± half a unit, or one unit away from 0 where it may be cut."""
        outward = unit if self.is_cut else unit / 2
        below = np.where(y <= 0, outward, inwards / 2)
        above = np.where(y >= 0, outward, inwards / 2)
        return Range(y - below, y + above)

    def image(self, index: int) -> Range:
        """Return the possible values of a record, given the earlier lines and their written precision."""
        for node in sorted(nearest_records(index, self.graph.parents, self.statements, is_written=False)):
            if node not in self._ranges:
                self._ranges[node] = self._widened(node, self._image(node))
        return self._image(index)

    def _image(self, index: int) -> Range:
        record = self.graph.records[index]
        inputs = self.graph.inputs(index, self.range_of)
        if all(_is_exact(value) for value in inputs.values()):
            return self._exact_image(index, inputs)
        if record.step.name == "scale" and inputs.get("root_of") is not None:
            inputs["roots"] = self._roots(index, inputs["root_of"])
        mean = self.graph.sources[index].get("mean")
        if record.step.name == "variance" and mean is not None and self._is_unwritten(mean):
            result = without_nan(joint_variance(inputs["x"], inputs["over"], low_of(inputs.get("counted"))))
            # a mean that was rounded but not written adds the square of its error
            return Range(result.low, result.high + self._neighbour_unit(_index(mean), inputs["mean"].middle) ** 2)
        if record.step.name == "normalise" and "mean" in record.inputs:
            joint = self._joint_norm(index, inputs)
            if joint is not None:
                return joint
        with np.errstate(all="ignore"):
            image = without_nan(IMAGES[record.step.name](inputs))
            return with_inner_numbers(record.step.name, image, inputs, self._inner_unit_of(index))

    def _exact_image(self, index: int, inputs: Mapping[str, Any]) -> Range:
        """Return the image of exact inputs: the results for all habits of keeping inner numbers."""
        own = [float(np.max(line.style.unit(np.ones(1)))) for line in self.statements.get(index, ())]
        values = {name: _exact_value(value) for name, value in inputs.items()}
        care = Care(max(own, default=0.0))
        return without_nan(hull(*habits(self.graph.records[index].step.name, values, care)))

    def _joint_norm(self, index: int, inputs: Mapping[str, Any]) -> Range | None:
        sources = self.graph.sources[index]
        mean, variance = sources["mean"], sources["variance"]
        deviation = sources.get("deviation", variance)
        if not (self._is_unwritten(mean) and self._is_unwritten(variance) and self._is_unwritten(deviation)):
            return None
        of_mean = self.graph.inputs(_index(mean), self.range_of)
        if self.graph.sources[_index(mean)]["x"] != sources["x"]:
            return None
        rule = self.graph.records[_index(deviation)].inputs if "deviation" in sources else inputs
        epsilon, outside = rule.get("epsilon") or 0.0, rule.get("epsilon_outside") or 0.0
        x: Range = inputs["x"]
        joint = joint_norm(x, NORM_AXES[of_mean["over"]], low_of(of_mean.get("counted")), epsilon, outside)
        # mean and variance may each have been rounded in between, with the precision of a neighbouring line
        unit_mean = self._neighbour_unit(_index(mean), np.abs(inputs["mean"].middle))
        unit_variance = self._neighbour_unit(_index(variance), np.abs(inputs["variance"].middle))
        centre = x.middle
        mu, var = inputs["mean"].middle, np.maximum(inputs["variance"].middle, 0.0)
        shifted = IMAGES["normalise"](
            {
                "x": exactly(centre),
                "mean": around(mu, unit_mean),
                "variance": around(var, unit_variance + unit_mean**2),
                "epsilon": epsilon,
                "epsilon_outside": outside,
            }
        )
        with np.errstate(invalid="ignore"):
            spread = np.nan_to_num(shifted.radius, nan=np.inf, posinf=np.inf)
            wide = Range(np.minimum(joint.low, shifted.low) - spread, np.maximum(joint.high, shifted.high) + spread)
        return gained(without_nan(wide), inputs)

    def _roots(self, index: int, number: float) -> tuple[float, float]:
        """Return the least and the greatest √d: it is kept to two decimals, or as coarsely as the line itself."""
        size = np.full(1, math.sqrt(number))
        own = [float(statement.style.unit(size)[0]) for statement in self.statements.get(index, ())]
        unit = (
            max(own) if own else float(self._neighbour_unit(index, size)[0]) * (1.0 if self.is_unwritten_cut else 2.0)
        )
        values = roots(number, unit)
        return min(values), max(values)

    def _is_unwritten(self, source: Source) -> bool:
        return isinstance(source, FromRecord) and source.index not in self.statements

    def range_of(self, source: Source) -> Any:
        """Return the range of an input: exact, or what its written precision allows."""
        if isinstance(source, Plain):
            return source.value
        if isinstance(source, FromGiven):
            value = self.graph.givens[source.name].value
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
                return value
            unit = self.rounded.get(source.name)
            return exactly(value) if unit is None else around(value, unit / 2)
        assert isinstance(source, FromRecord)
        index = source.index
        if index not in self.statements:
            return self._ranges[index]
        if index not in self._ranges:
            self._ranges[index] = self._written_range(index)
        return self._ranges[index]

    def _written_range(self, index: int) -> Range:
        """Return the range of a written record: ± half a unit (one unit away from 0 where numbers may be cut)."""
        value = self.x[index]
        low, high = value.copy(), value.copy()
        is_known = np.zeros(value.shape, dtype=bool)
        for statement in self.statements[index]:
            is_written = statement.is_written
            unit = np.where(np.isfinite(statement.value), statement.unit, 0.0)
            is_true = np.abs(statement.value - self.graph.records[index].value) <= EXACT
            if is_true.any() or statement.is_whole.any() or self.graph.is_move[index]:
                image = self.image(index)
                is_integer = np.abs(image.middle - np.round(image.middle)) <= EXACT
                is_exact = (statement.is_whole & is_integer) | (np.abs(statement.value - image.middle) <= EXACT)
                unit = np.where(is_exact & (image.radius == 0.0), 0.0, unit)
            interval = self._known(value, unit, np.minimum(unit, statement.unit_inwards))
            if self.graph.is_move[index]:  # digits that were only moved are as precise as in the line they came from
                same = (image.low <= statement.value) & (statement.value <= image.high)
                interval = Range(
                    np.where(same, np.minimum(interval.low, image.low), interval.low),
                    np.where(same, np.maximum(interval.high, image.high), interval.high),
                )
            low, high = np.where(is_written, interval.low, low), np.where(is_written, interval.high, high)
            is_known |= is_written
        if is_known.all():
            return Range(low, high)
        rest = self.image(index)
        own = self.statements[index][0].style.unit(np.abs(value)) / (1 if self.is_unwritten_cut else 2)
        wide = np.maximum(own, self._neighbour_unit(index, np.abs(value)))
        rest = rest.widened(0.0 if self.graph.is_move[index] else wide)
        return Range(np.where(is_known, low, rest.low), np.where(is_known, high, rest.high))

    def _widened(self, node: int, image: Range) -> Range:
        if self.graph.is_move[node]:
            return image
        unit = self._neighbour_unit(node, np.maximum(np.abs(image.low), np.abs(image.high)))
        # rounding does not change a known number that has few enough digits: 12 stays 12
        steps = image.middle / np.where(unit > 0.0, unit, 1.0) / (1.0 if self.is_unwritten_cut else 2.0)
        is_short = (image.radius == 0.0) & (np.abs(steps - np.round(steps)) <= 1e-9 * np.maximum(1.0, np.abs(steps)))
        unit = np.where(is_short, 0.0, unit)
        return Range(
            np.where(np.isfinite(image.low), image.low - unit, image.low),
            np.where(np.isfinite(image.high), image.high + unit, image.high),
        )

    def _neighbour_unit(self, node: int, sizes: Array) -> Array:
        """Return the unit of an unwritten line, which may have been rounded or cut like its neighbours."""
        around_it = nearest_records(node, self.graph.parents, self.statements, is_written=True)
        around_it |= nearest_records(node, self.graph.children, self.statements, is_written=True)
        styles = {
            statement.style for index in around_it for statement in self.statements[index] if statement.is_telling
        }
        if not styles:  # only exact numbers nearby: use the style of the sheet
            everywhere = [statement for own in self.statements.values() for statement in own]
            styles = {statement.style for statement in everywhere if statement.is_telling} or {
                statement.style for statement in everywhere
            }
        # people often keep such numbers without writing them, to two or more decimals
        is_divisor = self.graph.records[node].step.name in DIVISORS
        units = np.full(sizes.shape, INNER_UNIT if is_divisor else 0.0)
        for style in styles:
            units = np.maximum(units, style.unit(np.where(np.isfinite(sizes), sizes, 1.0)))
        return units if self.is_unwritten_cut else units / 2


def _is_exact(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_exact(part) for part in value)
    return not isinstance(value, Range) or bool(np.all(value.radius == 0.0))


def _exact_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_exact_value(part) for part in value)
    return low_of(value)


def _index(source: Source) -> int:
    assert isinstance(source, FromRecord)
    return source.index
