"""What a client wants translated, and how: the lines of its texts, and the settings that a batch shares."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from clearhead.decoding.engines.engine import Use
from clearhead.decoding.output import OutputColumns, to_record
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.serve.catalogue import Route
from clearhead.text.tokeniser import Tokeniser

_BREAK = re.compile(r"(\r\n|\r|\n)")
_BYTES = 200  # of a sentence: a longer line counts as several. English has about 4 bytes a token, no text less than 1
_MAX_SOURCE = (
    128  # tokens searched in one piece, as by `clearhead translate --max-source 128`: other clients wait for it
)
_BATCH_TOKENS = 8192  # a batch of the server is never large, so it is not divided further by its tokens


@lru_cache(maxsize=256)
def search_settings(beam: int, n_best: int = 1) -> SearchSettings:
    """Return the settings of a search with a beam; the same object for the same numbers."""
    return SearchSettings(beam=beam, n_best=n_best, batch_tokens=_BATCH_TOKENS)


@dataclass(frozen=True)
class TranslationTask:
    """How texts are translated. Tasks with equal groups can share a batch."""

    route: Route
    beam: int = 1
    n_best: int = 1
    constraints: PhraseConstraints | None = None
    is_aligned: bool = False
    has_token_scores: bool = False

    @property
    def search(self) -> SearchSettings:
        """The settings of the search."""
        return search_settings(self.beam, self.n_best)

    @property
    def options(self) -> TranslationOptions:
        """The options of the pipeline."""
        return TranslationOptions(self.constraints or PhraseConstraints(), self.route.language, max_source=_MAX_SOURCE)

    @property
    def uses(self) -> tuple[Use, ...]:
        """What the engine must support besides searching."""
        return (
            *(() if self.constraints is None else self.constraints.uses),
            *(("alignment",) if self.is_aligned else ()),
            *(("token_scores",) if self.has_token_scores else ()),
        )

    @property
    def is_plain(self) -> bool:
        """Whether every engine can do it, so that the fastest one does."""
        return not (self.constraints or self.is_aligned or self.has_token_scores)

    @property
    def group(self) -> Hashable:
        """Equal for tasks that can share a batch; phrases are constraints on all lines of a batch."""
        phrases = None if self.constraints is None else id(self.constraints)
        return (self.route.language, self.beam, self.n_best, self.is_aligned, self.has_token_scores, phrases)


@dataclass(frozen=True)
class TextLines:
    """A text as lines, which are translated separately; `places` are the numbers of the lines that are not empty."""

    text: str
    lines: tuple[str, ...]
    places: tuple[int, ...]
    breaks: tuple[str, ...] = ()  # after each line but the last, such as \r\n

    @staticmethod
    def of(text: str) -> "TextLines":
        """Divide a text into lines."""
        if "\n" not in text and "\r" not in text:
            return TextLines(text, (text,), (0,) if text.strip() else ())
        parts = _BREAK.split(text)
        lines = tuple(parts[::2])
        places = tuple(place for place, line in enumerate(lines) if line.strip())
        return TextLines(text, lines, places, tuple(parts[1::2]))


def num_sentences(line: str) -> int:
    """Return about how many sentences a line has, for the limit of the queue."""
    return 1 + len(line.encode()) // _BYTES


@dataclass(frozen=True)
class TranslatedText:
    """A text and the translations of those of its lines that are not empty."""

    source: TextLines
    translations: tuple[Translation, ...] = field(default=())

    @property
    def text(self) -> str:
        """The best translation, with the line breaks of the source, and the white space around each line."""
        return self.text_of(0)

    @property
    def num_texts(self) -> int:
        """The number of translations."""
        return max((translation.num_texts for translation in self.translations), default=1)

    def text_of(self, rank: int) -> str:
        """Return the translation of a rank; a line that has fewer translations gives its last one."""
        lines = list(self.source.lines)
        for place, translation in zip(self.source.places, self.translations, strict=True):
            line = lines[place]
            start, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
            lines[place] = f"{start}{translation.text_of(rank)}{end}"
        return "".join(map("".join, zip_longest(lines, self.source.breaks, fillvalue="")))

    def record(self, number: int, task: TranslationTask, target: Tokeniser) -> dict[str, Any]:
        """Return it as a line of `clearhead translate` in JSON; the parts of a text of several lines are all its parts.

        Alignments count the words of the whole text.
        """
        parts = tuple(part for translation in self.translations for part in translation.parts)
        notes = dict.fromkeys(note for translation in self.translations for note in translation.notes)
        penalty = task.search.length_penalty
        translation = Translation(number, self.source.text, parts, penalty, tuple(notes))
        tokens = [token for hypothesis in translation.hypotheses_of(0) for token in hypothesis.tokens]
        columns = OutputColumns(n_best=task.n_best > 1, scores=task.has_token_scores, alignment=task.is_aligned)
        record = to_record(translation, columns, target.pieces(tokens) if task.has_token_scores else ())
        if len(self.source.lines) > 1:
            record["translation"] = self.text
            for rank, entry in enumerate(record.get("n_best", ())):
                entry["translation"] = self.text_of(rank)
        return record


def joined(sources: Sequence[TextLines], translations: Sequence[Translation]) -> list[TranslatedText]:
    """Return the texts with their own translations, which are in the order of their lines that are not empty."""
    remaining = iter(translations)
    return [TranslatedText(source, tuple(next(remaining) for _ in source.places)) for source in sources]
