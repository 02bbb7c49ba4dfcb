"""Filter pairs, and report how many were dropped for which reason, with the first example of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated

from pydantic import Field, NonNegativeInt

from clearhead.data.config import DataConfig
from clearhead.errors import printable
from clearhead.files.lines import Notes
from clearhead.files.pair_reader import SentencePair
from clearhead.text.config import Task

EMPTY, TOO_MANY_WORDS, UNEVEN, DUPLICATE, TOO_MANY_TOKENS = (
    "empty side",
    "over max_words",
    "over max_ratio",
    "seen before",
    "over max_tokens",
)


@dataclass(frozen=True)
class CleaningReport:
    """How many pairs of one corpus were read, kept and dropped. The aliases are the names in files."""

    corpus: str
    num_read: Annotated[NonNegativeInt, Field(alias="read")]
    num_kept: Annotated[NonNegativeInt, Field(alias="kept")]
    num_dropped: Annotated[Mapping[str, NonNegativeInt], Field(alias="left_out")]  # reason -> pairs
    examples: Annotated[Mapping[str, str], Field(alias="first")]  # reason -> file:line of the first one
    num_byte_order_marks: Annotated[NonNegativeInt, Field(alias="byte_order_marks")] = 0
    num_carriage_returns: Annotated[NonNegativeInt, Field(alias="carriage_returns")] = 0

    @property
    def reasons(self) -> str:
        """Why pairs were dropped, and how many."""
        return ", ".join(f"{number:,} {reason}" for reason, number in self.num_dropped.items())


def report_table(reports: Sequence[CleaningReport]) -> str:
    """Format the reports as text."""
    lines = []
    for report in reports:
        lines.append(f"{printable(report.corpus)}: {report.num_read:,} pairs read, {report.num_kept:,} kept")
        width = max((len(f"{number:,}") for number in report.num_dropped.values()), default=0)
        for reason, number in report.num_dropped.items():
            lines.append(f"  {number:>{width},} dropped: {reason} (first: {report.examples[reason]})")
        if report.num_byte_order_marks:
            lines.append("  a byte order mark at the start was removed")
        if report.num_carriage_returns:
            lines.append(f"  {report.num_carriage_returns:,} lines ended in a carriage return, which was removed")
    return "\n".join(lines)


@dataclass
class Tally:
    """Counts the pairs of a corpus while they are read."""

    corpus: str
    file: str
    notes: Notes = field(default_factory=Notes)
    num_read: int = 0
    num_dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def drop(self, reason: str, place: str) -> None:
        """Count a dropped pair."""
        self.num_dropped[reason] = self.num_dropped.get(reason, 0) + 1
        self.examples.setdefault(reason, place)

    def place(self, line: int) -> str:
        """Return the place of a line: file:line."""
        return printable(f"{self.file}:{line}")

    def report(self) -> CleaningReport:
        """Return the current counts."""
        num_kept = self.num_read - sum(self.num_dropped.values())
        notes = self.notes
        return CleaningReport(
            self.corpus, self.num_read, num_kept, dict(self.num_dropped), dict(self.examples),
            notes.num_byte_order_marks, notes.num_carriage_returns,
        )  # fmt: skip


class Filter:
    """The filters of `data:`; duplicates are found by a 16-byte hash, across all corpora."""

    def __init__(self, config: DataConfig, task: Task = "translate") -> None:
        self._config = config
        self._needs_source = task != "language-model"
        self._has_two_texts = task == "translate"
        self._digests: set[bytes] = set()
        self._counts_words = config.max_words is not None or config.max_ratio is not None

    def rejection_reason(self, pair: SentencePair, tag: str = "") -> str | None:
        """Return the reason to drop the pair, or None to keep it; `tag` is the target language."""
        source, target, _ = pair
        if not target or target.isspace() or (self._needs_source and (not source or source.isspace())):
            return EMPTY
        if self._counts_words:
            reason = self._too_long(source, target)
            if reason:
                return reason
        if self._config.deduplicate:
            digest = blake2b(f"{tag}{source}\0{target}".encode(), digest_size=16).digest()
            if digest in self._digests:
                return DUPLICATE
            self._digests.add(digest)
        return None

    def _too_long(self, source: str, target: str) -> str | None:
        config = self._config
        longer, shorter = len(source.split()), len(target.split())
        if longer < shorter:
            longer, shorter = shorter, longer
        if config.max_words is not None and longer > config.max_words:
            return TOO_MANY_WORDS
        if config.max_ratio is not None and self._has_two_texts and longer > config.max_ratio * shorter:
            return UNEVEN
        return None
