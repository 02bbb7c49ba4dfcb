"""Write a report from a comparison: lines with their cells and marks, a description of every root error, and notes."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearhead.check.comparison import SheetComparison
from clearhead.check.diagnose import RootError, diagnose
from clearhead.check.graph import FromGiven, FromRecord, Graph
from clearhead.check.marks import LineScheme, MarkingContext, Scheme, line_marks
from clearhead.check.names import split_pick
from clearhead.check.report import CellMark, Finding, LineMark, LineMarks, Report
from clearhead.check.scheme_lines import check_scheme_lines, other_steps, scheme_nodes
from clearhead.check.statement import JudgedStatement, Placing
from clearhead.check.story import remedy, what_follows, what_is_wrong
from clearhead.check.sums import plain_number, right_sum
from clearhead.check.verdict import Verdict
from clearhead.check.working import Working
from clearhead.exercises.check.read.number import read_cell
from clearhead.worksheet.arrays import Array, Mask
from clearhead.worksheet.view import SheetView, StepView

_MAX_FINDINGS = 200  # reported at most; a real working has far fewer


@dataclass(frozen=True, eq=False)
class ComparedWorking:
    """A working compared under one convention."""

    graph: Graph
    placing: Placing
    comparison: SheetComparison

    @property
    def num_wrong(self) -> int:
        """The number of unexplained cells; a line of the wrong shape counts with all its cells."""
        slips = sum(int(judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION).sum()) for judged in self.comparison.judged)
        return slips + sum(
            int(self.graph.records[wrong_shape.node].value.size) for wrong_shape in self.placing.misshapen
        )

    def num_wrong_in(self, line: int) -> int:
        """The number of unexplained cells in this line."""
        return self._num_in(line, Verdict.SLIP, Verdict.TRANSCRIPTION)

    def num_unproved_in(self, line: int) -> int:
        """The number of cells in this line that are unexplained, or that could be accepted only as possible."""
        possible = (Verdict.PLAUSIBLE, Verdict.UNSUPPORTED, Verdict.UNCHECKED)
        return self._num_in(line, Verdict.SLIP, Verdict.TRANSCRIPTION, *possible)

    def _num_in(self, line: int, *verdicts: Verdict) -> int:
        own = [judged for judged in self.comparison.judged if judged.statement.line == line]
        return sum(int(judged.where(*verdicts).sum()) for judged in own)


class ReportWriter:
    """Turn a comparison into a report."""

    def __init__(self, working: Working, marked: ComparedWorking, scheme: Scheme) -> None:
        self.working, self.scheme = working, scheme
        self.graph, self.placing, self.comparison = marked.graph, marked.placing, marked.comparison
        self.roots = diagnose(self.comparison)[:_MAX_FINDINGS]
        self.view = SheetView(self.graph.sheet)
        self.judged = sorted(self.comparison.judged, key=lambda judged: judged.statement.line)
        self.groups = _grouped(self.judged)
        self.below = [self._contaminated(root) for root in self.roots]
        self.findings_at = self._findings_at()
        self.num_affected = self._num_affected()

    def report(self) -> Report:
        """Return the report."""
        check_scheme_lines(self.scheme, self.graph, self.working.problem)
        ledger = MarkingContext(self.comparison, self.roots, self.scheme, self._charged_above())
        lines: list[tuple[int, LineMark, list[JudgedStatement]]] = [
            (group[0].statement.line, self._line(group, self._marks(ledger, group)), group) for group in self.groups
        ]
        for wrong_shape in self.placing.misshapen:
            line = self._misshapen(wrong_shape.line, wrong_shape.node, wrong_shape.sentence)
            lines.append((wrong_shape.line, line, []))
        lines.sort(key=lambda entry: entry[0])
        for node, line in self._missing():
            lines.insert(self._place_in_sheet(node, [group for _, _, group in lines]), (-1, line, []))
        marked = tuple(line for _, line, _ in lines)
        places = {id(judged): place for place, (_, _, group) in enumerate(lines) for judged in group}
        earned, out_of = sum(line.marks.earned for line in marked), sum(line.marks.out_of for line in marked)
        unscaled = None
        if self.scheme.marks is not None and out_of and out_of != self.scheme.marks:
            unscaled = (round(earned, 6), round(out_of, 6))
            earned, out_of = earned * self.scheme.marks / out_of, self.scheme.marks
        sheet = self.graph.sheet
        return Report(
            title=self.working.title or sheet.title,
            kind=sheet.kind,
            student=self.working.student,
            layout=sheet.layout,
            lines=marked,
            findings=tuple(self._finding(number, root, places) for number, root in enumerate(self.roots)),
            notes=(*self.working.notes, *self.placing.notes),
            earned=round(earned, 6),
            out_of=round(out_of, 6),
            is_strict=self.scheme.strict_rounding,
            unscaled=unscaled,
            not_written=other_steps(self.view, {*self.comparison.statements, *self._remarked_nodes()}),
        )

    def _marks(self, ledger: MarkingContext, group: list[JudgedStatement]) -> LineMarks:
        """Return the marks of a record at its first writing, for all of its writings together; a copy has none."""
        first = group[0]
        if first.copy is not None:
            return LineMarks(0.0, 0.0, 0.0, 0.0)
        same = [
            judged for judged in self.judged if judged.copy is None and judged.statement.node == first.statement.node
        ]
        if same[0] is not first:
            return LineMarks(0.0, 0.0, 0.0, 0.0, because="only the first writing of a line is marked")
        node = first.statement.node
        return line_marks(ledger, same, self._worth(node), asks_all=self._asks_all(node))

    def _asks_all(self, node: int) -> bool:
        """Return whether every row must be written: the scheme names the full line, and later lines do not imply it."""
        names = [name for name in self.scheme.lines if node in scheme_nodes(self.graph, name)[:1]]
        return bool(names) and not split_pick(names[0]).row and not self._is_implied(node)

    def _worth(self, node: int) -> LineScheme:
        for name, worth in self.scheme.lines.items():
            if node in scheme_nodes(self.graph, name)[:1]:
                return worth
        return LineScheme(M=0.0, A=0.0) if self.scheme.only_these else self.scheme.default

    def _unwritten_nodes(self) -> dict[str, int]:
        """Return the lines of the scheme that were not written, by their names in the scheme.

        A line that the convention of this working does not have is not required.
        """
        misshapen = {wrong_shape.node for wrong_shape in self.placing.misshapen}
        first = {name: scheme_nodes(self.graph, name)[:1] for name in self.scheme.lines}
        return {
            name: nodes[0]
            for name, nodes in first.items()
            if nodes and nodes[0] not in self.comparison.statements and nodes[0] not in misshapen
        }

    def _remarked_nodes(self) -> set[int]:
        """Return the lines that are not compared, but have a remark: of a wrong shape, or missing from the scheme."""
        return {*self._unwritten_nodes().values(), *(wrong_shape.node for wrong_shape in self.placing.misshapen)}

    @staticmethod
    def _place_in_sheet(node: int, groups: Sequence[Sequence[JudgedStatement]]) -> int:
        """Return where an unwritten line belongs: before the first written line that comes later in the sheet."""
        later = (number for number, group in enumerate(groups) if group and group[0].statement.node > node)
        return next(later, len(groups))

    def _missing(self) -> list[tuple[int, LineMark]]:
        """Return the required lines that were not written, each with its record.

        A line that later lines imply earns its marks.
        """
        missing = []
        for name, node in self._unwritten_nodes().items():
            worth, is_implied = self.scheme.lines[name], self._is_implied(node)
            why = "not written, but later lines show that it was done" if is_implied else "not written"
            marks = LineMarks(worth.M * is_implied, worth.M, worth.A * is_implied, worth.A, False, why)
            note = f"{why.capitalize()}."
            missing.append((node, replace(self._bare_line(node, name, "", marks, note), is_missing=True)))
        return missing

    def _charged_above(self) -> list[RootError]:
        """Return the wrong rules that cost the marks of an unwritten line: a forgotten mask costs marks only once."""
        if self.scheme.charge_repeats:
            return []
        worth = self.scheme.lines
        nodes = [node for name, node in self._unwritten_nodes().items() if worth[name].M or worth[name].A]
        return [root for root in self.roots if any(self._is_rule_of(root, node) for node in nodes)]

    def _is_rule_of(self, root: RootError, node: int) -> bool:
        """Return whether a wrong rule belongs to this record, although it shows in a later line."""
        if root.verdict is not Verdict.MISCONCEPTION or root.site is None or root.judged.statement.node == node:
            return False
        is_mask = root.name.startswith("mask") and self.graph.records[node].step.name == "mask"
        return root.site == node or (is_mask and node in self.graph.parents[root.site])

    def _is_implied(self, node: int) -> bool:
        """Return whether most numbers of the next written lines show that a line was done.

        An error there costs marks there. A wrong rule of a later step still shows that this line was right.
        """
        below, printed = self.comparison.written_below(node), self.comparison.sheet.printed
        judged = [entry for entry in self.comparison.judged if entry.statement.node in below and entry.copy is None]
        judged = [entry for entry in judged if entry.statement.line not in printed]
        return bool(judged) and all(self._shows(entry, node) for entry in judged)

    def _shows(self, judged: JudgedStatement, node: int) -> bool:
        accepted = [verdict for verdict in Verdict if verdict.is_accepted]
        evidence = judged.where(*accepted)
        for root in self.roots:
            if root.judged is judged and root.verdict is Verdict.MISCONCEPTION and root.site is not None:
                if self._is_rule_of(root, node):
                    return False
                for cell in root.cells:
                    evidence[cell] = True
        num_written = sum(verdict is not None for row in judged.verdicts for verdict in row)
        return not judged.has(Verdict.UNSUPPORTED) and 2 * int(evidence.sum()) > num_written

    def _misshapen(self, number: int, node: int, sentence: str) -> LineMark:
        line, worth = self.working.lines[number], self._worth(node)
        is_first = number == min(wrong_shape.line for wrong_shape in self.placing.misshapen if wrong_shape.node == node)
        if not is_first or node in self.comparison.statements:  # count its marks once
            worth = LineScheme(M=0.0, A=0.0)
        marks = LineMarks(0.0, worth.M, 0.0, worth.A, False, "wrong shape")
        return self._bare_line(node, line.name, line.place, marks, sentence)

    def _bare_line(self, node: int, name: str, place: str, marks: LineMarks, note: str) -> LineMark:
        step = self.view.steps[node]
        return LineMark(
            name, step.record.symbol, step.equation, step.section, step.record.where, step.step.name, place,
            step.matrix.rows, step.matrix.columns, (), marks, "", note,
        )  # fmt: skip

    # Cells

    def _line(self, group: list[JudgedStatement], marks: LineMarks, *, has_cells: bool = True) -> LineMark:
        judged = group[0]
        statement = judged.statement
        lines = [self.working.lines[part.statement.line] for part in group] if self.working.lines else []
        step = self.view.steps[statement.node] if statement.node >= 0 else None
        cells = self._cells(judged) if has_cells else []
        for other in group[1:]:
            cells = [
                [mine or more for mine, more in zip(row, added, strict=True)]
                for row, added in zip(cells, self._cells(other), strict=True)
            ]
        if self.graph.is_turned and cells:
            cells = [list(row) for row in zip(*cells, strict=True)]
        source = judged.copy.source if judged.copy is not None and isinstance(judged.copy.source, FromGiven) else None
        symbol = step.record.symbol if step is not None else self.graph.givens[source.name].symbol if source else ""
        return LineMark(
            name=", ".join(dict.fromkeys(line.name for line in lines)) or symbol,
            symbol=symbol,
            equation=step.equation if step else "given",
            section=step.section if step else "",
            where=step.record.where if step else "",
            step=step.step.name if step else "given",
            place=", ".join(dict.fromkeys(line.place for line in lines if line.place)),
            rows=tuple(step.matrix.rows) if step else (),
            columns=tuple(step.matrix.columns) if step else (),
            cells=tuple(tuple(row) for row in cells),
            marks=marks,
            copy_of=symbol if judged.copy is not None else "",
            note=self._line_note(judged),
            unwritten=self._unwritten(group),
        )

    def _unwritten(self, group: list[JudgedStatement]) -> tuple[str, ...]:
        """Return the symbols of the unwritten lines that the unsupported numbers of a line depend on, in order."""
        if not any(judged.has(Verdict.UNSUPPORTED) for judged in group):
            return ()
        unwritten: set[int] = set()
        todo = [group[0].statement.node]
        while todo:
            for parent in self.graph.parents[todo.pop()]:
                if parent not in unwritten and parent not in self.comparison.statements:
                    unwritten.add(parent)
                    todo.append(parent)
        return tuple(self._symbol_at(node) for node in sorted(unwritten) if not self.graph.is_move[node])

    def _line_note(self, judged: JudgedStatement) -> str:
        if judged.copy is None:
            return ""
        user = judged.copy.user
        use = f", used in {self.graph.records[user].symbol}" if user is not None else ""
        return f"This is a copy{use}, and it is compared with the original."

    def _cells(self, judged: JudgedStatement) -> list[list[CellMark | None]]:
        truth = self._truth(judged)
        grid: list[list[CellMark | None]] = []
        for row, verdicts in enumerate(judged.verdicts):
            grid.append([])
            for column, verdict in enumerate(verdicts):
                if verdict is None:
                    grid[-1].append(None)
                    continue
                i, j = (column, row) if self.graph.is_turned else (row, column)
                grid[-1].append(
                    CellMark(
                        i, j, judged.statement.texts[row][column], verdict,
                        right=self._shown(judged, float(judged.expected[row, column]), row, column),
                        truth=self._shown(judged, float(truth[row, column]), row, column),
                        findings=self.findings_at.get((id(judged), row, column), ()),
                        detail=self._detail(judged, row, column, verdict),
                    )
                )  # fmt: skip
        return grid

    def _detail(self, judged: JudgedStatement, row: int, column: int, verdict: Verdict) -> str:
        if verdict is Verdict.UNREADABLE and self.working.lines:
            comma = self.working.has_decimal_comma
            return read_cell(judged.statement.texts[row][column], has_decimal_comma=comma).problem
        return ""

    def _truth(self, judged: JudgedStatement) -> Array:
        if judged.statement.node >= 0:
            return np.asarray(self.graph.records[judged.statement.node].value)
        assert judged.copy is not None
        assert isinstance(judged.copy.source, FromGiven)
        return np.asarray(self.graph.givens[judged.copy.source.name].value)

    @staticmethod
    def _shown(judged: JudgedStatement, number: float, row: int, column: int) -> str:
        """Format a number to one digit more than was written; "" if it is unknown."""
        if math.isnan(number):
            return ""
        unit = float(judged.statement.unit[row, column])
        if not unit or not math.isfinite(unit):
            return plain_number(number, 6)
        decimals = max(0, round(-math.log10(unit))) + 1
        if decimals > 9 and number != 0 and abs(number) < 1e-6:
            return f"{number:.3e}"
        return plain_number(number, min(decimals, 12))

    # Findings

    def _contaminated(self, root: RootError) -> dict[int, Mask]:
        """Return, by record, the later cells that a root error affects.

        A number that was only miscopied affects just the cells that were calculated from the wrong copy.
        """
        graph, masks = self.graph, dict[int, Mask]()
        start = root.judged.statement.node
        own = np.zeros(root.judged.statement.value.shape, dtype=bool)
        for cell in root.cells:
            own[cell] = True
        copy = root.judged.copy
        source = copy.source if copy is not None else FromRecord(start)
        is_copied = copy is not None or start in self.comparison.miswritten
        user = copy.user if copy is not None else None

        def fetch(wanted: object) -> Mask | None:
            if wanted == source:
                return own
            return masks.get(wanted.index) if isinstance(wanted, FromRecord) else None

        for index in range(max(start, -1) + 1, len(graph)):
            is_user = user in (None, index) and _reads(graph, index, source)
            if is_user or any(parent in masks for parent in graph.parents[index]):
                touched = graph.affected_cells(index, fetch)
                if is_user and is_copied:
                    touched = touched & self.comparison.followed.get(index, np.zeros(touched.shape, dtype=bool))
                if touched.any():
                    masks[index] = touched
        return masks

    def _findings_at(self) -> dict[tuple[int, int, int], tuple[int, ...]]:
        numbers_at: dict[tuple[int, int, int], list[int]] = {}
        affected_cells = [judged.where(Verdict.CARRIED, Verdict.PLAUSIBLE) for judged in self.comparison.judged]
        for number, root in enumerate(self.roots):
            for row, column in root.cells:
                numbers_at.setdefault((id(root.judged), row, column), []).append(number)
            for judged, affected in zip(self.comparison.judged, affected_cells, strict=True):
                mask = self.below[number].get(judged.statement.node)
                if mask is None or judged is root.judged or judged.copy is not None:
                    continue
                for row, column in np.argwhere(mask & affected).tolist():
                    numbers_at.setdefault((id(judged), row, column), []).append(number)
        return {key: tuple(numbers) for key, numbers in numbers_at.items()}

    def _num_affected(self) -> dict[int, Counter[int]]:
        """Return, for each finding, the number of its cells in each judged statement, by the statement's id."""
        counts: dict[int, Counter[int]] = {}
        for (judged_id, _, _), numbers in self.findings_at.items():
            for number in numbers:
                counts.setdefault(number, Counter())[judged_id] += 1
        return counts

    def _finding(self, number: int, root: RootError, places: dict[int, int]) -> Finding:
        judged, statement = root.judged, root.judged.statement
        row, column = root.cells[0]
        step: StepView | None = self.view.steps[statement.node] if statement.node >= 0 else None
        line = self._line([judged], LineMarks(0, 0, 0, 0), has_cells=False)
        in_sheet = tuple((j, i) if self.graph.is_turned else (i, j) for i, j in root.cells)
        right = self._right_of(root)
        counts = self.num_affected.get(number, Counter())
        below = [other for other in self.judged if other is not judged and id(other) in counts]
        num_cells = sum(counts[id(other)] for other in below)
        has_lines = step is None or bool(self.comparison.written_above(statement.node))
        is_sum = step is not None and judged.copy is None and root.verdict is not Verdict.INVARIANT
        return Finding(
            line=places[id(judged)],
            cells=in_sheet,
            verdict=root.verdict,
            name=root.name,
            what=what_is_wrong(
                root, line.place_of_cells(in_sheet), statement.texts[row][column], right, has_lines=has_lines
            ),
            follows=what_follows([self._symbol(other) for other in below], num_cells),
            remedy=remedy(
                root, f"{line.symbol} = {line.equation}", step.step.sentence if step else "", self._divisor(root)
            ),
            right_sum=right_sum(self.comparison, statement.node, row, column, right) if is_sum else "",
            student_sum=root.student_sum,
            below=tuple(places[id(other)] for other in below),
        )

    def _divisor(self, root: RootError) -> float | None:
        """Return the number that the question gives for the scale, if the error is there; None for √d_k."""
        return None if root.site is None else self.graph.records[root.site].inputs.get("divisor")

    def _right_of(self, root: RootError) -> str:
        """Format the right number of the first cell; for swapped digits with the digits that were written."""
        row, column = root.cells[0]
        right, text = float(root.judged.expected[row, column]), root.judged.statement.texts[row][column]
        if root.name in ("digit swap", "as if two digits were swapped"):
            return f"{right:.{len(text.partition('.')[2])}f}"
        return self._shown(root.judged, right, row, column)

    def _symbol(self, judged: JudgedStatement) -> str:
        return self._symbol_at(judged.statement.node)

    def _symbol_at(self, node: int) -> str:
        return self.graph.records[node].symbol


def _grouped(judged: Sequence[JudgedStatement]) -> list[list[JudgedStatement]]:
    """Group the parts of a record that were written separately, a row or a cell at a time."""
    groups: list[list[JudgedStatement]] = []
    for entry in judged:
        for group in groups:
            if _is_alike(group[0], entry) and not any(
                (g.statement.is_written & entry.statement.is_written).any() for g in group
            ):
                group.append(entry)
                break
        else:
            groups.append([entry])
    return groups


def _is_alike(one: JudgedStatement, other: JudgedStatement) -> bool:
    if one.copy is None or other.copy is None:
        return one.copy is other.copy and one.statement.node == other.statement.node
    return (one.copy.source, one.copy.user) == (other.copy.source, other.copy.user)


def _reads(graph: Graph, index: int, source: FromGiven | FromRecord) -> bool:
    """Return whether a record is calculated from this source."""
    if isinstance(source, FromRecord):
        return source.index in graph.parents[index]
    return source in graph.sources[index].values()
