"""Translate sentences with links between their words, as documents need it to keep their form.

torch is only imported if the engine is not NumPy's, which computes alignments itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clearhead.decoding.alignment import cross_attention_heads
from clearhead.decoding.annotation import Annotator
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.head_choice import read_choice
from clearhead.decoding.pipeline import SourceLine, TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links, WordAlignment
from clearhead.formats.model_folder import ModelFolder
from clearhead.text.aligned import AlignedTranslation


class SentenceAligner:
    """Translates sentences with a translator and reads the links between words from its attention.

    `model` is what the translator was loaded from: the head chosen for it is used, if there is one. A model without
    attention to the source gives no links. `num_sentences` counts the sentences so far.
    """

    def __init__(
        self,
        translator: Translator,
        model: str | Path | ModelFolder | None = None,
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
    ) -> None:
        search = search.model_copy(update={"n_best": 1})
        translator.prepare(EngineNeeds(search, (*options.constraints.uses, "alignment")))
        self.pipeline = translator.pipeline(search, replace(options, has_scores=False))
        choice = None if model is None else read_choice(model)
        has_attention = any(cross_attention_heads(translator.attention_config))
        rule = None if choice is None else choice.rule
        self._annotator = Annotator(translator, search, rule) if has_attention else None
        self.num_sentences = 0

    def __call__(self, sentences: Sequence[str]) -> list[AlignedTranslation]:
        """Translate sentences; the links are between words separated by white space."""
        first = self.num_sentences + 1
        lines = [SourceLine(number, text) for number, text in enumerate(sentences, first)]
        self.num_sentences += len(lines)
        return [self._aligned(translation) for translation in self.pipeline.translate(lines)]

    def _aligned(self, translation: Translation) -> AlignedTranslation:
        if self._annotator is None:
            return AlignedTranslation(translation.text)
        alignment = self._annotator.aligned(translation).alignment
        links = () if alignment is None else word_links_of(alignment, translation.source, translation.text)
        return AlignedTranslation(translation.text, links)


def word_links_of(alignment: WordAlignment, source: str, target: str) -> Links:
    """Return the links of an alignment between the words of two texts that white space separates.

    A tokeniser can count words in another way, for example after a no-break space; then their characters decide.
    """
    sources, targets = _places(alignment.source, source.split()), _places(alignment.target, target.split())
    links = {(sources[one], targets[other]) for one, other in alignment.links if sources and targets}
    return tuple(sorted(links))


def _places(words: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return for each word the index of the other word at the same part of the characters."""
    if len(words) == len(others) or not others:
        return list(range(len(others)))
    ends: list[float] = []
    total = max(1, sum(map(len, others)))
    for word in others:
        ends.append((ends[-1] if ends else 0) + len(word) / total)
    places, length = [], 0
    own_total = max(1, sum(map(len, words)))
    for word in words:
        middle = (length + len(word) / 2) / own_total
        places.append(next((place for place, end in enumerate(ends) if middle <= end), len(others) - 1))
        length += len(word)
    return places
