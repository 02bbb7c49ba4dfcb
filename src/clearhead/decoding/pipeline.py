"""Lines in, translations out: cut into parts that the model can read, searched, joined again, in order, none lost.

Lines go through in windows: sorted by length inside a window, so that a file of any length needs the memory of one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, TypeVar

from clearhead.decoding.engines.engine import Engine, EngineNeeds, ModelInfo, Request, length_limit
from clearhead.decoding.phrase_constraints import ConstraintEncoder, PhraseConstraints
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.errors import DataError, printable
from clearhead.text.sentences import TextPart, split_long, split_sentences
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import Vocabularies, split_tag

WINDOW = 1024  # lines
_WINDOW_CHARACTERS = 2**19
_MAX_CHARACTERS = 200_000  # a longer line is no sentence and no paragraph
_DEFAULT_LONGEST = 1024  # tokens, of a model whose positions have no end
_PART_STRIDE = 1_000_003  # parts of one line draw other random numbers than the lines after it
_MAX_ROUNDS = 5  # of searching again for a translation without a forbidden phrase


class HasText(Protocol):
    """Whatever has a text to translate."""

    @property
    def text(self) -> str:
        """The text."""


class Remark(NamedTuple):
    """A sentence about the lines so far, and the parameters that the reader can change."""

    sentence: str
    options: tuple[str, ...] = ()


class SourceLine(NamedTuple):
    """A line of the input, and its number from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class TranslationOptions:
    """How lines become what a model reads, and what their translations must obey."""

    constraints: PhraseConstraints = field(default_factory=PhraseConstraints)
    language: str | None = None  # the target's, of a model with language tags
    is_paragraphs: bool = False  # each line is split into sentences
    long: Literal["split", "refuse"] = "split"  # what is done with a line that is too long for the model
    max_source: int | None = None  # tokens; None: as many as the model has positions for
    has_scores: bool = True  # False: nobody needs scores, and a greedy search may leave them out

    def needs(self, search: SearchSettings) -> EngineNeeds:
        """Return what an engine must be able to do."""
        return EngineNeeds(search, self.constraints.uses)


