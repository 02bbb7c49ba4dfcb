"""Split the statements of a document into exercises, and turn each exercise into a working: its problem and lines.

Data that a later exercise does not give is taken from an earlier one, with a note.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clearhead.check.read.cell_name import token_lists
from clearhead.check.read.chain import Chain, Entry, ExerciseContext, join_chains
from clearhead.check.read.chain_splitter import split_chain
from clearhead.check.read.inference import InferredProblem, find_repeats, infer_problem
from clearhead.check.read.latex import Grid
from clearhead.check.read.mending import (
    MendedGrid,
    doubtful_cells,
    mend_dots,
    mend_factor,
    mend_height,
    mend_rows,
    same_numbers,
    share_of_same,
)
from clearhead.check.read.page_item import Document, PageHeading, Prose
from clearhead.check.read.prose_number import given_rows, is_setting
from clearhead.check.read.token_page import TokenPages, read_token_pages
from clearhead.check.working import Note, Working, WrittenLine, line_note

_CALCULATED = ("scores", "scaled", "weights", "output")
_RESULTS = ("Q", "K", "V", "scores", "scaled", "weights", "output")
_MAX_ALIKE = 24


@dataclass
class Exercise:
    """The items of one exercise, before they are interpreted."""

    headings: list[PageHeading] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    first_line: int = 1
    stated: dict[tuple[str, int], Grid] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    has_grids: bool = False

    @property
    def title(self) -> str:
        """The first strong heading with words, or the first weak one."""
        strong = [heading.text for heading in self.headings if heading.is_strong and heading.text]
        weak = [heading.text for heading in self.headings if not heading.is_strong]
        text = " ".join((strong or weak or [""])[0].split())
        if weak and strong and len(text.split()) < 2:
            text = weak[0]
        return text[:120]

    @property
    def words(self) -> str:
        """All text of the exercise, headings first."""
        formulas = [f"{chain.raw_name} = {chain.formula}" for chain in self.chains]
        return " ".join([*(heading.text for heading in self.headings), *self.prose, *formulas])

    def add(self, chain: Chain) -> None:
        """Add a chain and record what it states."""
        self.chains.append(chain)
        self.has_grids = self.has_grids or chain.has_grids
        for key, grid in _stated_grids(chain).items():
            self.stated.setdefault(key, grid)
        if chain.symbol and chain.symbol.part in _RESULTS and chain.has_grids:
            is_sum = re.search(r"Σ|\d\s*▢\s*\+", chain.formula) is not None
            self.results.add("output" if is_sum else chain.symbol.part)


def read_exercises(document: Document, problem: Mapping[str, Any] | None, name: str) -> list[Working]:
    """Return a working for each exercise of a document."""
    pages = read_token_pages(document.items) if problem is None else TokenPages((), document.items)
    document = Document(pages.rest, document.notes, document.student)
    exercises = _split(document) if problem is None else [_one_exercise(document)]
    exercises_built: list[BuiltExercise] = []
    for number, exercise in enumerate(exercises):
        end = exercises[number + 1].first_line if number + 1 < len(exercises) else 10**9
        start = exercise.first_line if number else 0
        notes = [note for note in document.notes if start <= note.line < end]
        earlier = [before for before in exercises_built if before.inferred.data]
        exercises_built.append(build_working(exercise, notes, problem, earlier))
    workings = [*(built.working for built in exercises_built), *pages.workings]
    workings = [replace(working, student=document.student) for working in workings]
    return [working for working in workings if working.lines or working.notes or working.problem]


def _one_exercise(document: Document) -> Exercise:
    exercise = Exercise()
    _add_items(exercise, join_chains(document.items))
    return exercise


def _split(document: Document) -> list[Exercise]:
    """Split a document where a heading or newly given numbers start another exercise."""
    exercises = [Exercise()]
    pending: list[PageHeading | Prose | Chain] = []
    for item in join_chains(document.items):
        if not isinstance(item, Chain) or not item.has_grids:
            pending.append(item)  # a formula belongs to the numbers that follow it
            continue
        current = exercises[-1]
        has_heading = any(isinstance(pending_item, PageHeading) for pending_item in pending)
        is_strong = any(isinstance(pending_item, PageHeading) and pending_item.is_strong for pending_item in pending)
        if _begins_exercise(item, current, has_heading=has_heading, is_strong=is_strong):
            first = next(
                (place for place, pending_item in enumerate(pending) if isinstance(pending_item, PageHeading)),
                len(pending),
            )
            _add_items(current, pending[:first])
            pending = pending[first:]
            exercises.append(Exercise(first_line=pending[0].line if pending else item.line))
        _add_items(exercises[-1], pending)
        pending = []
        exercises[-1].add(item)
    _add_items(exercises[-1], pending)
    return exercises


def _add_items(exercise: Exercise, items: list[PageHeading | Prose | Chain]) -> None:
    for item in items:
        if isinstance(item, Chain):
            exercise.add(item)
        elif isinstance(item, PageHeading):
            exercise.headings.append(item)
        else:
            exercise.prose.append(item.text)


def _stated_grids(chain: Chain) -> dict[tuple[str, int], Grid]:
    """Return the givens and results that a chain states, by part and row, including factors."""
    symbol = chain.symbol
    if symbol is None or symbol.part is None:
        return {}
    grids: dict[tuple[str, int], Grid] = {}
    for link in chain.sides:
        value = link.side.value
        if value is not None:
            grids[symbol.part, symbol.row] = value
        elif len(link.side.grids) == 2 and symbol.part in ("Q", "K", "V") and "+" not in link.side.text:
            grids[f"X of {symbol.part}", 0], grids[f"W_{symbol.part}", 0] = link.side.grids
    return grids


def _begins_exercise(chain: Chain, current: Exercise, *, has_heading: bool, is_strong: bool) -> bool:
    """Return whether a chain starts another exercise."""
    states = _stated_grids(chain)
    if not states or not current.has_grids:
        return False
    has_output = "output" in current.results
    symbol = chain.symbol
    assert symbol is not None
    if symbol.is_given:
        key, grid = (str(symbol.part), symbol.row), next(iter(states.values()))
        if key not in current.stated:
            return has_output and symbol.part not in ("W_O", "Y")
        if has_output and is_strong:
            return True
        return not same_numbers(current.stated[key], grid) and bool(current.results) and (has_heading or has_output)
    if not has_output:
        return False
    for key, grid in states.items():
        before = current.stated.get(key)
        if before is not None and share_of_same(before, grid) < 0.5 and (is_strong or (has_heading and key[0] == "Q")):
            return key[0] in ("Q", "K", "V", "scores") or key[0].startswith(("X of", "W_"))
    return False


@dataclass(frozen=True)
class BuiltExercise:
    """A working, with the data that later exercises can take from it."""

    working: Working
    inferred: InferredProblem
    entries: tuple[Entry, ...]


def build_working(
    exercise: Exercise, notes: list[Note], problem: Mapping[str, Any] | None, earlier: list[BuiltExercise]
) -> BuiltExercise:
    """Build a working from an exercise."""
    context = _context(exercise, problem)
    entries: list[Entry] = []
    for chain in exercise.chains:
        entries += split_chain(chain, context)
    if context.is_gru:
        entries = [_of_gru(entry) for entry in entries]
    entries = _without_odd_numbers(entries, context)
    notes = list(notes)
    notes += [line_note("read", sentence, line) for sentence, line in context.renamed]
    entries = _mend(entries, notes, has_problem=problem is not None)
    if problem is None:
        inferred = infer_problem(
            entries, exercise.words, exercise.title, context, [(e.inferred.data, e.entries) for e in earlier]
        )
    else:
        inferred = find_repeats(entries, problem)
    skipped = [] if not entries and not inferred.data and not context.skipped else context.skipped
    notes += [line_note("unplaced", sentence, line) for sentence, line in skipped[:100]]
    notes += inferred.notes
    used = set(inferred.used)
    lines = tuple(
        WrittenLine(entry.name, entry.grid.cells, entry.where, f"line {entry.line}", entry.copied_into)
        for number, entry in enumerate(entries)
        if number not in used
    )
    cells = [cell for entry in entries for cell in entry.grid.numbers]
    has_comma = any(re.fullmatch(r"[-−+]?\d{1,9},\d{1,30}", cell) for cell in cells)
    notes.sort(key=lambda note: note.line)
    working = Working(inferred.data, lines, exercise.title, has_decimal_comma=has_comma, notes=tuple(notes))
    return BuiltExercise(working, inferred, tuple(entries))


def _of_gru(entry: Entry) -> Entry:
    """Return a line with the name that it has in a GRU, where z is the update gate and not the output of attention."""
    update = re.fullmatch(r"[Zz]\[(\d{1,3})\]", entry.name)
    return entry if update is None else replace(entry, name=f"z_{update[1]}", part=None, row=0)


def _without_odd_numbers(entries: list[Entry], context: ExerciseContext) -> list[Entry]:
    """Drop settings such as `h = 3` or `ε = 0.001`, and everything on a page without a problem and a known matrix."""
    if context.has_problem:  # a state of one number is no setting
        return [e for e in entries if len(e.grid.numbers) > 1 or not is_setting(e.name, e.grid.numbers[0])]
    matrices = [entry for entry in entries if len(entry.grid.numbers) > 1 or not _is_setting(entry)]
    return matrices if any(len(entry.grid.numbers) > 1 and entry.part for entry in matrices) else []


def _is_setting(entry: Entry) -> bool:
    return not entry.copied_into and (entry.is_given or is_setting(entry.name, entry.grid.numbers[0]))


def _context(exercise: Exercise, problem: Mapping[str, Any] | None) -> ExerciseContext:
    words = exercise.words
    parts = {chain.symbol.part for chain in exercise.chains if chain.symbol and chain.has_grids}
    titles = " ".join(heading.text for heading in exercise.headings).lower()
    kind = str(problem.get("kind", "")) if problem else ""
    is_seq2seq = kind.startswith("seq2seq") or (
        not kind and (bool(parts & {"h", "s", "W"}) and not parts & {"W_Q", "W_K"})
    )
    is_cross = kind.startswith("cross") or (not kind and ("cross" in titles or {"Y", "Q"} <= parts))
    formulas = " ".join(
        chain.formula for chain in exercise.chains if chain.symbol and chain.symbol.part in ("Q", "K", "V")
    )
    is_columns = bool(re.search(r"W[_^]?[QKVqkv]\s?×?\s?[Xx]", formulas)) and not re.search(r"[Xx]\s?×?\s?W", formulas)
    if problem and "layout" in problem:
        is_columns = problem["layout"] == "columns"
    heights = [grid.height for (part, row), grid in exercise.stated.items() if not row and part in ("Q", "X", "X of Q")]
    rows = max([row for (part, row) in exercise.stated if part in ("X", "Q")], default=0)
    num_rows = max([*heights, rows], default=0) if words else 0
    return ExerciseContext(
        is_seq2seq,
        is_columns,
        is_cross,
        is_gru=kind == "recurrent" and "gru" in (problem or {}),
        is_recurrent=kind == "recurrent" and "W" in (problem or {}).get("cell", {}),
        num_rows=num_rows,
        num_values=_num_values(exercise, problem),
        has_problem=problem is not None,
        givens=given_rows(problem),
        tokens=token_lists(problem),
    )


def _num_values(exercise: Exercise, problem: Mapping[str, Any] | None) -> int:
    """Return the number of rows of V, if the problem gives it or the page has it as a matrix; otherwise 0."""
    matrix = problem.get("V") if problem else None
    if isinstance(matrix, list):
        return len(matrix)
    named = [chain for chain in exercise.chains if chain.symbol and (chain.symbol.part, chain.symbol.row) == ("V", 0)]
    values = [chain.sides[-1].side.value for chain in named if chain.sides]
    return next((value.height for value in values if value is not None), 0)


def _mend(entries: list[Entry], notes: list[Note], *, has_problem: bool) -> list[Entry]:
    """Repair scanning errors where other lines prove the repair, and report the others."""
    mended: list[Entry] = []
    for entry in entries:
        recent = [other.grid for other in mended[-_MAX_ALIKE:]]
        grid = _noted(mend_dots(entry.name, entry.grid, recent), entry, notes)
        mended.append(_with_grid(entry, grid))
    places = _Places.of(mended)
    for number, entry in enumerate(mended):
        grid = entry.grid
        factor = places.factors.get(entry.part or "")
        if factor is not None:
            inputs, result = (mended[place].grid for place in factor)
            grid = _noted(mend_factor(entry.name, inputs, grid, result, f"X {entry.name}"), entry, notes)
        if grid.is_ragged:
            alike = [mended[place].grid for place in places.by_name[entry.name][: _MAX_ALIKE + 1] if place != number]
            rows = mend_rows(entry.name, grid, alike[:_MAX_ALIKE])
            is_calculated = entry.part in _CALCULATED or (has_problem and not entry.is_given)
            if not (rows.losses and is_calculated and not entry.copied_into):  # that is settled with the exercise
                grid = _noted(rows, entry, notes)
        if entry.part in ("scores", "scaled", "weights") and not entry.row and places.queries is not None:
            grid = _noted(mend_height(entry.name, grid, mended[places.queries].grid.height), entry, notes)
        for sentence in doubtful_cells(entry.name, grid, are_weights=entry.part == "weights"):
            notes.append(line_note("unreadable", sentence, entry.line))
        mended[number] = _with_grid(entry, grid)
    return mended


def _noted(mended: MendedGrid, entry: Entry, notes: list[Note]) -> Grid:
    """Add notes on what was repaired and what was lost, and return the grid."""
    notes += [line_note("read", sentence, entry.line) for sentence in mended.repairs]
    notes += [line_note("unreadable", sentence, entry.line) for sentence in mended.losses]
    return mended.grid


def _with_grid(entry: Entry, grid: Grid) -> Entry:
    return Entry(entry.name, entry.part, grid, entry.line, entry.row, entry.copied_into, entry.where, entry.labels)


@dataclass(frozen=True)
class _Places:
    """Where the entries are that repairs compare with; a search for each entry would take the square of their number.

    `factors` has the places of X and of the result by the weights that they can repair, `queries` that of Q.
    """

    by_name: Mapping[str, Sequence[int]]
    factors: Mapping[str, tuple[int, int]]
    queries: int | None

    @staticmethod
    def of(entries: Sequence[Entry]) -> "_Places":
        by_name: dict[str, list[int]] = {}
        for place, entry in enumerate(entries):
            by_name.setdefault(entry.name, []).append(place)
        factors = {f"W_{letter}": _factor_places(entries, letter) for letter in "QKV"}
        return _Places(
            by_name,
            {weights: places for weights, places in factors.items() if places is not None},
            _first(entries, lambda entry: entry.part == "Q" and not entry.row),
        )


def _factor_places(entries: Sequence[Entry], letter: str) -> tuple[int, int] | None:
    """Return the places of X and the result, for weights that can be repaired by their product."""
    inputs = _first(entries, lambda entry: entry.part in ("X", "Y") and entry.copied_into == letter)
    if inputs is None:
        inputs = _first(entries, lambda entry: entry.part == "X" and not entry.row)
    result = _first(entries, lambda entry: entry.part == letter and not entry.copied_into and not entry.row)
    return None if inputs is None or result is None else (inputs, result)


def _first(entries: Sequence[Entry], is_meant: Callable[[Entry], bool]) -> int | None:
    return next((place for place, entry in enumerate(entries) if is_meant(entry)), None)
