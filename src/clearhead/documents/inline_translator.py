"""Translate texts with markup: sentence by sentence, in batches, each sentence without its tags."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from clearhead.documents.inline import InlineText, Piece
from clearhead.documents.placing import TargetText, place_markups
from clearhead.documents.sentence_runs import Run, runs_of
from clearhead.documents.source_tokens import SourceTokens, tokenise
from clearhead.documents.target_tokens import TargetToken, copied_tokens, translated_tokens
from clearhead.errors import DataError
from clearhead.text.aligned import AlignedTranslation, TranslateSentences
from clearhead.text.sentences import DEFAULT_LANGUAGE

_BATCH = 64  # sentences, so that progress is reported
_OPENINGS = {"¿": "?", "¡": "!"}
_ENDS = tuple(".?!…।॥。？！")
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages whose nouns have a capital anywhere in a sentence


@dataclass
class _Job:
    """A sentence and its runs."""

    source: SourceTokens
    sentence: tuple[int, int]
    runs: list[Run] = field(default_factory=list)


class InlineTranslator:
    """Translates texts with a function for sentences; equal sentences are translated once.

    `progress` gets the number of sentences that are translated and the number of all of them.
    """

    def __init__(
        self,
        translate: TranslateSentences,
        progress: Callable[[int, int], None] = lambda num_done, total: None,
        language: str = DEFAULT_LANGUAGE,
        target_language: str | None = None,
    ) -> None:
        self._translate, self._progress = translate, progress
        self._language, self._target_language = language, target_language
        self._translations: dict[str, AlignedTranslation] = {}
        self._total = 0
        self.notes: list[str] = []  # about the document, from the reader of its format

    def translate(self, texts: Sequence[InlineText]) -> list[list[Piece]]:
        """Return the translation of each text."""
        sources = [tokenise(text, self._language) for text in texts]
        jobs = [[_Job(source, sentence) for sentence in source.sentences] for source in sources]
        pending = [job for group in jobs for job in group]
        for is_divided in (False, True):
            for job in pending:
                job.runs = runs_of(job.source, job.sentence, is_divided=is_divided)
            self._request(run.text for job in pending for run in job.runs if run.text is not None)
            pending = [job for job in pending if not all(map(self._is_complete, job.runs))]
        return [
            place_markups(text, source, self._target(source, group))
            for text, source, group in zip(texts, sources, jobs, strict=True)
        ]

    def _is_complete(self, run: Run) -> bool:
        if run.text is None:
            return True
        translation = self._translations[run.text].text
        return run.has_stand_ins(translation) and run.has_signs(translation)

    def _request(self, texts: Iterable[str]) -> None:
        """Translate the sentences that were not translated before."""
        new = [text for text in dict.fromkeys(texts) if text not in self._translations]
        self._total += len(new)
        for start in range(0, len(new), _BATCH):
            self._progress(len(self._translations), self._total)
            batch = new[start : start + _BATCH]
            translations = self._translate(batch)
            if len(translations) != len(batch):
                raise DataError(f"{len(batch)} sentences gave {len(translations)} translations.")
            self._translations.update(zip(batch, translations, strict=True))
        if new:
            self._progress(len(self._translations), self._total)

    def _target(self, source: SourceTokens, jobs: Sequence[_Job]) -> TargetText:
        tokens: list[TargetToken] = []
        sentences = []
        for job in jobs:
            first = len(tokens)
            for run in job.runs:
                if run.text is None:
                    own = copied_tokens(source, run)
                else:
                    translation = as_part(run, self._translations[run.text], self._target_language)
                    own = translated_tokens(source, run, translation)
                tokens += _separated(source, run, tokens, own)
            sentences.append((first, len(tokens)))
        return TargetText(tokens, sentences, source.gap(len(source.tokens)))


def unmoved_pieces(text: InlineText) -> list[Piece]:
    """Return a text as if its translation were itself."""
    source = tokenise(text, DEFAULT_LANGUAGE)
    tokens = copied_tokens(source, Run(0, len(source.tokens)))
    return place_markups(text, source, TargetText(tokens, source.sentences, source.gap(len(source.tokens))))


def _separated(
    source: SourceTokens, run: Run, before: Sequence[TargetToken], tokens: list[TargetToken]
) -> list[TargetToken]:
    """Put a space between two words that only a lost sign separated in the source, as in `(see {name})`."""
    if not before or not tokens or tokens[0].gap or not _are_joined(before[-1].text, tokens[0].text):
        return tokens
    place = source.tokens[run.first].start
    if _are_joined(source.text[place - 1], source.text[place]):
        return tokens
    return [replace(tokens[0], gap=" ", copied_gap=None), *tokens[1:]]


def _are_joined(text: str, following: str) -> bool:
    return text[-1:].isalnum() and following[:1].isalnum()


def as_part(run: Run, translation: AlignedTranslation, target_language: str | None = None) -> AlignedTranslation:
    """Return a translation without signs at its edges that its source lacks, if the source has a protected part.

    Models translate a part of a sentence as a whole one. A fragment that starts with a small letter starts with
    one in the translation too. The words and their links stay.
    """
    if run.text is None or not (run.is_fragment or run.stand_ins):
        return translation
    words = translation.text.split()
    if not words:
        return translation
    words[0] = _without_opening(run.text, words[0])
    if not run.text.endswith(_ENDS):
        words[-1] = _without_end(words[-1])
    if run.is_fragment and run.text[:1].islower() and target_language not in _CAPITAL_NOUNS and words[0].istitle():
        words[0] = words[0][0].lower() + words[0][1:]
    return AlignedTranslation(" ".join(words), translation.links)


def _without_opening(source: str, word: str) -> str:
    while len(word) > 1 and word[0] in _OPENINGS and _OPENINGS[word[0]] not in source and word[0] not in source:
        word = word[1:]
    return word


def _without_end(word: str) -> str:
    while len(word) > 1 and word.endswith(_ENDS):
        word = word[:-1]
    return word
