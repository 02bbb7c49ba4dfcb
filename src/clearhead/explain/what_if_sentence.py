"""What if a head were missing, a state came from another sentence, or a word were another one?

The translation of the changed model beside that of the unchanged one, and the change of log P for every token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import attrgetter
from typing import Any, Literal

import torch

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.explain.checks import require_heads
from clearhead.explain.explained_text import row_of_text, translated_sentence
from clearhead.explain.explanation_file import plain_data
from clearhead.explain.intervention import Intervention, state_patch, swap_words
from clearhead.explain.opening import LoadedModel
from clearhead.explain.token_row import TokenRow
from clearhead.model import Batch, SequenceModel
from clearhead.model.modes import evaluation_mode
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.probed import ProbedModel

Outcome = Literal["translation", "text", "classes"]


@dataclass(frozen=True)
class TokenChange:
    """A token of the unchanged model's translation (or a class), and its log P before and after the change."""

    piece: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """The change of log P."""
        return self.after - self.before


@dataclass(frozen=True)
class TokenReplacement:
    """Tokens of the old translation, from `position` on, and the tokens of the new one in their place."""

    position: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class WhatIf:
    """The outcome of a what-if question.

    `before` and `after` are translations, the most probable classes of a classifier, or the text of a language model.
    `log_prob` is log P of the new translation in the changed model.
    """

    kind: Outcome
    intervention: Intervention
    source: str
    changed_source: str
    before: str
    after: str
    tokens: tuple[TokenChange, ...]
    replacements: tuple[TokenReplacement, ...] = ()
    log_prob: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the change makes no difference to the translation or the class."""
        return self.before == self.after

    @property
    def total(self) -> TokenChange | None:
        """log P of all tokens together; None for classes, of which only one is right."""
        if self.kind == "classes":
            return None
        before, after = (math.fsum(getattr(token, side) for token in self.tokens) for side in ("before", "after"))
        return TokenChange("total", before, after)

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        total = self.total
        return {
            "clearhead_what_if": 1,
            "kind": self.kind,
            "change": plain_data(self.intervention),
            "source": self.source,
            "changed_source": self.changed_source,
            "before": self.before,
            "after": self.after,
            "is_same": self.is_same,
            "tokens": [{**vars(token), "difference": token.difference} for token in self.tokens],
            "total": total and {"before": total.before, "after": total.after, "difference": total.difference},
            "changed_tokens": plain_data(self.replacements),
            "log_prob": self.log_prob,
            "notes": list(self.notes),
        }


def what_if(
    model: Translator | LoadedModel,
    text: str,
    intervention: Intervention,
    *,
    search: SearchSettings = SearchSettings(),
    language: str | None = None,
) -> WhatIf:
    """Translate a sentence with a changed model or a swapped word, and compare with the unchanged translation.

    `search` and `language` are those of `translate`. A language model compares log P of every token of the text, a
    classifier that of every class. The translator must use torch.
    """
    if not intervention.is_swap:
        require_heads(model.model.config, "what-if")
    if isinstance(model, LoadedModel):
        answer = _what_if_text if model.model.can_continue_text else _what_if_classes
        return answer(model, text, intervention)
    return _TranslationQuestion(model, intervention, search, language).answer(text)


# Translations


@dataclass(frozen=True, eq=False)
class _TranslationQuestion:
    """Answers what-if questions about one translator."""

    translator: Translator
    intervention: Intervention
    search: SearchSettings
    language: str | None

    def answer(self, text: str) -> WhatIf:
        """Translate a sentence before and after the change, and score the first translation in both models."""
        translator, vocabularies = self.translator, self.translator.vocabularies
        changed_text = swap_words(text, self.intervention.swap)
        own, changed = (self._row(sentence) for sentence in (text, changed_text))
        view = self._changed_model(changed)
        language = translator.pipeline(self.search, TranslationOptions(language=self.language)).options.language
        before = translated_sentence(translator, text, self.search, language)
        after = translated_sentence(self._changed_translator(view), changed_text, self.search, language)
        tokens = before.parts[0].hypotheses[0].tokens
        new_tokens = after.parts[0].hypotheses[0].tokens
        pieces, new_pieces = (vocabularies.target.pieces(ids) for ids in (tokens, new_tokens))
        return WhatIf(
            kind="translation",
            intervention=self.intervention,
            source=text,
            changed_source=changed_text,
            before=before.text,
            after=after.text,
            tokens=tuple(
                map(TokenChange, pieces, _log_probs(translator.model, own, tokens), _log_probs(view, changed, tokens))
            ),
            replacements=_replacements(pieces, new_pieces),
            log_prob=sum(_log_probs(view, changed, new_tokens)),  # as for the first one: no piece is hidden
            # a changed model is expected to write unlikely translations
            notes=tuple(dict.fromkeys((*before.notes, *(after.notes if view is translator.model else ())))),
        )

    def _row(self, text: str) -> TokenRow:
        return row_of_text(self.translator, text, self.search, self.language)

    def _changed_model(self, row: TokenRow) -> SequenceModel:
        model, patch = self.translator.model, self.intervention.patch
        gates = self.intervention.gates(model)
        if patch is None:
            return ProbedModel(model, Probe(gates=gates)) if gates.is_on else model
        return ProbedModel(model, Probe(gates=gates, edit=state_patch(model, patch, row, self._row(patch.sentence))))

    def _changed_translator(self, model: SequenceModel) -> Translator:
        if model is self.translator.model:
            return self.translator
        return Translator(self.translator.vocabularies, TorchEngine(model), statistics=self.translator.statistics)


def _log_probs(model: SequenceModel, source: TokenRow | None, target: Sequence[int]) -> list[float]:
    """Return log P of every token of a target."""
    source_ids = None if source is None else torch.tensor([source.ids], device=model.device)
    with evaluation_mode(model), torch.inference_mode():
        rows = token_log_probs(model, source_ids, torch.tensor([list(target)], device=model.device))
    return [float(log_prob) for log_prob in rows[0]]


def _replacements(before: Sequence[str], after: Sequence[str]) -> tuple[TokenReplacement, ...]:
    """Return where two sequences of tokens differ."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        TokenReplacement(start, tuple(before[start:end]), tuple(after[new_start:new_end]))
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    )


