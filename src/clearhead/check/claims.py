"""Claim a wrong rule for a wrong line, only where it gives the student's own digits and the right rule does not.

The wrong rule is worked from the lines above as they are written, and from what they represent. Lines in between that
were not written are kept in full, or rounded or cut like the lines around them; √d and e in full or to two or more
decimals. Each choice is the same for all cells of a line.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.check.compare import SheetComparison
from clearhead.check.misconceptions import variants
from clearhead.check.record_image import nearest_records
from clearhead.check.statement import EXACT, JudgedStatement, Statement, fit
from clearhead.check.sums import calculation_text
from clearhead.check.verdict import Verdict
from clearhead.check.wrong_rule import Calculation, Site, Variant, worked
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import REFERENCE

_MAX_SITES = 12  # unwritten lines above a wrong one that are searched for a wrong rule
_TIE = 1e-9  # of a unit
_AGAINST = 3  # for each wrong cell that a rule does not give to the last digit, it must give this many others


@dataclass(frozen=True, eq=False)
class WrongLine:
    """A line with wrong cells: all writings of one record together, with what the student's own lines give."""

    statement: Statement
    expected: Array
    wrong: Mask
    accepted: Mask

    @property
    def node(self) -> int:
        """The record of the line."""
        return self.statement.node

    @property
    def num_wrong(self) -> int:
        """The number of wrong cells."""
        return int(self.wrong.sum())

    @property
    def is_mostly_wrong(self) -> bool:
        """Whether more than half of the written cells are wrong, masked ones not counted."""
        return 2 * self.num_wrong > self._num_open

    @property
    def is_half_wrong(self) -> bool:
        """Whether several cells are wrong, and at least half of all."""
        return self.num_wrong > 1 and 2 * self.num_wrong >= self._num_open

    @property
    def _num_open(self) -> int:
        return int((self.statement.is_written & np.isfinite(self.expected)).sum())

    @cached_property
    def to_the_last_digit(self) -> Statement:
        """The line with a unit of 1 where written and right numbers are integers: 40 for 50 is not rounded to tens."""
        statement, right = self.statement, self.expected
        with np.errstate(invalid="ignore"):
            is_exact = statement.is_whole & (np.abs(right - np.round(right)) <= EXACT)
        unit = np.where(is_exact, np.minimum(statement.unit, 1.0), statement.unit)
        return replace(statement, unit=unit, unit_inwards=np.minimum(statement.unit_inwards, unit))


def wrong_line(writings: Sequence[JudgedStatement]) -> WrongLine:
    """Return the writings of one record as one line; of a cell that was written twice the first writing counts."""
    first = writings[0]
    statement, expected = first.statement, first.expected
    wrong, accepted = _wrong(first), _accepted(first)
    for other in writings[1:]:
        more = other.statement
        new = more.is_written & ~statement.is_written
        statement = replace(
            statement,
            value=np.where(new, more.value, statement.value),
            unit=np.where(new, more.unit, statement.unit),
            unit_inwards=np.where(new, more.unit_inwards, statement.unit_inwards),
            is_whole=np.where(new, more.is_whole, statement.is_whole),
        )
        expected = np.where(new, other.expected, expected)
        wrong, accepted = wrong | (new & _wrong(other)), accepted | (new & _accepted(other))
    return WrongLine(statement, expected, wrong, accepted)


def _wrong(judged: JudgedStatement) -> Mask:
    return judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION)


def _accepted(judged: JudgedStatement) -> Mask:
    return judged.where(*(verdict for verdict in Verdict if verdict.is_accepted))


@dataclass(frozen=True, eq=False)
class Claim:
    """A wrong rule that gives the digits of some wrong cells; a slip is not a misconception."""

    name: str
    is_slip: bool
    site: int
    explained: Mask
    score: tuple[int, ...]  # cells that it proves, cells that agree with it, whether everything is kept in full
    shown: tuple[Calculation, ...] = ()  # by the wrong rule, from the written digits and from what they represent


