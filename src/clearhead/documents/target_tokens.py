"""Turn the translation of a run of tokens into target tokens, each linked to the source tokens it translates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from clearhead.documents.sentence_runs import Run, stand_in_pattern
from clearhead.documents.source_tokens import SourceTokens, split_punctuation
from clearhead.text.aligned import AlignedTranslation

Span = tuple[int, int]


@dataclass(frozen=True)
class TargetToken:
    """A word of the translation, or a part of one, and the white space before it.

    `sources` are the source tokens it translates. `copied` and `copied_gap` are the ranges of source characters that
    the text and the white space repeat unchanged, if they do.
    """

    text: str
    sources: frozenset[int] = frozenset()
    gap: str = ""
    copied: Span | None = None
    copied_gap: Span | None = None
    is_core: bool = True


def copied_tokens(source: SourceTokens, run: Run) -> list[TargetToken]:
    """Return the tokens of a run unchanged."""
    return [_with_gap(source, _copy(source, index), source.gap(index)) for index in range(run.first, run.last)]


def _with_gap(source: SourceTokens, token: TargetToken, span: Span) -> TargetToken:
    return replace(token, gap=source.text[slice(*span)], copied_gap=span)


def _copy(source: SourceTokens, index: int) -> TargetToken:
    token = source.tokens[index]
    return TargetToken(source.string(index), frozenset({index}), copied=(token.start, token.end), is_core=token.is_core)


def translated_tokens(source: SourceTokens, run: Run, translation: AlignedTranslation) -> list[TargetToken]:
    """Return the tokens of a translated run; the first has the white space before the run."""
    words = _WordReader(source, run, translation).words()
    spans = {**_wide_gaps(source, run, words), **_line_breaks(source, run, words), 0: source.gap(run.first)}
    tokens: list[TargetToken] = []
    for number, (first, *others) in enumerate(words):
        span = spans.get(number)
        tokens += [replace(first, gap=" ") if span is None else _with_gap(source, first, span), *others]
    return tokens


class _WordReader:
    """Divides the words of a translation into tokens."""

    def __init__(self, source: SourceTokens, run: Run, translation: AlignedTranslation) -> None:
        self._source, self._run = source, run
        self._words = translation.text.split()
        self._links = self._linked_words(translation.links)
        self._stand_ins = stand_in_pattern(list(run.stand_ins.values()))
        self._index_of = {name: index for index, name in run.stand_ins.items()}

    def _linked_words(self, links: Sequence[Span]) -> list[list[int]]:
        """Return the source words of each target word; a word that occurs once on both sides is linked to itself.

        Without any links, each word is linked to the one at the same part of the source.
        """
        num_sources, num_targets = len(self._run.words), len(self._words)
        sources_of: list[list[int]] = [[] for _ in self._words]
        for one, other in links:
            if 0 <= one < num_sources and 0 <= other < num_targets:
                sources_of[other].append(one)
        if not any(sources_of):
            sources_of = [[number * num_sources // num_targets] for number in range(num_targets)]
        text = self._source.text
        tokens = self._source.tokens
        source_words = [text[tokens[word[0]].start : tokens[word[-1]].end] for word in self._run.words]
        sources, targets = ([split_punctuation(word)[1] for word in words] for words in (source_words, self._words))
        source_counts, target_counts = Counter(sources), Counter(targets)
        for number, word in enumerate(targets):
            if source_counts[word] == target_counts[word] == 1 and any(map(str.isalnum, word)):
                sources_of[number] = [sources.index(word)]
        return sources_of

    def words(self) -> list[list[TargetToken]]:
        """Return the tokens of each word."""
        return [self._tokens(number, word) for number, word in enumerate(self._words)]

    def _tokens(self, number: int, word: str) -> list[TargetToken]:
        pieces = self._stand_ins.split(word)  # every second one is a stand-in
        words = self._run.words
        linked = [words[place] for place in self._links[number]]
        if len(pieces) > 1:
            linked = [tokens for tokens in words if self._index_of[pieces[1]] in tokens]
        for tokens in linked:
            if (same := self._mirrored(tokens, word)) is not None:
                return same
        if len(pieces) > 1:
            return self._around_stand_ins(pieces)
        return self._linked(number, word, linked)

    def _mirrored(self, tokens: Sequence[int], word: str) -> list[TargetToken] | None:
        """Return the parts of a target word that is equal to a source word, except for capitals; None if it is not."""
        texts = [self._run.stand_ins.get(index) or self._source.string(index) for index in tokens]
        text = "".join(texts)
        if len(word) != len(text) or word.casefold() != text.casefold():
            return None
        parts: list[TargetToken] = []
        place = 0
        for index, own in zip(tokens, texts, strict=True):
            part, place = word[place : place + len(own)], place + len(own)
            token = _copy(self._source, index)
            if part != own and index in self._run.stand_ins:
                return None
            parts.append(token if part == own else replace(token, text=part, copied=None))
        return parts

    def _around_stand_ins(self, pieces: Sequence[str]) -> list[TargetToken]:
        """Return the protected tokens in place of stand-ins, and the signs or endings before and after each."""
        tokens: list[TargetToken] = []
        index = self._index_of[pieces[1]]
        for number, piece in enumerate(pieces):
            if number % 2:
                index = self._index_of[piece]
                tokens.append(_copy(self._source, index))
            else:
                tokens += [self._beside(part, index) for part in split_punctuation(piece) if part]
        return tokens

    def _beside(self, text: str, protected: int) -> TargetToken:
        """Return punctuation, or an ending, beside a protected token: linked to the same sign in the source."""
        for word in self._run.words:
            for index in word if protected in word else ():
                if self._source.string(index) == text and index not in self._run.stand_ins:
                    return _copy(self._source, index)
        sources = {protected} if any(map(str.isalnum, text)) else set()
        return TargetToken(text, frozenset(sources), is_core=False)

    def _linked(self, number: int, word: str, linked: Sequence[Sequence[int]]) -> list[TargetToken]:
        """Return the punctuation before a word, the word, and the punctuation after it, with their source tokens."""
        before, core, after = split_punctuation(word)
        words = self._run.words
        tokens = [index for word in linked for index in word]
        cores = [index for index in tokens if self._source.tokens[index].is_core]
        parts = [TargetToken(core, frozenset(cores or tokens))]
        if before:
            signs = self._signs(words[:1], 0) if number == 0 else []
            parts.insert(0, TargetToken(before, frozenset(signs or self._signs(linked, 0)), is_core=False))
        if after:
            signs = self._signs(words[-1:], -1) if number == len(self._words) - 1 else []
            parts.append(TargetToken(after, frozenset(signs or self._signs(linked, -1)), is_core=False))
        return parts

    def _signs(self, words: Sequence[Sequence[int]], place: int) -> list[int]:
        """Return the punctuation at the start (0) or at the end (-1) of source words."""
        edges = (word[place] for word in words if len(word) > 1)
        return [index for index in edges if not self._source.tokens[index].is_core]


def _wide_gaps(source: SourceTokens, run: Run, words: Sequence[Sequence[TargetToken]]) -> dict[int, Span]:
    """Return the words before which white space stays that is not one space, such as a no-break space.

    It stays between words that still follow each other.
    """
    wide = {index for index in range(run.first + 1, run.last) if _is_wide(source.text[slice(*source.gap(index))])}
    spans: dict[int, Span] = {}
    for number, word in enumerate(words):
        before = words[number - 1][-1].sources if number else frozenset()
        matches = [index for index in word[0].sources if index in wide and index - 1 in before]
        if matches:
            wide.remove(min(matches))
            spans[number] = source.gap(min(matches))
    return spans


def _is_wide(gap: str) -> bool:
    return gap not in ("", " ") and not _is_line_break(gap)


def _is_line_break(gap: str) -> bool:
    return "\n" in gap or "\r" in gap


def _line_breaks(source: SourceTokens, run: Run, words: Sequence[Sequence[TargetToken]]) -> dict[int, Span]:
    """Return the words before which a line ends: after about the same part of the characters as in the source."""
    lengths = [token.end - token.start for token in source.tokens[run.first : run.last]]
    breaks = [
        (sum(lengths[: index - run.first]) / sum(lengths), source.gap(index))
        for index in range(run.first + 1, run.last)
        if _is_line_break(source.text[slice(*source.gap(index))])
    ]
    lengths = [sum(len(token.text) for token in word) for word in words]
    starts = [length / (sum(lengths) or 1) for length in accumulate(lengths, initial=0)]
    spans: dict[int, Span] = {}
    first = 1
    for number, (part, span) in enumerate(breaks):
        last = len(words) - (len(breaks) - number - 1)  # leave a place for each later break
        if first < last:
            chosen = min(range(first, last), key=lambda place: abs(starts[place] - part))
            spans[chosen] = span
            first = chosen + 1
    return spans