# Models of one stack


def _what_if_text(loaded: LoadedModel, text: str, intervention: Intervention) -> WhatIf:
    """Compare log P of every token of a text in a language model."""
    if intervention.swap or intervention.patch:
        raise ConfigError(
            "a language model reads no source whose words or states could be changed. Change its heads only."
        )
    row = row_of_text(loaded, text)
    changed = ProbedModel(loaded.model, Probe(gates=intervention.gates(loaded.model)))
    before, after = (_log_probs(model, None, row.ids) for model in (loaded.model, changed))
    tokens = tuple(map(TokenChange, row.pieces, before, after))
    return WhatIf("text", intervention, text, text, text, text, tokens)


def _what_if_classes(loaded: LoadedModel, text: str, intervention: Intervention) -> WhatIf:
    """Compare log P of every class of a text, the most probable class first."""
    if intervention.patch:
        raise ConfigError("states can only be patched in a model that translates. Change heads, or swap a word.")
    changed_text = swap_words(text, intervention.swap)
    before = _class_log_probs(loaded, text, NO_PROBE)
    after = _class_log_probs(loaded, changed_text, Probe(gates=intervention.gates(loaded.model)))
    changes = map(TokenChange, loaded.labels, before, after)
    tokens = tuple(sorted(changes, key=lambda change: -change.before))
    best, new_best = (max(tokens, key=attrgetter(side)).piece for side in ("before", "after"))
    return WhatIf("classes", intervention, text, changed_text, best, new_best, tokens)


def _class_log_probs(loaded: LoadedModel, text: str, probe: Probe) -> list[float]:
    row = row_of_text(loaded, text)
    with evaluation_mode(loaded.model), torch.inference_mode():
        logits = loaded.model(Batch(torch.tensor([row.ids], device=loaded.model.device)), probe=probe)
        return [float(log_prob) for log_prob in torch.log_softmax(logits[0].double(), dim=-1)]
