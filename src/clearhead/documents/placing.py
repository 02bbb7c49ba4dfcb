"""Put the markup of a text around the translated words: every tag once, properly nested, near the words it marked."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from clearhead.documents.inline import NO_PARENT, InlineText, Markup, Piece
from clearhead.documents.source_tokens import SourceTokens
from clearhead.documents.target_tokens import TargetToken

_MAX_STEPS = 20  # source tokens on either side of a tag that are looked at for a place


@dataclass(frozen=True)
class TargetText:
    """The tokens of a translation, the tokens of each source sentence in it, and the white space after the last."""

    tokens: Sequence[TargetToken]
    sentences: Sequence[tuple[int, int]]
    ending: tuple[int, int]  # characters of the source


@dataclass
class _Placed:
    """Where a markup goes: around the tokens from `first` to `last`, after so many characters of the gap before each.

    `order` is its index, so that markups at the same place keep their order.
    """

    order: int
    first: int
    last: int
    opening: int
    closing: int
    children: "list[_Placed]" = field(default_factory=list)


def place_markups(inline: InlineText, source: SourceTokens, target: TargetText) -> list[Piece]:
    """Return the translation with all its markups."""
    placer = _Placer(inline, source, target)
    roots = placer.placed_children(NO_PARENT, (0, len(target.tokens)), (0, len(source.tokens)))
    return _Writer(source, target).pieces(roots)


class _Placer:
    """Finds the places of the markups of one text."""

    def __init__(self, inline: InlineText, source: SourceTokens, target: TargetText) -> None:
        self.inline, self.source, self.target = inline, source, target
        self.children: dict[int, list[int]] = {}
        for index, markup in enumerate(inline.markups):
            self.children.setdefault(markup.parent, []).append(index)
        self.starts = [token.start for token in source.tokens]
        self.targets_of: dict[int, list[int]] = {}
        for number, token in enumerate(target.tokens):
            for index in token.sources:
                self.targets_of.setdefault(index, []).append(number)

    def range_of(self, markup: Markup) -> tuple[int, int]:
        """Return the source tokens inside a markup."""
        return bisect_left(self.starts, markup.start), bisect_left(self.starts, markup.end)

    def placed_children(self, parent: int, bounds: tuple[int, int], own: tuple[int, int]) -> list[_Placed]:
        """Return the placed children of a markup that surrounds the target tokens `bounds` and source tokens `own`."""
        indices = self.children.get(parent, [])
        if not indices:
            return []
        ranges = {index: self.range_of(self.inline.markups[index]) for index in indices}
        marked = {
            index: self._marked(ranges[index], bounds) for index in indices if ranges[index][0] < ranges[index][1]
        }
        counts = Counter(number for numbers in marked.values() for number in numbers)
        intervals: dict[int, tuple[int, int]] = {}
        claims: set[int] = set()
        for index in sorted(marked, key=lambda index: -len(marked[index])):
            interval = bounds if ranges[index] == own and not claims else None
            interval = interval or self._interval(marked[index], counts, claims)
            interval = interval or self._nearest(index, bounds, own, claims) or self._shared(index, intervals)
            if interval is not None:
                claims |= set(range(*interval))
                intervals[index] = interval
        placed = {index: self._around(index, interval, ranges[index]) for index, interval in intervals.items()}
        edges = sorted((entry.first, entry.last) for entry in placed.values())
        for index in indices:
            if index not in placed:
                placed[index] = self._point(index, bounds, own, edges)
        return sorted(placed.values(), key=lambda entry: (entry.first, entry.last, entry.order))

    def _marked(self, tokens: tuple[int, int], bounds: tuple[int, int]) -> set[int]:
        """Return the target tokens of the source tokens, and all target tokens of sentences that are wholly inside."""
        first, last = tokens
        numbers = {number for index in range(first, last) for number in self.targets_of.get(index, ())}
        sentences = self.source.sentences
        for place in range(bisect_left(sentences, (first, first)), len(sentences)):
            if sentences[place][1] > last:
                break
            numbers |= set(range(*self.target.sentences[place]))
        return {number for number in numbers if bounds[0] <= number < bounds[1]}

    def _interval(self, marked: set[int], counts: Counter[int], claims: set[int]) -> tuple[int, int] | None:
        """Return the interval with the largest difference between marked tokens and others inside it.

        `counts` says how many markups mark a token; those of other markups count twice.
        """
        if not marked:
            return None
        best, score, start, total = None, 0, None, 0
        for number in range(min(marked), max(marked) + 1):
            if number in claims:
                start = None
            elif number in marked:
                if start is None or total < 0:
                    start, total = number, 0
                total += 1
                if best is None or (total, number + 1 - start) > (score, best[1] - best[0]):
                    best, score = (start, number + 1), total
            elif start is not None and self.target.tokens[number].sources:
                total -= 2 if counts[number] else 1
        return best

    def _nearest(
        self, index: int, bounds: tuple[int, int], own: tuple[int, int], claims: set[int]
    ) -> tuple[int, int] | None:
        """Return the free word that is nearest to where a markup without linked words belongs."""
        middle = self._position(self.inline.markups[index].start, bounds, own)[0]
        for distance in range(max(middle - bounds[0], bounds[1] - middle) + 1):
            for number in (middle - 1 - distance, middle + distance):
                is_inside = bounds[0] <= number < bounds[1]
                if is_inside and number not in claims and self.target.tokens[number].is_core:
                    return number, number + 1
        return None

    def _shared(self, index: int, intervals: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
        """Take a word from the longest interval of another markup, if every word belongs to one."""
        other = max(intervals, key=lambda other: intervals[other][1] - intervals[other][0], default=None)
        if other is None:
            return None
        first, last = intervals[other]
        words = [number for number in range(first, last) if self.target.tokens[number].is_core]
        if len(words) < 2:
            return None
        if index < other:
            intervals[other] = (words[1], last)
            return first, words[0] + 1
        intervals[other] = (first, words[-2] + 1)
        return words[-1], last

    def _around(self, index: int, interval: tuple[int, int], tokens: tuple[int, int]) -> _Placed:
        """Place a markup around target tokens; white space at its inner edges stays inside."""
        markup, (first, last) = self.inline.markups[index], interval
        inside = self.source.tokens[tokens[0]].start - markup.start
        opening = max(0, len(self._gap(first)) - inside)
        entry = _Placed(index, first, last, opening, markup.end - self.source.tokens[tokens[1] - 1].end)
        entry.children = self.placed_children(index, interval, tokens)
        return entry

    def _point(
        self, index: int, bounds: tuple[int, int], own: tuple[int, int], edges: Sequence[tuple[int, int]]
    ) -> _Placed:
        """Place a markup without words, beside the translation of its neighbour and not inside another markup."""
        markup = self.inline.markups[index]
        place, offset = self._position(markup.start, bounds, own)
        number = bisect_right(edges, (place, -1)) - 1
        if number >= 0 and edges[number][0] < place < edges[number][1]:
            place, offset = edges[number][1], 0
        return self._empty(index, place, offset)

    def _empty(self, index: int, place: int, offset: int) -> _Placed:
        markup = self.inline.markups[index]
        entry = _Placed(index, place, place, offset, offset + markup.end - markup.start)
        for child in self.children.get(index, ()):
            entry.children.append(self._empty(child, place, offset + self.inline.markups[child].start - markup.start))
        return entry

    def _position(self, character: int, bounds: tuple[int, int], own: tuple[int, int]) -> tuple[int, int]:
        """Return the gap of the target, and the character in it, where a tag at a character of the source belongs."""
        if not self.source.tokens:  # white space alone
            return 0, character
        following = min(max(bisect_left(self.starts, character), own[0]), own[1])
        for distance in range(_MAX_STEPS):
            before, after = following - 1 - distance, following + distance
            if before >= own[0] and (numbers := self._inside(before, bounds)):
                return max(numbers) + 1, character - self.source.tokens[before].end if not distance else 0
            if after < own[1] and (numbers := self._inside(after, bounds)):
                gap = len(self._gap(min(numbers)))
                return min(numbers), max(0, gap - (self.starts[after] - character)) if not distance else gap
        return (bounds[1], 0) if following > own[0] else (bounds[0], 0)

    def _inside(self, index: int, bounds: tuple[int, int]) -> list[int]:
        return [number for number in self.targets_of.get(index, ()) if bounds[0] <= number < bounds[1]]

    def _gap(self, number: int) -> str:
        return self.target.tokens[number].gap if number < len(self.target.tokens) else ""


class _Writer:
    """Writes tokens, white space and tags in order."""

    def __init__(self, source: SourceTokens, target: TargetText) -> None:
        self.source, self.target = source, target
        self.written: list[Piece] = []
        self.number = self.offset = 0  # the next token, and the characters of the gap before it that are written

    def pieces(self, roots: Sequence[_Placed]) -> list[Piece]:
        """Return the pieces of the whole translation."""
        self._write(roots)
        self._advance(len(self.target.tokens), None)
        return self.written

    def _write(self, entries: Sequence[_Placed]) -> None:
        for entry in entries:
            self._advance(entry.first, entry.opening)
            self.written.append(Piece("open", markup=entry.order))
            self._write(entry.children)
            self._advance(entry.last, entry.closing)
            self.written.append(Piece("close", markup=entry.order))

    def _advance(self, number: int, offset: int | None) -> None:
        """Write up to a gap, and the first characters of that gap; all of them if `offset` is None."""
        while self.number < number:
            self._write_gap(None)
            token = self.target.tokens[self.number]
            self.written.append(Piece("text", token.text, source=token.copied))
            self.number, self.offset = self.number + 1, 0
        self._write_gap(offset)

    def _write_gap(self, end: int | None) -> None:
        is_last = self.number == len(self.target.tokens)
        span = self.target.ending if is_last else self.target.tokens[self.number].copied_gap
        gap = self.source.text[slice(*span)] if span is not None else self.target.tokens[self.number].gap
        part = gap[self.offset : end]
        if part:
            start = None if span is None else span[0] + self.offset
            self.written.append(Piece("text", part, source=None if start is None else (start, start + len(part))))
            self.offset += len(part)
