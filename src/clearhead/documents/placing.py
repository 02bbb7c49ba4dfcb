"""Put the markup of a text around the translated words: every tag once, properly nested, near the words it marked."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clearhead.documents.inline import NO_PARENT, InlineText, Piece
from clearhead.documents.source_tokens import SourceTokens
from clearhead.documents.target_tokens import TargetToken

Span = tuple[int, int]
_MAX_STEPS = 20  # source tokens on either side of a tag that are looked at for a place


@dataclass(frozen=True)
class TargetText:
    """The tokens of a translation, the tokens of each source sentence in it, and the white space after the last."""

    tokens: Sequence[TargetToken]
    sentences: Sequence[Span]
    ending: Span  # characters of the source


@dataclass(frozen=True)
class _Place:
    """A place in the translation: before a token, after the first characters of the gap before it."""

    number: int
    offset: int


@dataclass(frozen=True)
class _Tag:
    """The opening or closing of a markup, and its place."""

    kind: Literal["open", "close"]
    markup: int
    place: _Place


def place_markups(inline: InlineText, source: SourceTokens, target: TargetText) -> list[Piece]:
    """Return the translation with all its markups."""
    placer = _Placer(inline, source, target)
    return list(_pieces(source, target, placer.tags(NO_PARENT, (0, len(target.tokens)), (0, len(source.tokens)))))


class _Placer:
    """Finds the places of the markups of one text.

    `bounds` are the target tokens inside the parent of some markups, and `own` are its source tokens.
    """

    def __init__(self, inline: InlineText, source: SourceTokens, target: TargetText) -> None:
        self.markups, self.source, self.target = inline.markups, source, target
        self.starts = [token.start for token in source.tokens]
        self.children: dict[int, list[int]] = {}
        for index, markup in enumerate(inline.markups):
            self.children.setdefault(markup.parent, []).append(index)
        self.ranges = [
            (bisect_left(self.starts, markup.start), bisect_left(self.starts, markup.end)) for markup in inline.markups
        ]
        self.targets_of: dict[int, list[int]] = {}
        for number, token in enumerate(target.tokens):
            for index in token.sources:
                self.targets_of.setdefault(index, []).append(number)

    def tags(self, parent: int, bounds: Span, own: Span) -> list[_Tag]:
        """Return the tags of the children of a markup, and of all markups inside them, in their order."""
        indices = self.children.get(parent, [])
        intervals = self._intervals(indices, bounds, own)
        edges = sorted(intervals.values())
        entries: list[tuple[int, int, int, list[_Tag]]] = []
        for index in indices:
            if index in intervals:
                entries.append((*intervals[index], index, self._around(index, intervals[index])))
            else:
                tags = self._point(index, bounds, own, edges)
                number = tags[0].place.number
                entries.append((number, number, index, tags))
        return [tag for entry in sorted(entries, key=lambda entry: entry[:3]) for tag in entry[3]]

    def _intervals(self, indices: Sequence[int], bounds: Span, own: Span) -> dict[int, Span]:
        """Return the target tokens of each markup that has words; first those of the markups with most linked words."""
        marked = {
            index: self._marked(index, bounds) for index in indices if self.ranges[index][0] < self.ranges[index][1]
        }
        counts = Counter(number for numbers in marked.values() for number in numbers)
        intervals: dict[int, Span] = {}
        claims: set[int] = set()
        for index in sorted(marked, key=lambda index: -len(marked[index])):
            interval = bounds if self.ranges[index] == own and not claims else None
            interval = interval or self._best_stretch(marked[index], counts, claims)
            interval = interval or self._nearest(index, bounds, own, claims) or self._shared(index, intervals)
            if interval is not None:
                claims |= set(range(*interval))
                intervals[index] = interval
        return intervals

    def _marked(self, index: int, bounds: Span) -> set[int]:
        """Return the target tokens of the source tokens, and all target tokens of sentences that are wholly inside."""
        first, last = self.ranges[index]
        numbers = {number for token in range(first, last) for number in self._inside(token, bounds)}
        sentences = self.source.sentences
        for place in range(bisect_left(sentences, (first, first)), len(sentences)):
            if sentences[place][1] > last:
                break
            start, end = self.target.sentences[place]
            numbers |= set(range(max(start, bounds[0]), min(end, bounds[1])))
        return numbers

    def _best_stretch(self, marked: set[int], counts: Counter[int], claims: set[int]) -> Span | None:
        """Return the interval with the largest difference between marked tokens and others inside it.

        `counts` says how many markups mark a token; those of other markups count twice.
        """
        best, score, start, total = None, 0, None, 0
        for number in range(min(marked, default=0), max(marked, default=-1) + 1):
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

    def _nearest(self, index: int, bounds: Span, own: Span, claims: set[int]) -> Span | None:
        """Return the free word that is nearest to where a markup without linked words belongs."""
        middle = self._place(self.markups[index].start, bounds, own).number
        for distance in range(max(middle - bounds[0], bounds[1] - middle) + 1):
            for number in (middle - 1 - distance, middle + distance):
                is_inside = bounds[0] <= number < bounds[1]
                if is_inside and number not in claims and self.target.tokens[number].is_core:
                    return number, number + 1
        return None

    def _shared(self, index: int, intervals: dict[int, Span]) -> Span | None:
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

    def _around(self, index: int, interval: Span) -> list[_Tag]:
        """Return the tags of a markup around target tokens; white space at its inner edges stays inside."""
        markup, (first, last) = self.markups[index], self.ranges[index]
        inside = self.starts[first] - markup.start
        opening = _Place(interval[0], max(0, self._gap_length(interval[0]) - inside))
        closing = _Place(interval[1], markup.end - self.source.tokens[last - 1].end)
        inner = self.tags(index, interval, (first, last))
        return [_Tag("open", index, opening), *inner, _Tag("close", index, closing)]

    def _point(self, index: int, bounds: Span, own: Span, edges: Sequence[Span]) -> list[_Tag]:
        """Return the tags of a markup without words, beside the translation of its neighbour, not inside another."""
        place = self._place(self.markups[index].start, bounds, own)
        other = bisect_left(edges, (place.number,)) - 1
        if other >= 0 and place.number < edges[other][1]:
            place = _Place(edges[other][1], 0)
        return self._empty(index, place)

    def _empty(self, index: int, place: _Place) -> list[_Tag]:
        markup = self.markups[index]
        tags = [_Tag("open", index, place)]
        for child in self.children.get(index, ()):
            tags += self._empty(child, _Place(place.number, place.offset + self.markups[child].start - markup.start))
        return [*tags, _Tag("close", index, _Place(place.number, place.offset + markup.end - markup.start))]

    def _place(self, character: int, bounds: Span, own: Span) -> _Place:
        """Return where a tag at a character of the source belongs: beside the translation of the nearest token."""
        if not self.starts:  # white space alone
            return _Place(0, character)
        following = min(max(bisect_left(self.starts, character), own[0]), own[1])
        for distance in range(_MAX_STEPS):
            before, after = following - 1 - distance, following + distance
            if before >= own[0] and (numbers := self._inside(before, bounds)):
                return _Place(max(numbers) + 1, 0 if distance else character - self.source.tokens[before].end)
            if after < own[1] and (numbers := self._inside(after, bounds)):
                space = 0 if distance else self.starts[after] - character
                return _Place(min(numbers), max(0, self._gap_length(min(numbers)) - space))
        return _Place(bounds[1] if following > own[0] else bounds[0], 0)

    def _inside(self, index: int, bounds: Span) -> list[int]:
        return [number for number in self.targets_of.get(index, ()) if bounds[0] <= number < bounds[1]]

    def _gap_length(self, number: int) -> int:
        return len(self.target.tokens[number].gap) if number < len(self.target.tokens) else 0


def _pieces(source: SourceTokens, target: TargetText, tags: Sequence[_Tag]) -> Iterator[Piece]:
    """Yield tokens, white space and tags in order."""
    number = offset = 0  # the next token, and the characters of the gap before it that are written
    end = _Place(len(target.tokens), len(source.text))
    for tag in [*tags, None]:
        place = end if tag is None else tag.place
        while number < place.number:
            yield from _gap(source, target, number, offset, None)
            yield Piece("text", target.tokens[number].text, source=target.tokens[number].copied)
            number, offset = number + 1, 0
        yield from _gap(source, target, number, offset, place.offset)
        offset = max(offset, place.offset)
        if tag is not None:
            yield Piece(tag.kind, markup=tag.markup)


def _gap(source: SourceTokens, target: TargetText, number: int, start: int, end: int | None) -> Iterator[Piece]:
    """Yield some of the white space before a token, or after the last one."""
    is_last = number == len(target.tokens)
    span = target.ending if is_last else target.tokens[number].copied_gap
    gap = source.text[slice(*span)] if span is not None else target.tokens[number].gap
    if part := gap[start:end]:
        copied = None if span is None else (span[0] + start, span[0] + start + len(part))
        yield Piece("text", part, source=copied)
