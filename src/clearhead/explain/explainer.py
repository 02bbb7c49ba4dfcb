"""Translations with the search that found them: each sentence is searched again, and every step is written down."""

from dataclasses import replace
from typing import Any, Literal

import torch

from clearhead.decoding.alignment import Head
from clearhead.decoding.annotation import existing_head, source_ids, target_limit
from clearhead.decoding.line_result import LineResult, PartResult
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.explain.search import Explanation, explain
from clearhead.text.tokeniser import Vocabularies


class SearchExplainer:
    """Explains translations by the model that made them."""

    def __init__(self, translator: Translator, settings: SearchSettings, head: Head | None = None) -> None:
        self.translator, self.settings = translator, settings
        self.model, self.vocabularies = translator.model, translator.vocabularies
        self.head = existing_head(self.model, head)

    def explained(self, result: LineResult, *, all_heads: bool = False) -> LineResult:
        """Return a line whose translation is that of a search that was written down step by step."""
        if self.settings.is_sampling:
            raise ConfigError(
                "an explanation shows a search, and a temperature draws at random. Leave one of them out.",
                options=("explain", "temperature"),
            )
        return replace(result, parts=tuple(self._explained(part, all_heads) for part in result.parts))

    def _explained(self, part: PartResult, all_heads: bool) -> PartResult:
        if not part.hypotheses:
            return part
        head: Head | Literal["all"] = "all" if all_heads else self.head
        with torch.inference_mode():
            made = explain(
                self.model,
                source_ids(self.translator, part),
                target_limit(self.translator, part, self.settings),
                self.settings,
                part.constraints,
                head,
            )
        texts = tuple(self.vocabularies.target.decode([each.tokens for each in made.best]))
        return replace(part, texts=texts, hypotheses=made.best, explanation=to_data(made, self.vocabularies))


def to_data(explanation: Explanation, vocabularies: Vocabularies) -> dict[str, Any]:
    """Return an explanation for JSON, with the piece of every id in it."""
    data = explanation.to_dict()
    used = {option.token for step in explanation.steps for option in step.options}
    used |= {loss.token for step in explanation.steps for loss in step.lost}
    used |= {token for each in explanation.ended for token in each.hypothesis.tokens}
    used |= {token for each in explanation.best for token in each.tokens}
    ids = sorted(used)
    pieces = dict(zip(map(str, ids), vocabularies.target.pieces(ids), strict=True))
    return {"source_pieces": vocabularies.source.pieces(explanation.source), "pieces": pieces, **data}
