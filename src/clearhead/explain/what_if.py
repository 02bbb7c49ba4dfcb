"""What if a head were missing, or looked at all keys alike? Translations with gates beside those without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.evaluation.counts import compute_counts
from clearhead.evaluation.significance import Resampling, SystemComparison, compare
from clearhead.model import SequenceModel
from clearhead.model.gated import GatedModel
from clearhead.model.gates import Gates, closed_gates
from clearhead.model.heads import find_heads
from clearhead.model.modes import evaluation_mode


@dataclass(frozen=True)
class TokenChange:
    """A token of the unchanged model's translation, and its log P before and after the change."""

    piece: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """The change of log P."""
        return self.after - self.before


@dataclass(frozen=True)
class ChangedTranslation:
    """The translation of the unchanged model with a change by token, and the translation of the changed model."""

    before: Translation
    after: Translation
    tokens: tuple[TokenChange, ...]

    @property
    def is_same(self) -> bool:
        """Whether the change makes no difference to the text."""
        return self.before.text == self.after.text

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {
            "source": self.before.source,
            "before": self.before.text,
            "after": self.after.text,
            "tokens": [{**vars(token), "difference": token.difference} for token in self.tokens],
        }


def gates_of_heads(model: SequenceModel, *, without: Sequence[str] = (), uniform: Sequence[str] = ()) -> Gates:
    """Return gates for heads by name (`encoder.2.self_attention.head.5`, `*` matches anything).

    Those in `without` are removed; the attention of those in `uniform` is the same for all visible keys.
    """
    if not without and not uniform:
        raise ConfigError("no heads were named. Name a head to remove, or one to make uniform.")
    removed, flattened = (find_heads(names, model.config) for names in (without, uniform))
    return closed_gates(model.config, model.device, without=removed, uniform=flattened)


def translate_changed(
    translator: Translator,
    texts: Sequence[str],
    gates: Gates,
    search: SearchSettings = SearchSettings(),
    options: TranslationOptions = TranslationOptions(),
) -> list[ChangedTranslation]:
    """Translate texts with and without gates; the translator must use torch."""
    model, changed = translator.model, translator.gated(gates)
    before, after = (version.translate(texts, search, options) for version in (translator, changed))
    return [
        ChangedTranslation(old, new, _token_changes(translator, GatedModel(model, gates), old))
        for old, new in zip(before, after, strict=True)
    ]


def _token_changes(translator: Translator, changed: GatedModel, translation: Translation) -> tuple[TokenChange, ...]:
    return tuple(
        change for part in translation.parts if part.hypotheses for change in _part_changes(translator, changed, part)
    )


def _part_changes(translator: Translator, changed: GatedModel, part: TranslatedPart) -> list[TokenChange]:
    tokens, model = part.hypotheses[0].tokens, translator.model
    source = torch.tensor([[*part.ids, model.config.eos]], device=model.device)
    target = torch.tensor([tokens], device=model.device)
    with evaluation_mode(model), torch.inference_mode():
        before, after = (token_log_probs(version, source, target)[0].tolist() for version in (model, changed))
    pieces = translator.vocabularies.target.pieces(tokens)
    return [TokenChange(*values) for values in zip(pieces, before, after, strict=True)]


def compare_changed(
    changes: Sequence[ChangedTranslation], references: Sequence[str], resampling: Resampling = Resampling()
) -> SystemComparison:
    """Test whether a change makes a difference to BLEU, by approximate randomisation."""
    before, after = ([getattr(change, side).text for change in changes] for side in ("before", "after"))
    counts = [compute_counts("bleu", outputs, [references]) for outputs in (before, after)]
    return compare(("unchanged", "changed"), counts[0], counts[1], "randomisation", resampling)
