"""Lines in, translations out, window by window: sorted by length inside a window, given back in order, none lost.

A window holds so many lines or so many characters, so that a file of any length needs the memory of one window.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, TypeVar

from clearhead.decoding.line_result import LineResult, PartResult
from clearhead.decoding.phrases import ConstraintEncoder, PhraseConstraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Piece, Translator
from clearhead.errors import DataError, printable
from clearhead.text.sentences import TextPart, split_long, split_sentences
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import split_tag

WINDOW = 1024  # lines
_WINDOW_CHARACTERS = 2**19
_MAX_CHARACTERS = 200_000  # a longer line is no sentence and no paragraph
_DEFAULT_LONGEST = 1024  # tokens, of a model that has positions without end
_PART_STRIDE = 1_000_003  # parts of one line draw other numbers than the lines after it
_MAX_ROUNDS = 5  # of searching again for a translation without a forbidden phrase


class HasText(Protocol):
    """Whatever has a text to translate."""

    @property
    def text(self) -> str:
        """The text."""


class Line(NamedTuple):
    """A line of the input, and its number from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class LineOptions:
    """How lines become what a model reads."""

    settings: SearchSettings = SearchSettings()
    phrases: PhraseConstraints = PhraseConstraints()
    language: str | None = None  # the target's, of a model with tags
    is_paragraphs: bool = False  # each line is split into sentences
    long: Literal["split", "refuse"] = "split"  # what is done with a line that is too long for the model
    max_source: int | None = None  # tokens; None: as many as the model has positions for
    has_scores: bool = True  # whether anyone asks for the scores of translations


T = TypeVar("T", bound=HasText)


def windows(lines: Iterable[T], size: int = WINDOW) -> Iterator[list[T]]:
    """Yield so many lines at a time, fewer where they are long: the same windows for the same lines."""
    held: list[T] = []
    characters = 0
    for line in lines:
        held.append(line)
        characters += len(line.text)
        if len(held) == size or characters >= _WINDOW_CHARACTERS:
            yield held
            held, characters = [], 0
    if held:
        yield held


def translate_lines(
    translator: Translator,
    lines: Iterable[str],
    options: LineOptions = LineOptions(),
    size: int = WINDOW,
) -> Iterator[LineResult]:
    """Translate lines in constant memory: results come in the order of the lines, one for each."""
    working = LineTranslator(translator, options)
    for window in windows((Line(number, text) for number, text in enumerate(lines, 1)), size):
        yield from working.translate(window)


class _Opened(NamedTuple):
    """A line without its tag, in sentences if so asked; none for a line with nothing in it."""

    number: int
    tag: str
    parts: list[TextPart]


@dataclass
class _Row:
    """A part of a line on its way."""

    piece: Piece | None  # None: there is nothing in it to translate
    result: PartResult


