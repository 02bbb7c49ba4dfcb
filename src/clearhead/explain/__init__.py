"""Explain a model: its translations with every head, searches step by step, and traces as worksheets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.explain.comparison import Comparison, compare
    from clearhead.explain.explanation import ExplainOptions, Explanation
    from clearhead.explain.explanation_file import to_dict, to_npz
    from clearhead.explain.intervention import Intervention, Patch
    from clearhead.explain.opening import LoadedModel, open_model
    from clearhead.explain.page.page import explanation_page
    from clearhead.explain.sentence import explain
    from clearhead.explain.what_if_sentence import WhatIf, what_if

_HOMES = {
    "Comparison": "comparison",
    "ExplainOptions": "explanation",
    "Explanation": "explanation",
    "Intervention": "intervention",
    "LoadedModel": "opening",
    "Patch": "intervention",
    "WhatIf": "what_if_sentence",
    "compare": "comparison",
    "explain": "sentence",
    "explanation_page": "page.page",
    "open_model": "opening",
    "to_dict": "explanation_file",
    "to_npz": "explanation_file",
    "what_if": "what_if_sentence",
}

__all__ = [
    "Comparison",
    "ExplainOptions",
    "Explanation",
    "Intervention",
    "LoadedModel",
    "Patch",
    "WhatIf",
    "compare",
    "explain",
    "explanation_page",
    "open_model",
    "to_dict",
    "to_npz",
    "what_if",
]


def __getattr__(name: str) -> Any:
    """Import on first use, because the pages of an explanation do not need torch."""
    if name in _HOMES:
        return getattr(import_module(f"clearhead.explain.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clearhead.explain' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
