"""Turn lines into translations: split lines that are too long, search, and join the parts again, in order.

Lines are translated in windows and sorted by length inside each window, so memory use does not grow with the file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, TypeVar

from clearhead.decoding.engines.engine import (
    Engine,
    EngineNeeds,
    IsWanted,
    Request,
    always,
    length_limit,
)
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.phrase_constraints import ConstraintEncoder, PhraseConstraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.unfamiliar import UnfamiliarText
from clearhead.errors import DataError, printable
from clearhead.text.capitals import without_capitals
from clearhead.text.sentences import DEFAULT_LANGUAGE, TextPart, split_list, split_long, split_sentences
from clearhead.text.special import language_tag
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Vocabularies, split_tag

WINDOW = 1024  # lines
_WINDOW_CHARACTERS = 2**19
_MAX_CHARACTERS = 200_000  # a longer line is neither a sentence nor a paragraph
_DEFAULT_LONGEST = 1024  # tokens, for a model without a position limit
_PART_STRIDE = 1_000_003  # so that the parts of a line and the lines after it draw different random numbers
_LIST = 4  # times the limit of tokens: more in one sentence are a list, whose pieces have a quarter of the limit


class HasText(Protocol):
    """Anything with a text to translate."""

    @property
    def text(self) -> str:
        """The text."""


class Remark(NamedTuple):
    """A message about the lines so far, the names of the parameters that affect it, and whether it may be silenced."""

    sentence: str
    options: tuple[str, ...] = ()
    is_advice: bool = False


class SourceLine(NamedTuple):
    """A line of the input and its number, counted from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class TranslationOptions:
    """How lines are split, which language they are translated into, and the constraints on translations."""

    constraints: PhraseConstraints = field(default_factory=PhraseConstraints)
    language: str | None = None  # target language, for a model with language tags
    is_paragraphs: bool | None = (
        None  # split each line into sentences; None: unless the model was trained on such lines
    )
    long: Literal["split", "refuse"] = "split"  # for a line that is too long for the model
    max_source: int | None = None  # tokens; None: the number of positions of the model
    has_scores: bool = True  # False: scores are not needed, and greedy search can skip them

    def needs(self, search: SearchSettings) -> EngineNeeds:
        """Return what the engine must support."""
        return EngineNeeds(search, self.constraints.uses)


T = TypeVar("T", bound=HasText)


def windows(lines: Iterable[T], size: int = WINDOW) -> Iterator[list[T]]:
    """Yield up to `size` lines at a time, fewer if they are long; the same lines always give the same windows."""
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


_Piece = tuple[TextPart, tuple[int, ...]]  # and its ids


class _OpenedLine(NamedTuple):
    """A line without its language tag, split into sentences if requested; an empty line has no parts.

    `capitals` is its first sentence in capital letters, which are not in the parts.
    """

    number: int
    tag: str
    parts: list[TextPart]
    capitals: str = ""


@dataclass
class EncodedPart:
    """A part of a line in the pipeline, with a number for its random draws; the search fills in its translations."""

    part: TranslatedPart
    number: int = 0
    is_wanted: IsWanted = always
    notes: tuple[str, ...] = ()


class EncodedLine(NamedTuple):
    """A line as parts that can be searched, each of which the model can read."""

    source: SourceLine
    parts: list[EncodedPart]
    capitals: str = ""

    @property
    def searched(self) -> list[EncodedPart]:
        """The parts that are not empty."""
        return [part for part in self.parts if part.part.ids]


