"""Explain one sentence: the translation that `translate` gives, or a text of a model with a single stack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from clearhead.decoding.annotation import source_ids, target_limit
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.constraints import without
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError, printable
from clearhead.explain.checks import explained_heads
from clearhead.explain.continuation import continued, encoded_source
from clearhead.explain.contributions import (
    Method,
    attention_norms,
    gradients,
    leave_out,
    leave_out_of_classes,
    leave_out_of_text,
)
from clearhead.explain.explanation import (
    ChoiceDifference,
    Contributions,
    ExplainedToken,
    Explanation,
    LeftOutWord,
    TranslationChoice,
)
from clearhead.explain.lens import ranked
from clearhead.explain.opening import LoadedModel, double_copy, explained_model, model_name
from clearhead.explain.options import MAX_SEARCHES, ExplainOptions, check_text
from clearhead.explain.outputs import explained_outputs, shown_ids
from clearhead.explain.rollout import rollouts
from clearhead.explain.search import explain_search
from clearhead.explain.search_tree import SearchTree, search_tree
from clearhead.explain.token_row import TokenRow
from clearhead.explain.traced_pass import TracedPass, trace_pass
from clearhead.model.base import SequenceModel
from clearhead.worksheet.arrays import Array


def explain(
    model: Translator | LoadedModel,
    text: str,
    *,
    target: str | None = None,
    search: SearchSettings = SearchSettings(),
    language: str | None = None,
    options: ExplainOptions = ExplainOptions(),
) -> Explanation:
    """Explain the translation of a text, or a given one (`target`); a model of another shape explains the text itself.

    `search` and `language` are those of `translate`. All numbers are computed in float64.
    """
    if isinstance(model, LoadedModel):
        if target is not None or language is not None or options.prefix:
            raise ConfigError(
                f"a model of shape {model.model.config.shape} does not translate. Remove the target and its language.",
                options=("target", "prefix", "language"),
            )
        answer = _explain_text if model.model.can_continue_text else _explain_classes
        return answer(model, text, options)
    if search.is_sampling:
        raise ConfigError(
            "an explanation shows a search, but a temperature samples at random. Remove the temperature.",
            options=("temperature",),
        )
    if target is not None and options.prefix:
        raise ConfigError("a given target needs no prefix. Remove one of them.", options=("target", "prefix"))
    return _TranslationExplainer(model, search, language, options).explain(text, target)


@dataclass(frozen=True)
class _Target:
    """The ids of a translation, with the end token if it ended, its text, and whether it was given."""

    ids: tuple[int, ...]
    text: str
    is_given: bool


@dataclass(frozen=True, eq=False)
class _TranslationExplainer:
    """Explains the translations of one translator."""

    translator: Translator
    search: SearchSettings
    language: str | None
    options: ExplainOptions

    def explain(self, text: str, target_text: str | None) -> Explanation:
        """Explain one text, with its own translation or a given one."""
        translator, vocabularies = self.translator, self.translator.vocabularies
        encoded_source(translator, text, self.search, self.language)  # checks it
        translation, part = self._translated(text)
        target = self._target(part, target_text)
        source = (*part.ids, translator.model.config.eos)
        double = double_copy(translator.model)
        traced = replace(trace_pass(double, source, target.ids), hidden=without(part.constraints.hidden, target.ids))
        sums = explained_heads(self.options.sums, translator.model.config, has_projections=self.options.has_projections)
        source_row = TokenRow.of(vocabularies.source, source, part.source)
        target_row = TokenRow.of(vocabularies.target, target.ids, target.text)
        outputs = explained_outputs(double, traced, target.ids, target_row.pieces, self.options.alternatives)
        tree, notes = self._search_tree(part)
        ids = sorted(shown_ids(outputs))
        start = vocabularies.target.pieces([translator.model.config.start_id])
        tags = {number: name for name, number in vocabularies.source.tags.items()}
        return Explanation(
            kind="translation",
            model=explained_model(translator.model, model_name(translator)),
            source=source_row,
            target=target_row,
            language=tags.get(source[0]),
            inputs=(*start, *target_row.pieces[:-1]),
            is_given=target.is_given,
            translation=self._choice(part, target, outputs, traced),
            traced=traced,
            rollout=rollouts(traced.stacks),
            outputs=outputs,
            contributions=self._contributions(double, traced, source_row, target.ids),
            left_out=self._left_out(source_row),
            search=tree,
            pieces=dict(zip(ids, vocabularies.target.pieces(ids), strict=True)),
            sums=sums,
            has_projections=self.options.has_projections,
            notes=(*translation.notes, *notes, *_limits(source_row)),
            prefix=self.options.prefix,
        )

    def _translated(self, text: str) -> tuple[Translation, TranslatedPart]:
        translation = self.translator.translate([text], self.search, TranslationOptions(language=self.language))[0]
        if len(translation.parts) > 1:
            raise DataError(
                f"the text has {len(translation.parts)} sentences, which are translated one by one. Give one of them, "
                f"such as '{printable(translation.parts[0].source[:80])}'."
            )
        return translation, translation.parts[0]

    def _target(self, part: TranslatedPart, text: str | None) -> _Target:
        tokeniser, eos = self.translator.vocabularies.target, self.translator.model.config.eos
        if text is not None:
            ids = tokeniser.encode([text])[0]
            check_text(text, ids, tokeniser, "target")
            longest = self.translator.engine.config.position_limit
            if longest is not None and len(ids) >= longest:
                raise DataError(f"the target has {len(ids)} tokens, but this model writes at most {longest - 1}.")
            return _Target((*ids, eos), text, is_given=True)
        if self.options.prefix:
            prefix = tokeniser.encode([self.options.prefix])[0]
            check_text(self.options.prefix, prefix, tokeniser, "prefix")
            tokens = continued(self.translator, part.ids, [tuple(prefix)], self.search)[0].tokens
            return _Target(tokens, tokeniser.decode([tokens])[0], is_given=True)
        rank = self.options.hypothesis
        if rank >= len(part.hypotheses):
            raise ConfigError(
                f"hypothesis = {rank}, but the search returned {len(part.hypotheses)} (counted from 0). "
                "Use a larger beam and n_best.",
                options=("hypothesis", "beam"),
            )
        return _Target(part.hypotheses[rank].tokens, part.texts[rank], is_given=False)

    def _choice(
        self, part: TranslatedPart, target: _Target, outputs: Sequence[ExplainedToken], traced: TracedPass
    ) -> TranslationChoice:
        """Return the translation, and where the float64 trace has another most probable token."""
        log_probs = torch.log_softmax(traced.allowed(traced.logits), dim=-1)
        log_probs[:, list(self.translator.model.config.never_written)] = -float("inf")
        best = [row[0] for row in ranked(log_probs.exp(), 1)]
        differences = tuple(
            ChoiceDifference(output.position, output.token, output.probability, other)
            for output, other in zip(outputs, best, strict=True)
            if other.token != output.token
        )
        rank = 0 if target.is_given else self.options.hypothesis
        hypothesis = part.hypotheses[rank]
        difference = None
        if not target.is_given:
            pairs = zip(outputs, hypothesis.log_probs, strict=True)
            difference = max(abs(output.log_prob - log_prob) for output, log_prob in pairs)
        return TranslationChoice(part.texts[rank], hypothesis, self.search.model_dump(), difference, differences)

    def _contributions(
        self, double: SequenceModel, traced: TracedPass, source: TokenRow, target: tuple[int, ...]
    ) -> Contributions:
        by_token: dict[Method, Array] = {}
        if "cross" in traced.stacks:
            by_token["attention_norm"] = attention_norms(traced.stacks["cross"]).mean(axis=0)
        by_token["gradient_input"] = gradients(double, source.ids, target)
        rows = [source.ids, *self._shorter_sources(source)]
        log_probs = leave_out(double, rows, target)  # (1 + W, T)
        by_word: dict[Method, Array] = {method: values @ source.by_word for method, values in by_token.items()}
        by_word["leave_out"] = (log_probs[:1] - log_probs[1:]).T
        return Contributions(by_word, by_token)

    def _shorter_sources(self, source: TokenRow) -> list[tuple[int, ...]]:
        """Return the ids of the source without each of its words, as translate would read it."""
        tokeniser = self.translator.vocabularies.source
        tag = [number for number in source.ids[:1] if number in tokeniser.tags.values()]
        texts = [source.without(word) for word in range(len(source.words))]
        return [(*tag, *ids, source.ids[-1]) for ids in tokeniser.encode(texts)]

    def _left_out(self, source: TokenRow) -> tuple[LeftOutWord, ...]:
        if not self.options.has_translations or len(source.words) > MAX_SEARCHES:
            return ()
        texts = [source.without(word) for word in range(len(source.words))]
        options = TranslationOptions(language=self._language_of(source), is_paragraphs=False)
        translations = self.translator.translate(texts, self.search.model_copy(update={"n_best": 1}), options)
        return tuple(
            LeftOutWord(word, text, translation.text)
            for word, (text, translation) in enumerate(zip(texts, translations, strict=True))
        )

    def _language_of(self, source: TokenRow) -> str | None:
        tags = {number: name for name, number in self.translator.vocabularies.source.tags.items()}
        return tags.get(source.ids[0], self.language)

    def _search_tree(self, part: TranslatedPart) -> tuple[SearchTree, tuple[str, ...]]:
        """Return the search as a tree, and a note if it found another translation than `translate`, by rounding."""
        model = self.translator.model
        limit = target_limit(self.translator, part, self.search)
        with torch.inference_mode():
            recorded = explain_search(model, source_ids(model, part), limit, self.search, part.constraints, "none")
        tree = search_tree(recorded, self.translator.vocabularies.target, self.search.length_penalty)
        is_same = recorded.best[0].tokens == part.hypotheses[0].tokens
        note = "The recorded search found another translation, because two hypotheses differ only by rounding."
        return tree, () if is_same else (note,)


def _limits(source: TokenRow) -> tuple[str, ...]:
    """Return a note about what is left out of the explanation of a long sentence."""
    if len(source.words) <= MAX_SEARCHES:
        return ()
    return (f"The source is not translated without each of its words, because it has over {MAX_SEARCHES}.",)


# Models of one stack


def _explain_text(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
    """Explain every token of a text: how probable a language model finds it after the tokens before it."""
    tokeniser, config = loaded.vocabularies.target, loaded.model.config
    ids = tokeniser.encode([text])[0]
    check_text(text, ids, tokeniser)
    row = TokenRow.of(tokeniser, (*ids, config.eos), text)
    double = double_copy(loaded.model)
    traced = trace_pass(double, None, row.ids)
    outputs = explained_outputs(double, traced, row.ids, row.pieces, options.alternatives)
    by_token: dict[Method, Array] = {}
    if "decoder" in traced.stacks:
        by_token["attention_norm"] = attention_norms(traced.stacks["decoder"]).mean(axis=0)
    by_token["gradient_input"] = gradients(double, None, row.ids)
    # column i of by_token is the input at position i: the start token, then the text without its last token
    by_word_of_input = np.vstack([np.zeros((1, len(row.words))), row.by_word[:-1]])
    by_word: dict[Method, Array] = {method: values @ by_word_of_input for method, values in by_token.items()}
    by_word["leave_out"] = leave_out_of_text(double, row)
    shown = sorted(shown_ids(outputs))
    return Explanation(
        kind="text",
        model=explained_model(loaded.model, loaded.name),
        target=row,
        inputs=(*tokeniser.pieces([config.start_id]), *row.pieces[:-1]),
        is_given=True,
        traced=traced,
        rollout=rollouts(traced.stacks),
        outputs=outputs,
        contributions=Contributions(by_word, by_token),
        pieces=dict(zip(shown, tokeniser.pieces(shown), strict=True)),
        sums=explained_heads(options.sums, loaded.model.config, has_projections=options.has_projections),
        has_projections=options.has_projections,
    )


def _explain_classes(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
    """Explain the most probable classes of a text."""
    tokeniser, labels = loaded.vocabularies.source, loaded.vocabularies.labels
    ids = tokeniser.encode([text])[0]
    check_text(text, ids, tokeniser)
    row = TokenRow.of(tokeniser, (*ids, loaded.model.config.eos), text)
    double = double_copy(loaded.model)
    traced = trace_pass(double, row.ids, None)
    best = [other.token for other in ranked(torch.softmax(traced.logits, dim=-1), options.alternatives)[0]]
    names = dict(enumerate(labels or [str(number) for number in range(traced.logits.shape[-1])]))
    outputs = explained_outputs(double, traced, best, [names[number] for number in best], options.alternatives)
    by_token: dict[Method, Array] = {}
    if "encoder" in traced.stacks:
        norms = attention_norms(traced.stacks["encoder"]).mean(axis=(0, 1))  # the output is the mean over all queries
        by_token["attention_norm"] = np.tile(norms, (len(best), 1))
    by_token["gradient_input"] = gradients(double, row.ids, best)
    shorter = [(*rest, row.ids[-1]) for rest in tokeniser.encode([row.without(word) for word in range(len(row.words))])]
    log_probs = leave_out_of_classes(double, [row.ids, *shorter])[:, best]
    by_word: dict[Method, Array] = {method: values @ row.by_word for method, values in by_token.items()}
    by_word["leave_out"] = (log_probs[:1] - log_probs[1:]).T
    return Explanation(
        kind="classes",
        model=explained_model(loaded.model, loaded.name),
        source=row,
        traced=traced,
        rollout=rollouts(traced.stacks),
        outputs=outputs,
        contributions=Contributions(by_word, by_token),
        pieces=names,
        sums=explained_heads(options.sums, loaded.model.config, has_projections=options.has_projections),
        has_projections=options.has_projections,
    )
