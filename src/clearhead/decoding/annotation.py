"""Add word alignments to finished translations, and translate sentences with them, for documents.

torch is only imported if the engine is not NumPy's, which computes alignments itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.decoding.alignment import (
    AlignmentRule,
    Head,
    cross_attention_heads,
    links_by_rule,
    without_eos,
)
from clearhead.decoding.engines.engine import EngineNeeds, length_limit
from clearhead.decoding.head_choice import read_choice
from clearhead.decoding.pipeline import SourceLine, TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links, WordAlignment, word_links, words_of
from clearhead.errors import ConfigError
from clearhead.formats.model_folder import ModelFolder
from clearhead.text.aligned import AlignedTranslation

if TYPE_CHECKING:
    import torch

    from clearhead.model import ModelConfig, SequenceModel


def read_head(text: str) -> Head:
    """Read `1` (a decoder layer: the mean over its heads) or `1.3` (a layer and a head), counted from 0."""
    parts = text.split(".")
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ConfigError(
            f"'{text}' is not a head. Write LAYER.HEAD, or LAYER for the mean of its heads, counted from 0: "
            "1.3 is layer 2, head 4."
        )
    return Head(int(parts[0]), int(parts[1]) if len(parts) == 2 else None)


class Annotator:
    """Adds alignments to translations, using the model that translated them."""

    def __init__(self, translator: Translator, search: SearchSettings, rule: AlignmentRule | None = None) -> None:
        self.translator, self.search = translator, search
        self.vocabularies = translator.vocabularies
        config = translator.attending_engine.config
        if rule is not None:
            rule = AlignmentRule(existing_head(config, rule.head), rule.is_shifted)
        elif any(cross_attention_heads(config)):
            rule = AlignmentRule.usual(config)
        self.rule = rule

    def aligned(self, translation: Translation) -> Translation:
        """Return the translation with its word alignment."""
        return replace(translation, parts=tuple(self.aligned_part(part) for part in translation.parts))

    def aligned_part(self, part: TranslatedPart) -> TranslatedPart:
        """Return a part of a translation with its word alignment."""
        if not part.hypotheses:
            return part
        tokens = part.hypotheses[0].tokens
        links = self._links(part, tokens)
        source = words_of(self.vocabularies.source, part.ids, part.source)
        target = words_of(self.vocabularies.target, tokens)
        return replace(part, alignment=WordAlignment(source.words, target.words, word_links(links, source, target)))

    def _links(self, part: TranslatedPart, tokens: tuple[int, ...]) -> Links:
        engine = self.translator.attending_engine
        rule = self.rule or AlignmentRule.usual(engine.config)  # raises an error without attention
        target = without_eos(tokens, engine.config.eos)
        if not target or not part.ids:
            return ()
        attention = engine.cross_attention([*part.ids, engine.config.eos], target)
        return links_by_rule(attention, rule, has_eos=True)


def existing_head(config: "ModelConfig", head: Head | None) -> Head:
    """Return `head`, or the usual one if it is None; raise ConfigError if the model does not have it."""
    if head is None:
        return Head.usual(config)
    counts = cross_attention_heads(config)
    if head.block >= len(counts) or (head.head or 0) >= counts[head.block]:
        raise ConfigError(
            f"there is no head {head.value} ({head}): {_described(counts, is_pruned=bool(config.heads_kept))}"
        )
    return head


def _described(counts: list[int], *, is_pruned: bool) -> str:
    """Return which cross-attention heads there are, as a sentence."""
    if not any(counts):
        return "this model has no attention to the source."
    if len(set(counts)) == 1:
        return (
            f"the decoder has {len(counts)} layer{'s' if len(counts) > 1 else ''} with {counts[0]} "
            f"head{'s' if counts[0] > 1 else ''} each. Counted from 0, the heads are 0.0 to "
            f"{Head(len(counts) - 1, counts[0] - 1).value}."
        )
    if not is_pruned:
        last = Head(len(counts) - 1, 0)
        return f"only the last layer attends to the source, with one head. Counted from 0, it is {last.value}."
    listed = ", ".join(f"{layer}.0-{count - 1}" for layer, count in enumerate(counts) if count)
    return f"heads were removed from this model. Counted from 0, its heads are {listed}."


def source_ids(model: "SequenceModel", part: TranslatedPart) -> "torch.Tensor":
    """Return the ids of a part as the model reads them (S,), including eos."""
    import torch

    return torch.tensor([*part.ids, model.config.eos], device=model.device)


def target_limit(translator: Translator, part: TranslatedPart, search: SearchSettings) -> int:
    """Return the maximum number of tokens in the translation of a part."""
    return length_limit(len(part.ids) + 1, search, translator.engine.config, part.constraints)


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
        has_attention = any(cross_attention_heads(translator.attending_engine.config))
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