@dataclass
class LineTranslator:
    """A translator with options; `notes` collects what should be said of the lines that were done."""

    translator: Translator
    options: LineOptions = field(default_factory=LineOptions)

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        vocabularies = self.translator.vocabularies
        self._encoder = ConstraintEncoder(self.options.phrases, vocabularies.target)
        self._source = vocabularies.source
        self._is_warned = False
        if self.options.language is not None:
            self._source.tag(self.options.language)

    @property
    def longest(self) -> int:
        """The most tokens that are read at once, the end not counted."""
        has = self.translator.engine.info.max_length
        most = _DEFAULT_LONGEST if has is None else has - 1
        return most if self.options.max_source is None else min(most, self.options.max_source)

    def translate(self, window: Sequence[Line]) -> list[LineResult]:
        """Translate the lines of one window."""
        rows = self._rows([self._opened(line) for line in window])
        self._fill([row for several in rows for row in several if row.piece is not None])
        penalty = self.options.settings.length_penalty
        return [
            LineResult(line.number, line.text, tuple(row.result for row in several), penalty)
            for line, several in zip(window, rows, strict=True)
        ]

    def _opened(self, line: Line) -> _Opened:
        if len(line.text) > _MAX_CHARACTERS:
            raise DataError(
                f"line {line.number} has {len(line.text):,} characters, and at most {_MAX_CHARACTERS:,} are read. "
                "Is this a file of sentences?"
            )
        tag, text = self._tag(line)
        if not text.strip():
            return _Opened(line.number, tag, [])
        return _Opened(line.number, tag, split_sentences(text) if self.options.is_paragraphs else [TextPart(text)])

    def _rows(self, lines: Sequence[_Opened]) -> list[list[_Row]]:
        """Return the parts of every line as ids; what is too long is cut here."""
        ids = iter(self._source.encode([line.tag + part.text for line in lines for part in line.parts]))
        made = []
        for line in lines:
            cut: list[tuple[TextPart, tuple[int, ...]]] = []
            for part in line.parts:
                own = tuple(next(ids))
                cut += [(part, own)] if len(own) <= self.longest else self._short(part, len(own), line)
            rows = [self._row(line, place, part, own) for place, (part, own) in enumerate(cut)]
            made.append(rows or [_Row(None, PartResult("", "", ()))])
        return made

    def _row(self, line: _Opened, place: int, part: TextPart, ids: tuple[int, ...]) -> _Row:
        number = (line.number - 1 + place * _PART_STRIDE) % 2**31
        constraints = self._encoder.constraints(part.text, is_first=place == 0)
        piece = Piece(ids, constraints, number) if ids else None
        return _Row(piece, PartResult(part.text, part.space, ids, constraints))

    def _tag(self, line: Line) -> tuple[str, str]:
        """Return the tag of a line's language, its own or else that of the options, and the rest."""
        tags = self._source.tags
        language, text = split_tag(line.text) if tags else (None, line.text)
        if language is not None:
            try:
                self._source.tag(language)
            except DataError as wrong:
                raise DataError(f"line {line.number}: {wrong}") from None
        language = language or self.options.language
        if language is None and len(tags) > 1 and not self._is_warned and text.strip():
            known = ", ".join(list(tags)[:8]) + (" …" if len(tags) > 8 else "")
            self.notes.append(f"This model writes several languages ({known}), and none was asked for: use --to.")
            self._is_warned = True
        return (language_tag(language) if language is not None else ""), text

    def _short(self, part: TextPart, count: int, line: _Opened) -> list[tuple[TextPart, tuple[int, ...]]]:
        """Return a part cut so that the model can read each piece, or refuse it."""
        if self.options.long == "refuse":
            raise DataError(
                f"line {line.number} has {count:,} tokens, and the model reads {self.longest:,} at once: "
                f"'{printable(part.text[:40])}…'. Shorten it, or have it split with --long split."
            )

        def ids_of(text: str) -> tuple[int, ...]:
            return tuple(self._source.encode([line.tag + text])[0])

        parts = split_long(part.text, lambda text: len(ids_of(text)) <= self.longest)
        made = [(each, ids_of(each.text)) for each in parts]
        if any(len(ids) > self.longest for _, ids in made):
            raise DataError(
                f"line {line.number}: even one letter has more than {self.longest} tokens. "
                "Read more at once with --max-source."
            )
        last, ids = made[-1]
        return [*made[:-1], (replace(last, space=part.space), ids)]

    def _fill(self, rows: Sequence[_Row]) -> None:
        """Search for the translations of all parts; equal ones are translated once, unless they are drawn."""
        is_drawn = self.options.settings.is_sampling
        groups: dict[object, list[_Row]] = {}
        for row in rows:
            assert row.piece is not None
            key = row.piece if is_drawn else (row.piece.ids, row.piece.constraints)
            groups.setdefault(key, []).append(row)
        pieces = [several[0].piece for several in groups.values() if several[0].piece is not None]
        found = self._search(pieces)
        texts = iter(self._decoded(found))
        for several, hypotheses in zip(groups.values(), found, strict=True):
            own = tuple(next(texts) for _ in hypotheses)
            for row in several:
                row.result = replace(row.result, texts=own or ("",), hypotheses=tuple(hypotheses))

    def _searched(self, pieces: Sequence[Piece]) -> list[list[Hypothesis]]:
        return self.translator.search(pieces, self.options.settings, has_scores=self.options.has_scores)

    def _decoded(self, found: Sequence[Sequence[Hypothesis]]) -> list[str]:
        return self.translator.vocabularies.target.decode([each.tokens for several in found for each in several])

    def _search(self, pieces: Sequence[Piece]) -> list[list[Hypothesis]]:
        """Search; again where a forbidden phrase came back in other pieces, which are then forbidden too."""
        found = self._searched(pieces)
        if not self._encoder.forbidden:
            return found
        asked = dict(enumerate(pieces))
        for _ in range(_MAX_ROUNDS):
            asked = self._mended(asked, found)
            if not asked:
                return found
            again = self._searched(list(asked.values()))
            for place, hypotheses in zip(asked, again, strict=True):
                found[place] = hypotheses
        left = len(self._mended(asked, found))
        if left:
            self.notes.append(f"A forbidden phrase could not be avoided in {left} of {len(pieces)} sentences.")
        return found

    def _mended(self, asked: dict[int, Piece], found: Sequence[Sequence[Hypothesis]]) -> dict[int, Piece]:
        """Return the pieces whose translations hold a forbidden phrase, with its spelling forbidden too."""
        made = {}
        for place, piece in asked.items():
            texts = self._decoded([found[place]])
            slips = [
                slip
                for text, each in zip(texts, found[place], strict=True)
                for slip in self._encoder.slips(each.tokens, text)
            ]
            if slips:
                constraints = replace(piece.constraints, forbidden=(*piece.constraints.forbidden, *slips))
                made[place] = replace(piece, constraints=constraints)
        return made