def best_claim(comparison: SheetComparison, line: WrongLine) -> Claim | None:
    """Return the wrong rule that explains most of the wrong cells, or None."""
    best: Claim | None = None
    for claim in _Search(comparison, line).claims():
        if best is None or claim.score > best.score:
            best = claim
    return best


def student_sum(comparison: SheetComparison, line: WrongLine, claim: Claim, cell: tuple[int, int]) -> str:
    """Return the calculation of a cell by the wrong rule, if it gives the written digits."""
    row, column = cell
    statement = line.statement
    entry = (statement.texts[row][column], float(statement.value[cell]), float(statement.unit[cell]))
    for shown in claim.shown:
        place = shown.place(row, column) if shown.place is not None else cell
        text = calculation_text(comparison, shown, place, entry)
        if text:
            return text
    return ""


@dataclass(frozen=True)
class _Choice:
    """How lines in between were rounded, and how many decimals of √d and e were used; None: in full."""

    decimals: int | None = None
    figures: int | None = None
    constants: int | None = None
    is_cut: bool = False

    @property
    def is_in_full(self) -> bool:
        return self.decimals is None and self.figures is None and self.constants is None

    def rounded(self, value: Array) -> Array:
        if self.decimals is None and self.figures is None:
            return value
        size = np.abs(np.where(np.isfinite(value) & (value != 0.0), value, 1.0))
        if self.figures is not None:
            unit = 10.0 ** (np.floor(np.log10(size)) + 1 - self.figures)
        else:
            unit = np.full(value.shape, 10.0 ** -(self.decimals or 0))
        return _kept(value, unit, is_cut=self.is_cut)

    def constant(self, number: float) -> float:
        if self.constants is None:
            return number
        return float(_kept(np.asarray(number), np.asarray(10.0**-self.constants), is_cut=self.is_cut))

    def work(self, step: str, inputs: dict[str, Any]) -> Array:
        """Work a step with the constants of this choice."""
        if self.constants is not None and step == "scale" and inputs.get("root_of") is not None:
            inputs = {"scores": inputs["scores"], "divisor": self.constant(math.sqrt(inputs["root_of"]))}
        elif self.constants is not None and step == "softmax" and inputs.get("base") is None:
            inputs = {**inputs, "base": self.constant(math.e)}
        with np.errstate(all="ignore"):
            return np.asarray(REFERENCE[step](**inputs))


def _kept(value: Array, unit: Array, *, is_cut: bool) -> Array:
    steps = np.abs(np.where(np.isfinite(value), value, 0.0)) / unit
    amount = np.floor(steps + (_TIE if is_cut else 0.5 + _TIE)) * unit
    return np.asarray(np.where(np.isfinite(value), np.copysign(amount, value), value))