@dataclass(frozen=True)
class Segment:
    """A text that a model can read as a whole: its ids without eos, its constraints, and its number."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS
    number: int = 0

    def request(self, search: SearchSettings, info: ModelInfo, *, has_score: bool = True) -> Request:
        """Return what an engine is asked for this segment."""
        ids = (*self.ids, info.eos)
        num_required = len(self.constraints.prefix) + sum(map(len, self.constraints.required))
        limit = length_limit(len(ids), search, info, num_required=num_required)
        return Request(ids, limit, self.constraints, self.number, has_score)


T = TypeVar("T", bound=HasText)


def windows(lines: Iterable[T], size: int = WINDOW) -> Iterator[list[T]]:
    """Yield `size` lines at a time, fewer where they are long: the same windows for the same lines."""
    window: list[T] = []
    num_characters = 0
    for line in lines:
        window.append(line)
        num_characters += len(line.text)
        if len(window) == size or num_characters >= _WINDOW_CHARACTERS:
            yield window
            window, num_characters = [], 0
    if window:
        yield window


class _OpenedLine(NamedTuple):
    """A line without its language tag, in sentences if so wished; no parts for a line with nothing in it."""

    number: int
    tag: str
    parts: list[TextPart]


@dataclass
class _Row:
    """A part of a line on its way through the pipeline."""

    segment: Segment | None  # None: there is nothing in it to translate
    part: TranslatedPart
    notes: tuple[str, ...] = ()


class TranslationPipeline:
    """Vocabularies around an engine; `remarks` collects what should be said of the lines so far."""

    def __init__(
        self,
        vocabularies: Vocabularies,
        engine: Engine,
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
    ) -> None:
        self.vocabularies, self.engine, self.search, self.options = vocabularies, engine, search, options
        self.remarks: list[Remark] = []
        self._constraints = ConstraintEncoder(options.constraints, vocabularies.target)
        self._source = vocabularies.source
        self._has_warned = False
        if options.language is not None:
            self._source.tag(options.language)

    @property
    def longest(self) -> int:
        """The most tokens that are read at once, eos not counted."""
        limit = self.engine.info.max_length
        most = _DEFAULT_LONGEST if limit is None else limit - 1
        return most if self.options.max_source is None else min(most, self.options.max_source)

    def translate(self, window: Sequence[SourceLine]) -> list[Translation]:
        """Translate the lines of one window."""
        rows_by_line = self._rows([self._open(line) for line in window])
        self._fill([row for rows in rows_by_line for row in rows if row.segment is not None])
        penalty = self.search.length_penalty
        translations = []
        for line, rows in zip(window, rows_by_line, strict=True):
            notes = tuple(dict.fromkeys(note for row in rows for note in row.notes))
            translations.append(Translation(line.number, line.text, tuple(row.part for row in rows), penalty, notes))
        return translations

    def _open(self, line: SourceLine) -> _OpenedLine:
        if len(line.text) > _MAX_CHARACTERS:
            raise DataError(
                f"line {line.number} has {len(line.text):,} characters, and at most {_MAX_CHARACTERS:,} are read. "
                "Is this a file of sentences?"
            )
        tag, text = self._tag(line)
        if not text.strip():
            return _OpenedLine(line.number, tag, [])
        parts = split_sentences(text) if self.options.is_paragraphs else [TextPart(text)]
        return _OpenedLine(line.number, tag, parts)

    def _rows(self, lines: Sequence[_OpenedLine]) -> list[list[_Row]]:
        """Return the parts of every line as ids; what is too long is split here."""
        encoded = iter(self._source.encode([line.tag + part.text for line in lines for part in line.parts]))
        rows_by_line = []
        for line in lines:
            pieces: list[tuple[TextPart, tuple[int, ...]]] = []
            notes: tuple[str, ...] = ()
            for part in line.parts:
                ids = tuple(next(encoded))
                if len(ids) <= self.longest:
                    pieces.append((part, ids))
                else:
                    pieces += self._split(part, len(ids), line)
                    notes = (f"Split: it has {len(ids):,} tokens, and the model reads {self.longest:,} at once.",)
            rows = [self._row(line, index, part, ids, notes) for index, (part, ids) in enumerate(pieces)]
            rows_by_line.append(rows or [_Row(None, TranslatedPart("", "", ()))])
        return rows_by_line

    def _row(self, line: _OpenedLine, index: int, part: TextPart, ids: tuple[int, ...], notes: tuple[str, ...]) -> _Row:
        number = (line.number - 1 + index * _PART_STRIDE) % 2**31
        constraints = self._constraints.constraints(part.text, is_first=index == 0)
        segment = Segment(ids, constraints, number) if ids else None
        return _Row(segment, TranslatedPart(part.text, part.space, ids, constraints), notes)

    def _tag(self, line: SourceLine) -> tuple[str, str]:
        """Return the tag of a line's language, its own or else that of the options, and the rest."""
        tags = self._source.tags
        language, text = split_tag(line.text) if tags else (None, line.text)
        if language is not None:
            try:
                self._source.tag(language)
            except DataError as wrong:
                raise DataError(f"line {line.number}: {wrong}") from None
        language = language or self.options.language
        if language is None and len(tags) > 1 and not self._has_warned and text.strip():
            names = ", ".join(list(tags)[:8]) + (" …" if len(tags) > 8 else "")
            sentence = f"This model writes several languages ({names}), and none was asked for. Name one."
            self.remarks.append(Remark(sentence, ("language",)))
            self._has_warned = True
        return (language_tag(language) if language is not None else ""), text

    def _split(self, part: TextPart, count: int, line: _OpenedLine) -> list[tuple[TextPart, tuple[int, ...]]]:
        """Return a part split so that the model can read each piece, or refuse it."""
        if self.options.long == "refuse":
            raise DataError(
                f"line {line.number} has {count:,} tokens, and the model reads {self.longest:,} at once: "
                f"'{printable(part.text[:40])}…'. Shorten it, or have it split.",
                options={"long": "split"},
            )

        def ids_of(text: str) -> tuple[int, ...]:
            return tuple(self._source.encode([line.tag + text])[0])

        pieces = split_long(part.text, lambda text: len(ids_of(text)) <= self.longest)
        encoded = [(piece, ids_of(piece.text)) for piece in pieces]
        if any(len(ids) > self.longest for _, ids in encoded):
            raise DataError(
                f"line {line.number}: even one letter has more than {self.longest} tokens. Read more at once.",
                options=("max_source",),
            )
        last, ids = encoded[-1]
        return [*encoded[:-1], (replace(last, space=part.space), ids)]

    def _fill(self, rows: Sequence[_Row]) -> None:
        """Search for the translations of all parts; equal ones are translated once, unless they are drawn."""
        groups: dict[object, list[_Row]] = {}
        for row in rows:
            assert row.segment is not None
            key = row.segment if self.search.is_sampling else (row.segment.ids, row.segment.constraints)
            groups.setdefault(key, []).append(row)
        segments = [group[0].segment for group in groups.values() if group[0].segment is not None]
        outcomes = self._search(segments)
        texts = iter(self._decode(outcomes))
        for group, segment, hypotheses in zip(groups.values(), segments, outcomes, strict=True):
            own_texts = tuple(next(texts) for _ in hypotheses) or ("",)
            for row in group:
                # the constraints that were searched with, so that an explanation finds the same translation
                row.part = replace(
                    row.part, constraints=segment.constraints, texts=own_texts, hypotheses=tuple(hypotheses)
                )
        if self._constraints.forbidden:
            self._note_forbidden(groups.values())

    def _note_forbidden(self, groups: Iterable[Sequence[_Row]]) -> None:
        """Note on every line that holds a forbidden phrase that it could not be avoided."""
        num_groups = num_failed = 0
        for group in groups:
            part = group[0].part
            num_groups += 1
            if any(
                self._constraints.other_spellings(hypothesis.tokens, text)
                for hypothesis, text in zip(part.hypotheses, part.texts, strict=True)
            ):
                num_failed += 1
                for row in group:
                    row.notes = (*row.notes, "A forbidden phrase could not be avoided.")
        if num_failed:
            sentence = f"A forbidden phrase could not be avoided in {num_failed} of {num_groups} sentences."
            self.remarks.append(Remark(sentence))

    def _translate_segments(self, segments: Sequence[Segment]) -> list[list[Hypothesis]]:
        has_score, info = self.options.has_scores, self.engine.info
        requests = [segment.request(self.search, info, has_score=has_score) for segment in segments]
        return self.engine.translate(requests, self.search)

    def _decode(self, outcomes: Sequence[Sequence[Hypothesis]]) -> list[str]:
        rows = [hypothesis.tokens for hypotheses in outcomes for hypothesis in hypotheses]
        return self.vocabularies.target.decode(rows)

    def _search(self, segments: list[Segment]) -> list[list[Hypothesis]]:
        """Search; again where a forbidden phrase came back in other pieces, which are then forbidden too.

        A segment that was searched again is replaced by the one with the stricter constraints.
        """
        outcomes = self._translate_segments(segments)
        if not self._constraints.forbidden:
            return outcomes
        pending = dict(enumerate(segments))
        for _ in range(_MAX_ROUNDS):
            pending = self._stricter(pending, outcomes)
            if not pending:
                break
            for index, hypotheses in zip(pending, self._translate_segments(list(pending.values())), strict=True):
                segments[index], outcomes[index] = pending[index], hypotheses
        return outcomes

    def _stricter(self, segments: dict[int, Segment], outcomes: Sequence[Sequence[Hypothesis]]) -> dict[int, Segment]:
        """Return the segments whose translations hold a forbidden phrase, with that spelling forbidden too."""
        stricter = {}
        for index, segment in segments.items():
            texts = self._decode([outcomes[index]])
            spellings = [
                spelling
                for text, hypothesis in zip(texts, outcomes[index], strict=True)
                for spelling in self._constraints.other_spellings(hypothesis.tokens, text)
            ]
            if spellings:
                forbidden = (*segment.constraints.forbidden, *spellings)
                stricter[index] = replace(segment, constraints=replace(segment.constraints, forbidden=forbidden))
        return stricter
