"""Claim a wrong rule for a wrong line, only where it gives the student's own digits and the right rule does not.

The wrong rule is worked from the lines above as they are written, from what they represent, and with one digit more.
Lines in between that were not written are kept in full, or rounded or cut like the lines around them; √d, e and other
numbers that are not written in full or to two or more decimals. Each choice is the same for all cells of a line.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearhead.check.comparison import SheetComparison
from clearhead.check.habits import Care, habits, kept
from clearhead.check.misconceptions import variants
from clearhead.check.record_image import nearest_records
from clearhead.check.statement import EXACT
from clearhead.check.sums import calculation_text
from clearhead.check.wrong_line import AGAINST, Proof, Room, WrongLine, prove
from clearhead.check.wrong_rule import Calculation, Site, Variant, worked
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.reference import REFERENCE

_MAX_SITES = 12  # unwritten lines above a wrong one that are searched for a wrong rule
_MAX_TRIALS = 60  # wrong rules of one line, times the ways of rounding in between


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
    """How lines in between were rounded, and how many decimals of √d and e were used in them; None: in full."""

    decimals: int | None = None
    figures: int | None = None
    constants: int | None = None
    is_cut: bool = False

    def rounded(self, value: Array) -> Array:
        if self.decimals is None and self.figures is None:
            return value
        if self.figures is None:
            return kept(value, 10.0 ** -(self.decimals or 0), is_cut=self.is_cut)
        size = np.abs(np.where(np.isfinite(value) & (value != 0.0), value, 1.0))
        return kept(value, 10.0 ** (np.floor(np.log10(size)) + 1 - self.figures), is_cut=self.is_cut)

    def work(self, step: str, inputs: dict[str, Any]) -> Array:
        """Work a step with the constants of this choice."""
        if self.constants is not None and step == "scale" and inputs.get("root_of") is not None:
            inputs = {"scores": inputs["scores"], "divisor": self._constant(math.sqrt(inputs["root_of"]))}
        elif self.constants is not None and step == "softmax" and inputs.get("base") is None:
            inputs = {**inputs, "base": self._constant(math.e)}
        with np.errstate(all="ignore"):
            return np.asarray(REFERENCE[step](**inputs))

    def _constant(self, number: float) -> float:
        return float(kept(np.asarray(number), 10.0 ** -(self.constants or 0), is_cut=self.is_cut))


_IN_FULL = _Choice()


@dataclass(frozen=True)
class _Trial:
    """A wrong rule at a record: its place among the rules there, and its name."""

    node: int
    number: int
    name: str


class _Search:
    """The wrong rules that are tried for one line, at its own record and at unwritten records above it."""

    def __init__(self, comparison: SheetComparison, line: WrongLine) -> None:
        self.comparison, self.line, self.graph = comparison, line, comparison.graph
        self.index = line.node
        self.unwritten = sorted(comparison.unwritten_above(self.index))
        radius = comparison.rounding_radius(self.index)
        # a copied number can have more digits than the line it comes from
        self.room = Room(radius, radius if self.graph.is_move[self.index] else np.zeros(radius.shape))
        self.sources = _sources(comparison, self.index)
        self.choices = self._choices()
        self._worlds: dict[_Choice, list[list[Array]]] = {}
        self._rules: dict[tuple[_Choice, int, int], list[Variant]] = {}

    def claims(self) -> list[Claim]:
        """Return every wrong rule that is proved; other choices are tried only if no rule gives all cells in full."""
        claims, hopeful = [], []
        for node in [self.index, *sorted(self.unwritten, reverse=True)[:_MAX_SITES]]:
            for number, rule in enumerate(self._rules_at(_IN_FULL, 0, node)):
                trial = _Trial(node, number, rule.name)
                lasts = self._lasts(trial, _IN_FULL)
                results = [last.value for last in lasts]
                claim = self._claim(trial, prove(self.line, results, self.room), lasts, is_in_full=True)
                if claim is not None:
                    claims.append(claim)
                elif prove(self.line, results, self.room, is_near_enough=True) is not None:
                    hopeful.append(trial)
        if any(claim.score[0] == self.line.num_wrong for claim in claims):
            return claims
        rounds = max(1, _MAX_TRIALS // max(1, len(hopeful)))
        return claims + [claim for trial in hopeful[:_MAX_TRIALS] for claim in self._other_choices(trial, rounds)]

    def _other_choices(self, trial: "_Trial", rounds: int) -> Iterator[Claim]:
        """Yield the claims of a rule with other roundings in between, and other inner numbers."""
        for choice in self.choices[:rounds]:
            lasts = self._lasts(trial, choice)
            results = [self._with_habits(last) for last in lasts]
            num_habits = min(len(values) for values in results)
            stacked = np.stack([np.stack(values[:num_habits]) for values in results], axis=1)  # habits, worlds, cells
            for habit in self._promising(stacked):
                proof = prove(self.line, list(stacked[habit]), self.room)
                claim = self._claim(trial, proof, lasts, is_in_full=False)
                if claim is not None:
                    yield claim

    def _promising(self, stacked: Array) -> list[int]:
        """Return the habits whose results are within a unit of enough wrong cells."""
        statement = self.line.to_the_last_digit
        with np.errstate(invalid="ignore"):
            is_close = (np.abs(stacked - statement.value) <= statement.unit + EXACT) | (stacked == statement.value)
        counts = (is_close.any(axis=1) & self.line.wrong).sum(axis=(1, 2))
        return [int(habit) for habit in np.flatnonzero((self.line.num_wrong - counts) * AGAINST <= counts)]

    def _claim(self, trial: "_Trial", proof: Proof | None, lasts: list[Variant], *, is_in_full: bool) -> Claim | None:
        if proof is None:
            return None
        shown = tuple(last.shown for last in lasts if last.shown is not None)
        score = (*proof.score, int(is_in_full))
        return Claim(trial.name, trial.name.startswith("as if"), trial.node, proof.explained, score, shown)

    def _rules_at(self, choice: _Choice, world: int, node: int) -> list[Variant]:
        key = (choice, world, node)
        if key not in self._rules:
            site = Site(self.graph, node, self.comparison.fetch(self._worlds_of(choice)[world]))
            shape = self.graph.records[node].value.shape
            self._rules[key] = [*variants(site, shape), *_shortened_roots(site)]
        return self._rules[key]

    def _lasts(self, trial: "_Trial", choice: _Choice) -> list[Variant]:
        """Return the calculation of the line under a wrong rule, for every way to use the lines above."""
        lasts = []
        for world, values in enumerate(self._worlds_of(choice)):
            rules = self._rules_at(choice, world, trial.node)
            if trial.number < len(rules) and rules[trial.number].name == trial.name:
                lasts.append(self._last(values, trial.node, rules[trial.number], choice))
        return lasts

    def _last(self, values: list[Array], node: int, rule: Variant, choice: _Choice) -> Variant:
        """Return the calculation of the line itself where the rule was wrong at `node`."""
        if node == self.index:
            return rule
        changed, touched = list(values), {node}
        changed[node] = choice.rounded(rule.value)
        for other in self.unwritten:
            if other > node and touched & set(self.graph.parents[other]):
                touched.add(other)
                changed[other] = self._worked(other, changed, choice)
        step, inputs = self.graph.records[self.index].step.name, self._inputs(self.index, changed)
        return Variant(rule.name, choice.work(step, inputs), Calculation(step, inputs))

    def _with_habits(self, last: Variant) -> list[Array]:
        """Return the value of a calculation, first in full, then for every habit with numbers that are not written."""
        if last.shown is None:
            return [last.value]
        results = habits(last.shown.step, last.shown.inputs, Care(float(np.max(self.line.statement.unit))))
        spread = [_placed(result, last) for result in results]
        with np.errstate(invalid="ignore"):
            same = np.isclose(last.value, spread[0], rtol=1e-9, atol=0.0)  # a masked weight is 0 in any case
        return [last.value, *(np.where(same, result, last.value) for result in spread[1:])]

    def _inputs(self, node: int, values: list[Array]) -> dict[str, Any]:
        return self.graph.inputs(node, self.comparison.fetch(values))

    def _worked(self, node: int, values: list[Array], choice: _Choice) -> Array:
        value = choice.work(self.graph.records[node].step.name, self._inputs(node, values))
        return value if self.graph.is_move[node] else choice.rounded(value)

    def _worlds_of(self, choice: _Choice) -> list[list[Array]]:
        """Return the values of the sheet for every way to use the written lines above."""
        if choice not in self._worlds:
            worlds = []
            for source in self.sources:
                values = list(source)
                for node in self.unwritten:
                    values[node] = self._worked(node, values, choice)
                worlds.append(values)
            self._worlds[choice] = worlds
        return self._worlds[choice]

    def _choices(self) -> list[_Choice]:
        roundings = [_IN_FULL]
        if any(not self.graph.is_move[node] for node in self.unwritten):
            roundings += self._roundings()
        steps = {self.graph.records[node].step.name for node in self.unwritten}
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


def _placed(result: Array, last: Variant) -> Array:
    """Return the result of a calculation with the cells where the line has them."""
    if last.shown is None or last.shown.place is None:
        return result
    places = [last.shown.place(*cell) for cell in np.ndindex(last.value.shape)]
    rows, columns = (np.array(part) for part in zip(*places, strict=True))
    return np.asarray(result[rows, columns].reshape(last.value.shape))


def _sources(comparison: SheetComparison, index: int) -> list[list[Array]]:
    """Return the written lines above a record as people use them: as written, in full, with one digit more."""
    above = sorted(comparison.written_above(index))
    sources = [list(comparison.x), list(comparison.hat), list(comparison.x)]
    for node in above:
        own = comparison.graph.work(node, comparison.fetch(comparison.x))
        failed = comparison.failed[node]
        is_kept = np.zeros(own.shape, dtype=bool) if failed is None else failed
        sources[2][node] = np.where(is_kept, comparison.x[node], own)
    for full in (sources[1], sources[2]):
        for is_cut in (False, True):
            guarded = list(full)
            for node in above:
                guard = np.minimum.reduce([line.unit for line in comparison.statements[node]]) / 10.0
                short = kept(full[node], np.where(guard > 0.0, guard, 1.0), is_cut=is_cut)
                guarded[node] = np.where(guard > 0.0, short, full[node])
            sources.append(guarded)
    different: list[list[Array]] = []
    for source in sources:
        if not any(
            all(np.array_equal(source[node], other[node], equal_nan=True) for node in above) for other in different
        ):
            different.append(source)
    return different


def _shortened_roots(site: Site) -> Iterator[Variant]:
    """Return the values of a scale with √d to fewer than two decimals."""
    if site.step != "scale" or site.inputs.get("root_of") is None:
        return
    scores, number = site.inputs["scores"], site.inputs["root_of"]
    root = math.sqrt(number)
    shortened = {float(kept(np.asarray(root), unit, is_cut=cut)) for unit in (0.1, 1.0) for cut in (True, False)}
    for short in sorted(shortened, reverse=True):
        if short > 1.0 and abs(short - root) > EXACT:
            name = f"as if √{number:g} were {short:g}"
            yield worked(name, "scale", {"scores": scores, "divisor": short})
