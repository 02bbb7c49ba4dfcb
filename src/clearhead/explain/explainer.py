"""Explain translations: search each sentence again, and record every step of the search."""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import torch

from clearhead.decoding.alignment import Head
from clearhead.decoding.annotation import existing_head, source_ids, target_limit
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.explain.explanation_text import search_text
from clearhead.explain.search import RecordedSearch, explain_search
from clearhead.files.destination import Output, check_outputs
from clearhead.files.writing import write_file
from clearhead.text.tokeniser import Vocabularies

_MAX_LINES = 100  # in a file: each step of a search has about a hundred numbers


class SearchExplainer:
    """Explains translations, using the model that translated them; shows each search as text below its translation."""

    def __init__(
        self, translator: Translator, search: SearchSettings, head: Head | None = None, all_heads: bool = False
    ) -> None:
        if search.is_sampling:
            raise ConfigError(
                "an explanation shows a search, but a temperature samples at random. Remove one of them.",
                options=("explain", "temperature"),
            )
        self.translator, self.search = translator, search
        self.model, self.vocabularies = translator.model, translator.vocabularies
        if all_heads and not self.model.has_cross_attention:
            raise ConfigError(
                "this model has no attention to the source, so that there are no heads to show. Leave them out.",
                options=("all_heads",),
            )
        # the search of a model without attention can be shown too, but no head of it
        is_bare = head is None and not self.model.has_cross_attention
        self.head: Head | Literal["all", "none"] = "none" if is_bare else existing_head(self.model.config, head)
        if all_heads:
            self.head = "all"

    def explain(self, translation: Translation) -> Translation:
        """Search for the translation again, and return it with every step of the search."""
        return replace(translation, parts=tuple(map(self._explained, translation.parts)))

    def _explained(self, part: TranslatedPart) -> TranslatedPart:
        if not part.hypotheses:
            return part
        source, limit = source_ids(self.model, part), target_limit(self.translator, part, self.search)
        with torch.inference_mode():
            explanation = explain_search(self.model, source, limit, self.search, part.constraints, self.head)
        texts = tuple(self.vocabularies.target.decode([hypothesis.tokens for hypothesis in explanation.best]))
        data = to_data(explanation, self.vocabularies)
        return replace(part, texts=texts, hypotheses=explanation.best, explanation=data)

    def text_lines(self, translation: Translation) -> list[str]:
        """Return the lines to show below the translation."""
        explanations = [part.explanation for part in translation.parts if part.explanation is not None]
        return [line for explanation in explanations for line in search_text(explanation).split("\n")[:-1]]

    def finish(self) -> None:
        """Do nothing: everything has been shown."""


class ExplanationFile(SearchExplainer):
    """Collects the explanations of all lines, and writes them to one JSON file at the end."""

    def __init__(
        self,
        path: Path,
        translator: Translator,
        search: SearchSettings,
        head: Head | None = None,
        all_heads: bool = False,
    ) -> None:
        super().__init__(translator, search, head, all_heads)
        check_outputs([Output(path, "explain")], translator.files)
        self.path = path
        self._lines: list[dict[str, Any]] = []

    def explain(self, translation: Translation) -> Translation:
        """Return the translation with its explanation, which is also stored for the file."""
        explained = super().explain(translation)
        if len(self._lines) == _MAX_LINES:
            raise DataError(
                f"a file can explain at most {_MAX_LINES} lines. Select the lines that you want to look at.",
                options=("explain",),
            )
        parts = [part.explanation for part in explained.parts if part.explanation is not None]
        line = {"line": explained.number, "source": explained.source, "translation": explained.text}
        self._lines.append({**line, "parts": parts})
        return explained

    def text_lines(self, translation: Translation) -> list[str]:
        """Return no lines: explanations go to the file."""
        return []

    def finish(self) -> None:
        """Write the file."""
        data = {"clearhead_explanation": 1, "settings": self.search.model_dump(), "lines": self._lines}
        write_file(self.path, json.dumps(data, ensure_ascii=False).encode() + b"\n")


def to_data(explanation: RecordedSearch, vocabularies: Vocabularies) -> dict[str, Any]:
    """Return an explanation as data for JSON, with the text of every token id in it."""
    ids = sorted(set(_token_ids(explanation)))
    pieces = dict(zip(map(str, ids), vocabularies.target.pieces(ids), strict=True))
    source_pieces = vocabularies.source.pieces(explanation.source)
    return {"source_pieces": source_pieces, "pieces": pieces, **asdict(explanation)}


def _token_ids(explanation: RecordedSearch) -> Iterable[int]:
    for step in explanation.steps:
        yield from (option.token for option in step.options)
        yield from (dropped.token for dropped in step.lost)
    for ended in explanation.ended:
        yield from ended.hypothesis.tokens
    for hypothesis in explanation.best:
        yield from hypothesis.tokens
