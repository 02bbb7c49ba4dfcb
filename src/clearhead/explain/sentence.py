"""Explain one sentence: the translation that `translate` gives, or a text of a model with a single stack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from clearhead.decoding.annotation import source_ids, target_limit
from clearhead.decoding.engines.engine import Request, length_limit
from clearhead.decoding.hidden_pieces import HiddenPieces
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.constraints import Constraints, without
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import TranslatedPart
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.explain.checks import explained_heads
from clearhead.explain.contributions import (
    Method,
    attention_norms,
    gradients,
    leave_out,
    leave_out_of_classes,
    leave_out_of_text,
)
from clearhead.explain.explained_text import check_text, encoded_source, row_of_text, translated_sentence
from clearhead.explain.explanation import (
    ChoiceDifference,
    Contributions,
    ExplainOptions,
    Explanation,
    LeftOutWord,
    TranslationChoice,
)
from clearhead.explain.opening import LoadedModel, double_copy, explained_model
from clearhead.explain.outputs import ExplainedToken, explained_outputs, ranked
from clearhead.explain.search import explain_search
from clearhead.explain.search_tree import SearchTree, search_tree
from clearhead.explain.token_row import TokenRow
from clearhead.explain.traced_pass import TracedPass, trace_pass
from clearhead.text.tokeniser import Tokeniser
from clearhead.worksheet.arrays import Array

MAX_SEARCHES = 32  # words without which the source is translated again


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
    sums = explained_heads(options.sums, model.model.config, has_projections=options.has_projections)
    options = replace(options, sums=sums)
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
        translation = translated_sentence(translator, text, self.search, self.language)
        part = translation.parts[0]
        target = self._target(part, target_text)
        config, pieces = translator.model.config, vocabularies.target.pieces
        source_row = TokenRow.of(vocabularies.source, (*part.ids, config.eos), part.source)
        target_row = TokenRow.of(vocabularies.target, target.ids, target.text)
        double = double_copy(translator.model)
        traced = trace_pass(double, source_row.ids, target.ids)
        traced = replace(traced, hidden=without(part.constraints.hidden, target.ids))
        outputs = explained_outputs(double, traced, target.ids, pieces, self.options.alternatives)
        norms = attention_norms(traced.stacks["cross"]).mean(axis=0) if "cross" in traced.stacks else None
        shorter = _shorter_sources(vocabularies.source, source_row)
        log_probs = leave_out(double, [source_row.ids, *shorter], target.ids)  # (1 + W, T)
        tree, notes = self._search_tree(part)
        tags = {number: name for name, number in vocabularies.source.tags.items()}
        language = tags.get(source_row.ids[0])
        return Explanation(
            kind="translation",
            model=explained_model(translator),
            source=source_row,
            target=target_row,
            language=language,
            inputs=(*pieces([config.start_id]), *target_row.pieces[:-1]),
            is_given=target.is_given,
            translation=self._choice(part, target, outputs, traced),
            traced=traced,
            outputs=outputs,
            contributions=_contributions(
                norms,
                gradients(double, source_row.ids, target.ids),
                source_row.by_word,
                (log_probs[:1] - log_probs[1:]).T,
            ),
            left_out=self._left_out(source_row, language or self.language),
            search=tree,
            options=self.options,
            notes=(*translation.notes, *notes, *_limits(source_row)),
        )

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
            tokens = self._continued(part.ids, tuple(prefix))
            return _Target(tokens, tokeniser.decode([tokens])[0], is_given=True)
        rank = self.options.hypothesis
        if rank >= len(part.hypotheses):
            raise ConfigError(
                f"hypothesis = {rank}, but the search returned {len(part.hypotheses)} (counted from 0). "
                "Use a larger beam and n_best.",
                options=("hypothesis", "beam"),
            )
        return _Target(part.hypotheses[rank].tokens, part.texts[rank], is_given=False)

    def _continued(self, source: Sequence[int], prefix: tuple[int, ...]) -> tuple[int, ...]:
        """Return the best translation that starts with a prefix."""
        translator = self.translator
        pieces = HiddenPieces(translator.vocabularies, translator.statistics)
        constraints = pieces.hide(source, Constraints(prefix=prefix))
        config = translator.engine.config
        limit = length_limit(len(source) + 1, self.search, config, constraints)
        request = Request((*source, config.eos), limit, constraints)
        return translator.engine.translate([request], self.search)[0][0].tokens

    def _choice(
        self, part: TranslatedPart, target: _Target, outputs: Sequence[ExplainedToken], traced: TracedPass
    ) -> TranslationChoice:
        """Return the translation, and where the float64 trace has another most probable token."""
        log_probs = torch.log_softmax(traced.allowed(traced.logits), dim=-1)
        log_probs[:, list(self.translator.model.config.never_written)] = -float("inf")
        best = [row[0] for row in ranked(log_probs.exp(), 1, self.translator.vocabularies.target.pieces)]
        differences = tuple(
            ChoiceDifference(
                output.position, output.token, output.piece, output.probability,
                other.token, other.piece, other.probability,
            )
            for output, other in zip(outputs, best, strict=True)
            if other.token != output.token
        )  # fmt: skip
        rank = 0 if target.is_given else self.options.hypothesis
        hypothesis = part.hypotheses[rank]
        difference = None
        if not target.is_given:
            pairs = zip(outputs, hypothesis.log_probs, strict=True)
            difference = max(abs(output.log_prob - log_prob) for output, log_prob in pairs)
        return TranslationChoice(part.texts[rank], hypothesis, self.search.model_dump(), difference, differences)

    def _left_out(self, source: TokenRow, language: str | None) -> tuple[LeftOutWord, ...]:
        if not self.options.has_translations or len(source.words) > MAX_SEARCHES:
            return ()
        texts = [source.without(word) for word in range(len(source.words))]
        options = TranslationOptions(language=language, is_paragraphs=False)
        translations = self.translator.translate(texts, self.search.model_copy(update={"n_best": 1}), options)
        return tuple(
            LeftOutWord(word, text, translation.text)
            for word, (text, translation) in enumerate(zip(texts, translations, strict=True))
        )

    def _search_tree(self, part: TranslatedPart) -> tuple[SearchTree, tuple[str, ...]]:
        """Return the search as a tree, and a note if it found another translation than `translate`, by rounding."""
        model = self.translator.model
        limit = target_limit(self.translator, part, self.search)
        with torch.inference_mode():
            recorded = explain_search(model, source_ids(model, part), limit, self.search, part.constraints)
        tree = search_tree(recorded, self.translator.vocabularies.target, self.search.length_penalty)
        is_same = recorded.best[0].tokens == part.hypotheses[0].tokens
        note = "The recorded search found another translation, because two hypotheses differ only by rounding."
        return tree, () if is_same else (note,)


def _limits(source: TokenRow) -> tuple[str, ...]:
    """Return a note about what is left out of the explanation of a long sentence."""
    if len(source.words) <= MAX_SEARCHES:
        return ()
    return (f"The source is not translated without each of its words, because it has over {MAX_SEARCHES}.",)


def _shorter_sources(tokeniser: Tokeniser, source: TokenRow) -> list[tuple[int, ...]]:
    """Return the ids of a source without each of its words, as the model would read it."""
    tag = [number for number in source.ids[:1] if number in tokeniser.tags.values()]
    texts = [source.without(word) for word in range(len(source.words))]
    return [(*tag, *ids, source.ids[-1]) for ids in tokeniser.encode(texts)]


def _contributions(norms: Array | None, gradient_input: Array, words: Array, left_out: Array) -> Contributions:
    """Return all contributions: by token, summed over the `words` of the tokens, and those of words left out."""
    by_token: dict[Method, Array] = {} if norms is None else {"attention_norm": norms}
    by_token["gradient_input"] = gradient_input
    by_word: dict[Method, Array] = {method: values @ words for method, values in by_token.items()}
    by_word["leave_out"] = left_out
    return Contributions(by_word, by_token)


# Models of one stack


def _explain_text(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
    """Explain every token of a text: how probable a language model finds it after the tokens before it."""
    row, pieces = row_of_text(loaded, text), loaded.vocabularies.target.pieces
    double = double_copy(loaded.model)
    traced = trace_pass(double, None, row.ids)
    norms = attention_norms(traced.stacks["decoder"]).mean(axis=0) if "decoder" in traced.stacks else None
    # row i is the input at position i: the start token, then the text without its last token
    words_of_inputs = np.vstack([np.zeros((1, len(row.words))), row.by_word[:-1]])
    return Explanation(
        kind="text",
        model=explained_model(loaded),
        target=row,
        inputs=(*pieces([loaded.model.config.start_id]), *row.pieces[:-1]),
        is_given=True,
        traced=traced,
        outputs=explained_outputs(double, traced, row.ids, pieces, options.alternatives),
        contributions=_contributions(
            norms, gradients(double, None, row.ids), words_of_inputs, leave_out_of_text(double, row)
        ),
        options=options,
    )


def _explain_classes(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
    """Explain the most probable classes of a text."""
    row = row_of_text(loaded, text)
    double = double_copy(loaded.model)
    traced = trace_pass(double, row.ids, None)

    def spelling(classes: Sequence[int]) -> list[str]:
        return [loaded.labels[number] for number in classes]

    best = ranked(torch.softmax(traced.logits, dim=-1), options.alternatives, spelling)[0]
    classes = [other.token for other in best]
    norms = None
    if "encoder" in traced.stacks:
        norms = attention_norms(traced.stacks["encoder"]).mean(axis=(0, 1))  # the output is the mean over all queries
        norms = np.tile(norms, (len(classes), 1))
    shorter = _shorter_sources(loaded.vocabularies.source, row)
    log_probs = leave_out_of_classes(double, [row.ids, *shorter])[:, classes]
    return Explanation(
        kind="classes",
        model=explained_model(loaded),
        source=row,
        traced=traced,
        outputs=explained_outputs(double, traced, classes, spelling, options.alternatives),
        contributions=_contributions(
            norms, gradients(double, row.ids, classes), row.by_word, (log_probs[:1] - log_probs[1:]).T
        ),
        options=options,
    )