class _Search:
    """The wrong rules that are tried for one line, at its own record and at unwritten records above it."""

    def __init__(self, comparison: SheetComparison, line: WrongLine) -> None:
        self.comparison, self.line, self.graph = comparison, line, comparison.graph
        self.index = line.node
        self.unwritten = sorted(comparison.unwritten_above(self.index))
        self.reach = comparison.rounding_radius(self.index)
        self.sources = [comparison.x]
        above = comparison.written_above(self.index)
        if any(not np.array_equal(comparison.x[node], comparison.hat[node]) for node in above):
            self.sources.append(comparison.hat)
        self.choices = self._choices()
        self._worlds: dict[_Choice, list[list[Array]]] = {}

    def claims(self) -> Iterator[Claim]:
        """Yield every wrong rule that is proved."""
        full = _Choice()
        for node in [self.index, *sorted(self.unwritten, reverse=True)[:_MAX_SITES]]:
            for number, rule in enumerate(self._rules(self._worlds_of(full)[0], node)):
                worlds = self._by_rule(node, number, rule.name, full)
                if self._may_explain([self._result(values, node, own, full) for values, own in worlds]):
                    yield from self._judge_choices(node, number, rule.name)

    def _judge_choices(self, node: int, number: int, name: str) -> Iterator[Claim]:
        for choice in self.choices:
            worlds = self._by_rule(node, number, name, choice)
            judged = _judged(
                self.line, [self._result(values, node, rule, choice) for values, rule in worlds], self.reach
            )
            if judged is None:
                continue
            shown = [self._shown(values, node, rule, choice) for values, rule in worlds]
            calculations = tuple(calculation for calculation in shown if calculation is not None)
            score = (*judged.score, int(choice.is_in_full))
            yield Claim(name, name.startswith("as if"), node, judged.explained, score, calculations)
            if choice.is_in_full:
                return

    def _by_rule(self, node: int, number: int, name: str, choice: _Choice) -> list[tuple[list[Array], Variant]]:
        """Return the sheets of a choice, each with one of the wrong rules at a record."""
        pairs = []
        for values in self._worlds_of(choice):
            rules = self._rules(values, node)
            if number < len(rules) and rules[number].name == name:
                pairs.append((values, rules[number]))
        return pairs

    def _rules(self, values: list[Array], node: int) -> list[Variant]:
        site = Site(self.graph, node, self.comparison.fetch(values))
        return [*variants(site, self.graph.records[node].value.shape), *_shortened_roots(site)]

    def _result(self, values: list[Array], node: int, rule: Variant, choice: _Choice) -> Array:
        """Return the values of the line where the rule was wrong at `node`."""
        value = rule.value if choice.constants is None else _with_constants(rule, choice)
        if node == self.index:
            return value
        changed = self._after(values, node, choice.rounded(value), choice)
        return choice.work(self.graph.records[self.index].step.name, self._inputs(self.index, changed))

    def _after(self, values: list[Array], node: int, value: Array, choice: _Choice) -> list[Array]:
        """Return the values of the sheet after a record was replaced."""
        changed, touched = list(values), {node}
        changed[node] = value
        for other in self.unwritten:
            if other > node and touched & set(self.graph.parents[other]):
                touched.add(other)
                changed[other] = self._worked(other, changed, choice)
        return changed

    def _shown(self, values: list[Array], node: int, rule: Variant, choice: _Choice) -> Calculation | None:
        if node == self.index:
            return rule.shown
        changed = self._after(values, node, choice.rounded(rule.value), choice)
        return Calculation(self.graph.records[self.index].step.name, self._inputs(self.index, changed))

    def _inputs(self, node: int, values: list[Array]) -> dict[str, Any]:
        return self.graph.inputs(node, self.comparison.fetch(values))

    def _worked(self, node: int, values: list[Array], choice: _Choice) -> Array:
        value = choice.work(self.graph.records[node].step.name, self._inputs(node, values))
        return value if self.graph.is_move[node] else choice.rounded(value)

    def _worlds_of(self, choice: _Choice) -> list[list[Array]]:
        """Return the values of the sheet from the written digits and from what they represent."""
        if choice not in self._worlds:
            worlds = []
            for source in self.sources:
                values = list(source)
                for node in self.unwritten if not choice.is_in_full else ():
                    values[node] = self._worked(node, values, choice)
                worlds.append(values)
            self._worlds[choice] = worlds
        return self._worlds[choice]

    def _may_explain(self, results: list[Array]) -> bool:
        """Return whether the rule comes near enough for any choice to give the digits."""
        near = np.logical_or.reduce([_is_near(self.line, result, self.reach) for result in results])
        return int((near & self.line.wrong).sum()) >= min(2, self.line.num_wrong)

    def _choices(self) -> list[_Choice]:
        roundings = [_Choice()]
        if any(not self.graph.is_move[node] for node in self.unwritten):
            roundings += self._roundings()
        steps = {self.graph.records[node].step.name for node in (*self.unwritten, self.index)}
        if steps.isdisjoint({"scale", "softmax"}):
            return roundings
        shortened = [
            replace(rounding, constants=digits, is_cut=is_cut)
            for rounding in roundings
            for digits in (2, 3, 4)
            for is_cut in (False, True)
        ]
        return list(dict.fromkeys([*roundings, *shortened]))

    def _roundings(self) -> list[_Choice]:
        statements, parents, children = self.comparison.statements, self.graph.parents, self.graph.children
        nodes = {self.index}
        for node in self.unwritten:
            nodes |= nearest_records(node, parents, statements, is_written=True)
            nodes |= nearest_records(node, children, statements, is_written=True)
        around = [statement for node in sorted(nodes) for statement in statements[node]]
        styles = {statement.style for statement in around if statement.is_telling} or {s.style for s in around}
        choices: list[_Choice] = []
        for style in sorted(styles, key=repr):
            for more in (0, 1):
                for is_cut in (False, True):
                    if style.decimals is not None:
                        choices.append(_Choice(decimals=style.decimals + more, is_cut=is_cut))
                    if style.figures is not None:
                        choices.append(_Choice(figures=style.figures + more, is_cut=is_cut))
        return list(dict.fromkeys(choices))


