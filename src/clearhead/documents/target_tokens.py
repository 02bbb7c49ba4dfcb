"""Turn the translation of a run of tokens into target tokens, each linked to the source tokens it translates."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True)
class Run:
    """Tokens of one sentence that are translated together as `text`, or copied if there is no text.

    `words` has the tokens of each word of the text. `stand_ins` are the words that replace protected tokens; one can
    replace several, up to the token in `group_ends`, as in `<kbd>Ctrl</kbd>+<kbd>C</kbd>`. `signs` are sent as they
    are, but must be in the translation. A fragment is a part of a sentence beside a protected part.
    """

    first: int
    last: int
    text: str | None = None
    words: tuple[tuple[int, ...], ...] = ()
    stand_ins: dict[int, str] = field(default_factory=dict)
    group_ends: dict[int, int] = field(default_factory=dict)
    signs: tuple[str, ...] = ()
    is_fragment: bool = False

    def has_signs(self, translation: str) -> bool:
        """Return whether every sign is in a translation, as often as in the text, and not alone."""
        if self.signs and not any(map(str.isalnum, translation)):
            return False
        return all(translation.count(sign) >= number for sign, number in _counts(self.signs).items())

    def has_stand_ins(self, translation: str) -> bool:
        """Return whether every stand-in occurs once in a translation, as a word of its own or with an ending."""
        return all(len(_stand_in(word).findall(translation)) == 1 for word in self.stand_ins.values())


def _stand_in(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])")


def copied_tokens(source: SourceTokens, run: Run) -> list[TargetToken]:
    """Return the tokens of a run unchanged."""
    tokens = []
    for index in range(run.first, run.last):
        gap = source.gap(index)
        tokens.append(replace(_copy(source, index), gap=source.text[slice(*gap)], copied_gap=gap))
    return tokens


def translated_tokens(source: SourceTokens, run: Run, translation: AlignedTranslation) -> list[TargetToken]:
    """Return the tokens of a translated run; the first has the white space before the run."""
    words = translation.text.split()
    links = _links(source, run, words, translation.links)
    tokens: list[TargetToken] = []
    for number, word in enumerate(words):
        parts = _parts(source, run, word, links[number], is_first=number == 0, is_last=number == len(words) - 1)
        tokens += [replace(part, gap=" " if number and not place else "") for place, part in enumerate(parts)]
    tokens = _with_line_breaks(source, run, _with_wide_gaps(source, run, tokens))
    if tokens:
        gap = source.gap(run.first)
        tokens[0] = replace(tokens[0], gap=source.text[slice(*gap)], copied_gap=gap)
    return tokens


def _links(source: SourceTokens, run: Run, words: Sequence[str], links: Sequence[Span]) -> list[list[int]]:
    """Return the source words of each target word; a word that occurs once on both sides is linked to itself.

    Without any links, each word is linked to the one at the same part of the source.
    """
    sources_of: list[list[int]] = [[] for _ in words]
    for one, other in links:
        if 0 <= one < len(run.words) and 0 <= other < len(words):
            sources_of[other].append(one)
    if not any(sources_of):
        sources_of = [[number * len(run.words) // len(words)] for number in range(len(words))]
    source_words = [split_punctuation(_text(source, tokens))[1] for tokens in run.words]
    target_words = [split_punctuation(word)[1] for word in words]
    places, counts = {word: place for place, word in enumerate(source_words)}, _counts(source_words)
    target_counts = _counts(target_words)
    for number, word in enumerate(target_words):
        if counts.get(word) == target_counts[word] == 1 and any(map(str.isalnum, word)):
            sources_of[number] = [places[word]]
    return sources_of


def _counts(words: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def _text(source: SourceTokens, tokens: Sequence[int]) -> str:
    return source.text[source.tokens[tokens[0]].start : source.tokens[tokens[-1]].end]


def _parts(
    source: SourceTokens, run: Run, word: str, links: Sequence[int], *, is_first: bool, is_last: bool
) -> list[TargetToken]:
    """Return the tokens of one target word."""
    stand_in = next(((index, match) for index, match in _matches(run, word)), None)
    candidates = list(links)
    if stand_in is not None:
        candidates = [place for place, tokens in enumerate(run.words) if stand_in[0] in tokens]
    for place in candidates:
        if (same := _mirrored(source, run, run.words[place], word)) is not None:
            return same
    if stand_in is None:
        return _linked(source, run, word, links, is_first=is_first, is_last=is_last)
    index, match = stand_in
    before = [_beside(source, part, index, run) for part in _split(word[: match.start()])]
    after = word[match.end() :]
    # another stand-in can be in the same word: {a}/{b}
    rest = _parts(source, run, after, [], is_first=False, is_last=is_last) if after else []
    rest = [_unless_copied(part, _beside(source, part.text, index, run)) for part in rest]
    return [*before, *_copies(source, run, index), *rest]


def _matches(run: Run, word: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the stand-ins in a target word, the first one first."""
    matches = [(index, _stand_in(name).search(word)) for index, name in run.stand_ins.items() if name in word]
    yield from sorted(
        [(index, match) for index, match in matches if match is not None], key=lambda entry: entry[1].start()
    )


def _copies(source: SourceTokens, run: Run, index: int) -> list[TargetToken]:
    """Return the protected token, or all tokens, that a stand-in replaces."""
    return [_copy(source, number) for number in range(index, run.group_ends.get(index, index + 1))]


