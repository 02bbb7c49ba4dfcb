"""Translations with the search that found them: each sentence is searched again, and every step is recorded."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from clearhead.decoding.alignment import Head
from clearhead.decoding.annotation import existing_head, source_ids, target_limit
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.explain.search import Explanation, explain_search
from clearhead.explain.search_text import render_explanation
from clearhead.files.writing import write_file
from clearhead.text.tokeniser import Vocabularies

_MAX_LINES = 100  # in a file: each search is some hundred numbers a step


class SearchExplainer:
    """Explains translations by the model that made them."""

    def __init__(self, translator: Translator, search: SearchSettings, head: Head | None = None) -> None:
        self.translator, self.search = translator, search
        self.model, self.vocabularies = translator.model, translator.vocabularies
        self.head = existing_head(self.model, head)

    def explained(self, translation: Translation, *, all_heads: bool = False) -> Translation:
        """Return a translation, found by a search that is recorded step by step."""
        if self.search.is_sampling:
            raise ConfigError(
                "an explanation shows a search, and a temperature draws at random. Leave one of them out.",
                options=("explain", "temperature"),
            )
        return replace(translation, parts=tuple(self._explained(part, all_heads) for part in translation.parts))

    def _explained(self, part: TranslatedPart, all_heads: bool) -> TranslatedPart:
        if not part.hypotheses:
            return part
        head: Head | Literal["all"] = "all" if all_heads else self.head
        source, limit = source_ids(self.model, part), target_limit(self.translator, part, self.search)
        with torch.inference_mode():
            explanation = explain_search(self.model, source, limit, self.search, part.constraints, head)
        texts = tuple(self.vocabularies.target.decode([hypothesis.tokens for hypothesis in explanation.best]))
        data = to_data(explanation, self.vocabularies)
        return replace(part, texts=texts, hypotheses=explanation.best, explanation=data)


@dataclass
class ExplanationText:
    """Shows the search of each line as text, below its translation."""

    explainer: SearchExplainer
    all_heads: bool = False

    def explain(self, translation: Translation) -> Translation:
        """Return the translation with its search."""
        return self.explainer.explained(translation, all_heads=self.all_heads)

    def text_lines(self, translation: Translation) -> list[str]:
        """Return what is shown below the translation."""
        explanations = [part.explanation for part in translation.parts if part.explanation is not None]
        return [line for explanation in explanations for line in render_explanation(explanation).split("\n")[:-1]]

    def finish(self) -> None:
        """Do nothing: everything is shown already."""


class ExplanationFile:
    """Collects the search of each line, and writes them all as one JSON file at the end."""

    def __init__(self, explainer: SearchExplainer, path: Path, *, all_heads: bool = False) -> None:
        self.explainer, self.path, self.all_heads = explainer, path, all_heads
        self._lines: list[dict[str, Any]] = []

    def explain(self, translation: Translation) -> Translation:
        """Return the translation with its search, which is also remembered for the file."""
        explained = self.explainer.explained(translation, all_heads=self.all_heads)
        if len(self._lines) == _MAX_LINES:
            raise DataError(
                f"at most {_MAX_LINES} lines are explained in a file. Choose those that you want to look at.",
                options=("explain",),
            )
        parts = [part.explanation for part in explained.parts if part.explanation is not None]
        line = {"line": explained.number, "source": explained.source, "translation": explained.text}
        self._lines.append({**line, "parts": parts})
        return explained

    def text_lines(self, translation: Translation) -> list[str]:
        """Return nothing: the file has it all."""
        return []

    def finish(self) -> None:
        """Write the file."""
        settings = self.explainer.search.model_dump()
        data = {"clearhead_explanation": 1, "settings": settings, "lines": self._lines}
        write_file(self.path, json.dumps(data, ensure_ascii=False).encode() + b"\n")


def to_data(explanation: Explanation, vocabularies: Vocabularies) -> dict[str, Any]:
    """Return an explanation for JSON, with the piece of every id in it."""
    ids = sorted(set(_token_ids(explanation)))
    pieces = dict(zip(map(str, ids), vocabularies.target.pieces(ids), strict=True))
    source_pieces = vocabularies.source.pieces(explanation.source)
    return {"source_pieces": source_pieces, "pieces": pieces, **explanation.to_dict()}


def _token_ids(explanation: Explanation) -> Iterable[int]:
    for step in explanation.steps:
        yield from (option.token for option in step.options)
        yield from (dropped.token for dropped in step.lost)
    for ended in explanation.ended:
        yield from ended.hypothesis.tokens
    for hypothesis in explanation.best:
        yield from hypothesis.tokens