class TranslationPipeline:
    """Encodes lines, translates them with an engine and decodes the results; `remarks` collects messages about them."""

    def __init__(
        self,
        vocabularies: Vocabularies,
        engine: Engine,
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
        statistics: TextStatistics = TextStatistics(),
    ) -> None:
        self.vocabularies, self.engine, self.search, self.options = vocabularies, engine, search, options
        # random translations are unlikely by intention
        measured = statistics.model_copy(update={"log_probs": None}) if search.is_sampling else statistics
        self.unfamiliar = UnfamiliarText(measured, vocabularies.source)
        self.splits_lines = statistics.splits_lines if options.is_paragraphs is None else options.is_paragraphs
        self._language = statistics.source_language or DEFAULT_LANGUAGE
        self.remarks: list[Remark] = []
        self._constraints = ConstraintEncoder(options.constraints, vocabularies.target)
        self._hidden = HiddenPieces(vocabularies, statistics)
        self._source = vocabularies.source
        self._has_warned = False
        if options.language is not None:
            self._source.tag(options.language)

    @property
    def longest(self) -> int:
        """The maximum number of source tokens in one segment, without eos."""
        limit = self.engine.config.position_limit
        most = _DEFAULT_LONGEST if limit is None else limit - 1
        return most if self.options.max_source is None else min(most, self.options.max_source)

    def translate(self, window: Sequence[SourceLine]) -> list[Translation]:
        """Translate the lines of one window."""
        lines = self.encode(window)
        self.fill([part for line in lines for part in line.searched])
        return [self.translation(line) for line in lines]

    def encode(self, window: Sequence[SourceLine], is_wanted: IsWanted = always) -> list[EncodedLine]:
        """Return lines as parts whose translations `fill` searches for, as long as they are wanted."""
        opened = [self._open(line) for line in window]
        rows = self._rows(opened, is_wanted)
        return [EncodedLine(line, parts, own.capitals) for line, own, parts in zip(window, opened, rows, strict=True)]

    def translation(self, line: EncodedLine) -> Translation:
        """Return the translation of a line whose parts are filled."""
        parts = tuple(part.part for part in line.parts)
        notes = tuple(dict.fromkeys(note for part in line.parts for note in part.notes))
        notes += self.unfamiliar.notes(line.source.number, parts, line.capitals)
        return Translation(line.source.number, line.source.text, parts, self.search.length_penalty, notes)

    def fault(self, line: SourceLine) -> str | None:
        """Return why a line cannot be translated, such as its length; None if it can be."""
        try:
            self.encode([line])
        except DataError as wrong:
            return str(wrong)
        return None

    def _open(self, line: SourceLine) -> _OpenedLine:
        if len(line.text) > _MAX_CHARACTERS:
            raise DataError(
                f"line {line.number} has {len(line.text):,} characters, more than the maximum of {_MAX_CHARACTERS:,}. "
                "Check that this is a text file with a sentence or paragraph on each line."
            )
        tag, text = self._tag(line)
        if not text.strip():
            return _OpenedLine(line.number, tag, [])
        parts = split_sentences(text, self._language) if self.splits_lines else [TextPart(text)]
        lower = [replace(part, text=without_capitals(part.text, self._source)) for part in parts]
        capitals = next((part.text for part, other in zip(parts, lower, strict=True) if part != other), "")
        return _OpenedLine(line.number, tag, lower, capitals)

    def _rows(self, lines: Sequence[_OpenedLine], is_wanted: IsWanted) -> list[list[EncodedPart]]:
        """Encode the parts of every line, and split parts that are too long."""
        encoded = iter(self._source.encode([line.tag + part.text for line in lines for part in line.parts]))
        rows_by_line = []
        for line in lines:
            pieces: list[_Piece] = []
            notes: tuple[str, ...] = ()
            for part in line.parts:
                ids = tuple(next(encoded))
                if len(ids) <= self.longest:
                    pieces.append((part, ids))
                else:
                    pieces += self._split(part, len(ids), line)
                    notes = (f"Split: it has {len(ids):,} tokens, but the model reads at most {self.longest:,}.",)
            rows = []
            for index, (part, ids) in enumerate(pieces):
                constraints = self._hidden.hide(ids, self._constraints.constraints(part.text, is_first=index == 0))
                number = (line.number - 1 + index * _PART_STRIDE) % 2**31
                rows.append(
                    EncodedPart(TranslatedPart(part.text, part.space, ids, constraints), number, is_wanted, notes)
                )
            rows_by_line.append(rows or [EncodedPart(TranslatedPart("", "", ()))])
        return rows_by_line

    def _tag(self, line: SourceLine) -> tuple[str, str]:
        """Return the language tag (from the line, or else from the options) and the text of a line."""
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
            sentence = f"This model translates into several languages ({names}). Choose one of them."
            self.remarks.append(Remark(sentence, ("language",)))
            self._has_warned = True
        return (language_tag(language) if language is not None else ""), text

    def _split(self, part: TextPart, count: int, line: _OpenedLine) -> list[_Piece]:
        """Split a part into pieces that the model can read, or raise DataError if splitting is off."""
        if self.options.long == "refuse":
            raise DataError(
                f"line {line.number} has {count:,} tokens, but the model reads at most {self.longest:,}: "
                f"'{printable(part.text[:40])}…'. Shorten the line, or split long lines.",
                options={"long": "split"},
            )

        encoded = self._encoded(self._pieces(part, count, line), line)
        if any(len(ids) > self.longest for _, ids in encoded):
            raise DataError(
                f"line {line.number}: a single letter has more than {self.longest} tokens. Increase the limit.",
                options=("max_source",),
            )
        last, ids = encoded[-1]
        return [*encoded[:-1], (replace(last, space=part.space), ids)]

    def _encoded(self, parts: Sequence[TextPart], line: _OpenedLine) -> list[_Piece]:
        rows = self._source.encode([line.tag + part.text for part in parts])
        return [(part, tuple(ids)) for part, ids in zip(parts, rows, strict=True)]

    def _pieces(self, part: TextPart, count: int, line: _OpenedLine) -> list[TextPart]:
        """Return a part of `count` tokens in pieces that the model can read.

        So much text without the end of a sentence is a list, such as addresses. It gets short pieces, which are
        translated as well as long ones, and on a server nobody has to wait long for one.
        """

        def fits(text: str) -> bool:
            return len(self._source.encode([line.tag + text])[0]) <= self.longest

        if count <= _LIST * self.longest * len(split_sentences(part.text, self._language)):
            return split_long(part.text, fits, self._language)
        chunks = split_list(part.text, max(1, self.longest // _LIST * len(part.text) // count))
        pieces: list[TextPart] = []
        for chunk, ids in self._encoded(chunks, line):
            if len(ids) <= self.longest:
                pieces.append(chunk)
                continue
            *first, last = split_long(chunk.text, fits, self._language)
            pieces += [*first, replace(last, space=chunk.space)]
        return pieces

    def fill(self, rows: Sequence[EncodedPart]) -> None:
        """Search for the translations of all parts; equal parts are translated once, except when sampling."""
        groups: dict[object, list[EncodedPart]] = {}
        for row in rows:
            number = row.number if self.search.is_sampling else 0
            groups.setdefault((row.part.ids, row.part.constraints, row.is_wanted, number), []).append(row)
        outcomes = self.engine.translate([self._request(group[0]) for group in groups.values()], self.search)
        tokens = [hypothesis.tokens for hypotheses in outcomes for hypothesis in hypotheses]
        texts = iter(self.vocabularies.target.decode(tokens))
        num_failed = 0
        for group, hypotheses in zip(groups.values(), outcomes, strict=True):
            own_texts = tuple(next(texts) for _ in hypotheses)
            has_forbidden = any(map(self._constraints.has_forbidden, own_texts))
            num_failed += has_forbidden
            for row in group:
                row.part = replace(row.part, texts=own_texts or ("",), hypotheses=tuple(hypotheses))
                if has_forbidden:
                    row.notes = (*row.notes, "A forbidden phrase could not be avoided.")
        if num_failed:
            sentence = f"A forbidden phrase could not be avoided in {num_failed} of {len(groups)} sentences."
            self.remarks.append(Remark(sentence))

    def _request(self, row: EncodedPart) -> Request:
        config, constraints = self.engine.config, row.part.constraints
        ids = (*row.part.ids, config.eos)
        limit = length_limit(len(ids), self.search, config, constraints)
        has_score = self.options.has_scores or self.unfamiliar.needs_scores
        return Request(ids, limit, constraints, row.number, has_score, row.is_wanted)