def _copy(source: SourceTokens, index: int) -> TargetToken:
    token = source.tokens[index]
    return TargetToken(source.string(index), frozenset({index}), copied=(token.start, token.end), is_core=token.is_core)


def _unless_copied(part: TargetToken, beside: TargetToken) -> TargetToken:
    """Return a part of a word with a stand-in: as it is if it is protected too, else linked to a sign beside."""
    return part if part.copied is not None or (part.sources and beside.copied is None) else beside


def _split(word: str) -> list[str]:
    return [part for part in split_punctuation(word) if part] if word else []


def _beside(source: SourceTokens, text: str, protected: int, run: Run) -> TargetToken:
    """Return punctuation, or an ending of a word, beside a protected token: linked to the same sign in the source."""
    neighbours = [index for word in run.words if protected in word for index in word if index != protected]
    same = [index for index in neighbours if source.string(index) == text and index not in run.stand_ins]
    if same:
        return _copy(source, same[0])
    return TargetToken(text, frozenset({protected}) if any(map(str.isalnum, text)) else frozenset(), is_core=False)


def _mirrored(source: SourceTokens, run: Run, tokens: Sequence[int], word: str) -> list[TargetToken] | None:
    """Return the parts of a target word that is equal to a source word, except for capitals; None if it is not."""
    texts = [run.stand_ins.get(index) or source.string(index) for index in tokens]
    text = "".join(texts)
    if len(word) != len(text) or word.casefold() != text.casefold():
        return None
    parts: list[TargetToken] = []
    place = 0
    for index, own in zip(tokens, texts, strict=True):
        part, place = word[place : place + len(own)], place + len(own)
        if part == own:
            parts += _copies(source, run, index)
        elif index in run.stand_ins:
            return None
        else:
            parts.append(TargetToken(part, frozenset({index}), is_core=source.tokens[index].is_core))
    return parts


def _linked(
    source: SourceTokens, run: Run, word: str, links: Sequence[int], *, is_first: bool, is_last: bool
) -> list[TargetToken]:
    """Return the punctuation before a word, the word, and the punctuation after it, with their source tokens."""
    before, core, after = split_punctuation(word)
    linked = [run.words[link] for link in links]
    cores = [index for tokens in linked for index in tokens if source.tokens[index].is_core]
    parts = [TargetToken(core, frozenset(cores or [index for tokens in linked for index in tokens]))]
    if before:
        signs = (_signs(source, run.words[:1], 0) if is_first else []) or _signs(source, linked, 0)
        parts.insert(0, TargetToken(before, frozenset(signs), is_core=False))
    if after:
        signs = (_signs(source, run.words[-1:], -1) if is_last else []) or _signs(source, linked, -1)
        parts.append(TargetToken(after, frozenset(signs), is_core=False))
    return parts


def _signs(source: SourceTokens, words: Sequence[Sequence[int]], place: int) -> list[int]:
    """Return the punctuation at the start (0) or at the end (-1) of source words."""
    return [tokens[place] for tokens in words if len(tokens) > 1 and not source.tokens[tokens[place]].is_core]


def _with_wide_gaps(source: SourceTokens, run: Run, tokens: list[TargetToken]) -> list[TargetToken]:
    """Keep white space other than one space, such as a no-break space, between words that still follow each other."""
    wide = {
        index: source.gap(index)
        for index in range(run.first + 1, run.last)
        if (gap := source.text[slice(*source.gap(index))]) and gap != " " and "\n" not in gap and "\r" not in gap
    }
    if not wide:
        return tokens
    tokens = list(tokens)
    for number in range(1, len(tokens)):
        before, token = tokens[number - 1], tokens[number]
        matches = [index for index in token.sources if index in wide and index - 1 in before.sources]
        if token.gap and matches:
            span = wide.pop(min(matches))
            tokens[number] = replace(token, gap=source.text[slice(*span)], copied_gap=span)
    return tokens


def _with_line_breaks(source: SourceTokens, run: Run, tokens: list[TargetToken]) -> list[TargetToken]:
    """Break the lines of a translation again, after about the same part of its characters as in the source."""
    breaks: list[tuple[float, Span]] = []
    length = 0
    total = sum(source.tokens[index].end - source.tokens[index].start for index in range(run.first, run.last))
    for index in range(run.first, run.last):
        span = source.gap(index)
        if index > run.first and ("\n" in (gap := source.text[slice(*span)]) or "\r" in gap):
            breaks.append((length / total, span))
        length += source.tokens[index].end - source.tokens[index].start
    if not breaks:
        return tokens
    tokens, places = list(tokens), _fractions(source, tokens)
    first = 0
    for number, (fraction, span) in enumerate(breaks):
        last = len(places) - (len(breaks) - number - 1)  # leave a place for each later break
        if first >= last:
            continue
        chosen = min(range(first, last), key=lambda place: abs(places[place][1] - fraction))
        token = places[chosen][0]
        tokens[token] = replace(tokens[token], gap=source.text[slice(*span)], copied_gap=span)
        first = chosen + 1
    return tokens


def _fractions(source: SourceTokens, tokens: Sequence[TargetToken]) -> list[tuple[int, float]]:
    """Return every token that starts a word but the first, with the part of the characters before it."""
    total = sum(len(token.text) for token in tokens) or 1
    places, length = [], 0
    for number, token in enumerate(tokens):
        if number and token.gap:
            places.append((number, length / total))
        length += len(token.text)
    return places
