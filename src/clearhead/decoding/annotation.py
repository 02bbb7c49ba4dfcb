"""Add word alignments to finished translations.

torch is only imported if the engine is not NumPy's, which computes alignments itself.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from clearhead.decoding.alignment import (
    AlignmentRule,
    CrossAttention,
    Head,
    align,
    cross_attention_heads,
    links_by_rule,
    without_eos,
)
from clearhead.decoding.engines.numpy_engine import NumpyEngine
from clearhead.decoding.pipeline import Segment
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links, WordAlignment, word_links, words_of
from clearhead.errors import ConfigError

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
        config = translator.attention_config
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
        engine = self.translator.engine
        rule = self.rule or AlignmentRule.usual(self.translator.attention_config)  # raises an error without attention
        if isinstance(engine, NumpyEngine):
            eos = engine.info.eos
            target = without_eos(tokens, eos)
            if not target or not part.ids:
                return ()
            attention = CrossAttention(engine.cross_attention([*part.ids, eos], target))
            return links_by_rule(attention, rule, has_eos=True)
        import torch

        model = self.translator.model
        with torch.inference_mode():
            return align(model, source_ids(model, part), tokens, rule)


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
    return Segment(part.ids, part.constraints).request(search, translator.engine.info).limit
