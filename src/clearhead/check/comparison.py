"""A comparison of a working with its sheet: what is compared, and the result record by record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromRecord, Graph, Source, fetch_from
from clearhead.check.reach import Reach
from clearhead.check.record_image import RecordImages, nearest_records
from clearhead.check.statement import Copy, JudgedStatement, Statement
from clearhead.check.verdict import Verdict
from clearhead.worksheet.arrays import Array, Mask

_SURE = 3  # this number of values rounded up, and none cut, shows that a student rounds


@dataclass(frozen=True, eq=False)
class SheetInput:
    """What is compared: the sheet, the lines that were matched to its records, and how strictly."""

    graph: Graph
    statements: Mapping[int, Sequence[Statement]]
    copies: Sequence[Copy] = ()
    rounded: Mapping[str, Array] = field(default_factory=dict)  # the units of givens that are themselves rounded
    blind: frozenset[int] = frozenset()  # records with a line of the wrong shape
    miscopied: frozenset[int] = frozenset()  # records with cells that the student did not use in later lines
    may_cut: bool = False  # whether images allow for numbers that were cut
    is_in_full: bool = False  # whether a program wrote it, which does not shorten √d, e or π
    printed: frozenset[int] = frozenset()  # written lines that a practice sheet prints: they are right
    stated_unit: float | None = (
        None  # of the numbers that a practice sheet asks for; coarser ones must be rounded right
    )
    is_lenient: bool = True  # whether a number near the result of the right parents shows that they were miscopied


@dataclass
class SheetComparison:
    """The result of a comparison, which grows record by record."""

    sheet: SheetInput
    x: list[Array] = field(default_factory=list)  # as written
    hat: list[Array] = field(default_factory=list)  # the unrounded values
    right: list[Array] = field(default_factory=list)  # as hat, but with the right value in failed cells
    right_x: list[Array] = field(default_factory=list)  # as x, but with the right value in failed cells
    bad: list[Mask | None] = field(default_factory=list)  # failed, or affected by a failed cell
    failed: list[Mask | None] = field(default_factory=list)
    unknown: list[Mask | None] = field(default_factory=list)
    judged: list[JudgedStatement] = field(default_factory=list)
    culprits: set[int] = field(default_factory=set)  # found miscopied
    miswritten: dict[int, Mask] = field(default_factory=dict)  # the miscopied cells
    followed: dict[int, Mask] = field(default_factory=dict)  # by record, the cells calculated from a wrong copy
    wrong_copies: dict[int, Mask] = field(default_factory=dict)  # by written line
    num_up: int = 0  # numbers that were rounded up
    num_cut: int = 0

    def __post_init__(self) -> None:
        rounded = self.sheet.rounded
        self.images = [
            RecordImages(self.graph, self.statements, self.x, rounded, is_cut=is_cut) for is_cut in (False, True)
        ]
        self.gap_images = RecordImages(self.graph, self.statements, self.x, rounded, is_cut="unwritten")
        self.reach = Reach(self.graph, self.statements, self.x, self.images[True])

    @property
    def graph(self) -> Graph:
        """The sheet as a graph."""
        return self.sheet.graph

    @property
    def statements(self) -> Mapping[int, Sequence[Statement]]:
        """The lines that were matched to records."""
        return self.sheet.statements

    @property
    def copies(self) -> Sequence[Copy]:
        """The factors that were copied into later lines."""
        return self.sheet.copies

    @property
    def num_wrong(self) -> int:
        """The number of unexplained cells."""
        return sum(int(judged.where(Verdict.SLIP, Verdict.TRANSCRIPTION).sum()) for judged in self.judged)

    @property
    def is_cutter(self) -> bool:
        """Whether this student may cut numbers: not if several were rounded up and none was cut."""
        return self.num_cut > 0 or self.num_up < _SURE

    # Values of the parents

    def fetch(self, values: Sequence[Array], user: int | None = None, *, with_copies: bool = False) -> Fetch:
        """Return a function that fetches inputs from `values`; with copies, a copied factor is used as copied."""
        plain = fetch_from(values, self.graph.givens)
        if not with_copies:
            return plain

        def fetch(source: Source) -> Any:
            value = plain(source)
            for copy in sorted(self.copies, key=lambda copy: copy.line in self.wrong_copies):  # wrong copies last
                if copy.source == source and copy.user in (None, user):
                    value = np.where(copy.statement.is_written, copy.statement.value, value)
            if isinstance(source, FromRecord) and source.index in self.miswritten:
                for statement in self.statements[source.index]:
                    wrong = self.miswritten[source.index] & statement.is_written
                    value = np.where(wrong, statement.value, value)
            return value

        return fetch

    def fetch_masks(self, masks: Sequence[Mask | None], user: int, *, with_copies: bool = False) -> Fetch:
        """Return a function that fetches masks; with copies, the wrong cells of copied factors are marked too."""

        def fetch(source: Source) -> Any:
            mask = masks[source.index] if isinstance(source, FromRecord) else None
            if with_copies:
                for copy in self.copies:
                    if copy.source == source and copy.user in (None, user) and copy.line in self.wrong_copies:
                        wrong = self.wrong_copies[copy.line]
                        mask = wrong if mask is None else mask | wrong
                if isinstance(source, FromRecord) and source.index in self.miswritten:
                    wrong = self.miswritten[source.index]
                    mask = wrong if mask is None else mask | wrong
            return mask

        return fetch

    def affected_cells(self, index: int, masks: Sequence[Mask | None], *, with_copies: bool = False) -> Mask | None:
        """Return the cells of a record that depend on marked cells, or None."""
        parents = self.graph.parents[index]
        if not any(masks[parent] is not None for parent in parents) and not (
            with_copies and (self.wrong_copies or self.miswritten)
        ):
            return None
        touched = self.graph.affected_cells(index, self.fetch_masks(masks, index, with_copies=with_copies))
        return touched if touched.any() else None

    # Neighbours

    def rounding_radius(self, index: int) -> Array:
        """Return how much the precision of earlier lines may have changed each cell of a record."""
        radius = self.images[True].image(index).radius
        return np.where(np.isfinite(radius), radius, 0.0)

    def unwritten_above(self, index: int) -> set[int]:
        """Return the unwritten records between this one and the nearest written ones above."""
        return nearest_records(index, self.graph.parents, self.statements, is_written=False)

    def written_above(self, index: int) -> set[int]:
        """Return the nearest written records above."""
        return nearest_records(index, self.graph.parents, self.statements, is_written=True)

    def written_below(self, index: int) -> set[int]:
        """Return the nearest written records below."""
        return nearest_records(index, self.graph.children, self.statements, is_written=True)
