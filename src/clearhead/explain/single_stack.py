"""Explain a text with a model of one stack: a language model (decoder) or a classifier (encoder)."""

import numpy as np
import torch

from clearhead.explain.checks import explained_heads
from clearhead.explain.contributions import (
    Method,
    attention_norms,
    gradients,
    leave_out_of_classes,
    leave_out_of_text,
)
from clearhead.explain.explanation import Contributions, Explanation
from clearhead.explain.lens import ranked
from clearhead.explain.opening import LoadedModel, double_copy, explained_model
from clearhead.explain.options import ExplainOptions, check_text
from clearhead.explain.outputs import explained_outputs, shown_ids
from clearhead.explain.rollout import rollouts
from clearhead.explain.token_row import TokenRow
from clearhead.explain.traced_pass import trace_pass
from clearhead.worksheet.arrays import Array


def explain_single_stack(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
    """Explain a text with a language model or a classifier."""
    explain = explain_text if loaded.model.can_continue_text else explain_classes
    return explain(loaded, text, options)


def explain_text(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
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
        source=None,
        target=row,
        language=None,
        inputs=(*tokeniser.pieces([config.start_id]), *row.pieces[:-1]),
        is_given=True,
        translation=None,
        traced=traced,
        rollout=rollouts(traced.stacks),
        outputs=outputs,
        contributions=Contributions(by_word, by_token),
        left_out=(),
        search=None,
        continuations=(),
        pieces=dict(zip(shown, tokeniser.pieces(shown), strict=True)),
        sums=explained_heads(options.sums, loaded.model.config, has_projections=options.has_projections),
        has_projections=options.has_projections,
    )


def explain_classes(loaded: LoadedModel, text: str, options: ExplainOptions) -> Explanation:
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
        target=None,
        language=None,
        inputs=(),
        is_given=False,
        translation=None,
        traced=traced,
        rollout=rollouts(traced.stacks),
        outputs=outputs,
        contributions=Contributions(by_word, by_token),
        left_out=(),
        search=None,
        continuations=(),
        pieces=names,
        sums=explained_heads(options.sums, loaded.model.config, has_projections=options.has_projections),
        has_projections=options.has_projections,
    )