def _with_constants(rule: Variant, choice: _Choice) -> Array:
    """Return the value of a wrong rule with shortened constants, where its calculation is known."""
    if rule.shown is None:
        return rule.value
    place = rule.shown.place or (lambda row, column: (row, column))
    full, short = (one.work(rule.shown.step, dict(rule.shown.inputs)) for one in (_Choice(), choice))
    value = rule.value.copy()
    for cell in np.ndindex(value.shape):
        there = place(*cell)
        if value[cell] == full[there]:  # a masked weight is 0, whatever the constants are
            value[cell] = short[there]
    return value


def _is_near(line: WrongLine, value: Array, reach: Array) -> Mask:
    """Return the cells that the rule gives if the rounding of the right rule is allowed."""
    statement = line.to_the_last_digit
    fits = fit(statement, value)
    with np.errstate(invalid="ignore"):
        within = np.abs(statement.value - value) <= statement.unit + reach
    return np.asarray(fits.half | fits.cut | fits.near | within)


@dataclass(frozen=True, eq=False)
class _Judged:
    explained: Mask
    score: tuple[int, ...]


def _judged(line: WrongLine, results: list[Array], reach: Array) -> _Judged | None:
    """Judge a wrong rule by the cells in which it differs from the right one; None if it is not proved.

    It must give at least two of them to the last digit (or the only one, if all other cells are right), no right cell
    of their row may contradict it, and it must explain nearly all wrong cells of the line.
    """
    if not results:
        return None
    statement = line.to_the_last_digit
    fits = [fit(statement, result) for result in results]
    exact = np.logical_or.reduce([one.half | one.cut for one in fits])
    near = np.logical_or.reduce([_is_near(line, result, reach) for result in results])
    with np.errstate(invalid="ignore"):
        same = [(result == line.expected) | (np.abs(result - line.expected) < statement.unit) for result in results]
    differs = statement.is_written & ~np.logical_and.reduce(same)
    contrary = (differs & ~near & line.accepted).any(axis=1)
    explained = line.wrong & near & ~contrary[:, None]
    proved = exact & explained
    num_proved = int(proved.sum())
    agreeing = int((exact & (differs | proved) & ~contrary[:, None]).sum())
    if (line.num_wrong - num_proved) * _AGAINST > num_proved:
        return None
    if agreeing < 2 and not _is_only_difference(line, differs):
        return None
    return _Judged(explained, (num_proved, int((exact & statement.is_written).sum())))


def _is_only_difference(line: WrongLine, differs: Mask) -> bool:
    """Return whether the rules differ in one cell only, and all others are right: a ReLU of one negative number."""
    return int(differs.sum()) == 1 and line.num_wrong == 1 and int(line.statement.is_written.sum()) > 1


def _shortened_roots(site: Site) -> Iterator[Variant]:
    """Return the values of a scale with √d to fewer than two decimals."""
    if site.step != "scale" or site.inputs.get("root_of") is None:
        return
    scores, number = site.inputs["scores"], site.inputs["root_of"]
    root = math.sqrt(number)
    shortened = {
        float(_kept(np.asarray(root), np.asarray(unit), is_cut=cut)) for unit in (0.1, 1.0) for cut in (True, False)
    }
    for short in sorted(shortened, reverse=True):
        if short > 1.0 and abs(short - root) > EXACT:
            name = f"as if √{number:g} were {short:g}"
            yield worked(name, "scale", {"scores": scores, "divisor": short})
