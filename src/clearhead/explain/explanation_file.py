"""Write an explanation as data for JSON, with a stated number of digits, or as NPZ, with all its arrays in float32.

JSON has at most 64 tokens of each side, so that a page of a long sentence stays small; NPZ has everything.
"""

import io
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clearhead.explain.contributions import METHODS
from clearhead.explain.explanation import ExplainedModel, Explanation
from clearhead.explain.lens import RankedToken
from clearhead.explain.rollout import FORMULA, SOURCE_FORMULA
from clearhead.explain.traced_pass import AttentionStack, StackName
from clearhead.model.architecture import unused_settings
from clearhead.worksheet.arrays import AnyArray, Array

FORMAT = 2  # 1 is the file of a search
WINDOW = 64  # tokens of each side
DIGITS = {"weights": 4, "probabilities": 6, "log_probs": 4, "contributions": 4, "vectors": 4, "projections": 6}
_SETTINGS = {"heads": "num_heads", "head_width": "num_heads"}  # the settings of facts about a model with another name
REMOVED = "removed"  # the kind of a head that a pruned model has lost
_STATISTICS = (
    "confidence",
    "offset",
    "offset_share",
    "first_share",
    "end_share",
    "diagonal_share",
    "near_share",
    "spread",
)

Span = tuple[int, int]


@dataclass(frozen=True)
class _Window:
    """The tokens of source and target that are written, as (first, end)."""

    source: Span
    target: Span

    def cut(self, array: Array, name: StackName) -> Array:
        """Return the part (…, queries, keys) of an array of one stack."""
        queries = self.source if name == "encoder" else self.target
        keys = self.target if name == "decoder" else self.source
        return array[..., slice(*queries), slice(*keys)]


def to_dict(explanation: Explanation, first_source: int = 0, first_target: int = 0) -> dict[str, Any]:
    """Return an explanation as data for JSON, with up to 64 tokens from the given positions."""
    sizes = [0 if row is None else len(row) for row in (explanation.source, explanation.target)]
    firsts = [
        max(0, min(first, size - WINDOW)) for first, size in zip((first_source, first_target), sizes, strict=True)
    ]
    spans = [(first, min(size, first + WINDOW)) for first, size in zip(firsts, sizes, strict=True)]
    window = _Window(spans[0], spans[1])
    outputs = [_output(explanation, position, window) for position in range(len(explanation.outputs))]
    is_classes = explanation.kind == "classes"
    search = explanation.search
    return {
        "clearhead_explanation": FORMAT,
        "kind": explanation.kind,
        "digits": DIGITS,
        "model": model_facts(explanation.model),
        "source": None
        if explanation.source is None
        else {**explanation.source.to_dict(*window.source), "language": explanation.language},
        "target": _target(explanation, window),
        "window": _window(window, sizes),
        "translation": _translation(explanation),
        "missing": [asdict(part) for part in explanation.missing],
        "removed_heads": list(explanation.removed_heads),
        "attention": {name: _stack(explanation, name, window) for name in ("encoder", "decoder", "cross")},
        "rollout": _rollout(explanation, window),
        "tokens": [] if is_classes else outputs[slice(*window.target)],
        "methods": {name: METHODS[name] for name in explanation.contributions.by_word},
        "left_out": [asdict(word) for word in explanation.left_out],
        "search": None if search is None else _rounded_numbers(search.to_dict(), DIGITS["log_probs"]),
        "sums": _sums(explanation, window),
        "classes": [{"class": output["token"], "label": output["piece"], **output} for output in outputs]
        if is_classes
        else None,
        "notes": list(explanation.notes),
    }


def _window(window: _Window, sizes: list[int]) -> dict[str, Any] | None:
    if max(sizes) <= WINDOW:
        return None
    return {
        "source": list(window.source),
        "target": list(window.target),
        "source_tokens": sizes[0],
        "target_tokens": sizes[1],
        "note": f"Only {WINDOW} tokens of each side are shown; the NPZ file has all of them.",
    }


def model_facts(model: ExplainedModel) -> dict[str, Any]:
    """Return the facts about a model as data for JSON; settings that its architecture does not have are None."""
    config = model.config
    has_encoder, has_decoder = config.shape != "decoder", config.shape != "encoder"
    unused = unused_settings(config.architecture, config.shape) - {"d_decoder"}
    facts = {
        "name": model.name,
        "architecture": config.architecture,
        "shape": config.shape,
        "encoder_layers": config.encoder_blocks if has_encoder else 0,
        "decoder_layers": config.decoder_blocks if has_decoder else 0,
        "heads": config.num_heads,
        "d_model": config.d_model,
        "d_decoder": config.decoder_width,
        "d_ff": config.d_ff,
        "head_width": (config.d_model if has_encoder else config.decoder_width) // config.num_heads,
        "source_vocabulary": config.source_vocabulary,
        "target_vocabulary": config.target_size,
        "parameters": model.num_parameters,
        "norm_place": config.norm_place,
        "positions": config.positions,
        "activation": config.activation,
        "cell": config.cell,
        "attention": config.attention,
        "kernel": config.kernel,
        "precision": model.precision,
    }
    return {name: None if _SETTINGS.get(name, name) in unused else value for name, value in facts.items()}


def _target(explanation: Explanation, window: _Window) -> dict[str, Any] | None:
    row = explanation.target
    if row is None:
        return None
    return {
        **row.to_dict(*window.target),
        "inputs": list(explanation.inputs[slice(*window.target)]),
        "is_given": explanation.is_given,
        "prefix": explanation.prefix,
        "has_ended": row.ids[-1] == explanation.model.config.eos,
    }


def _translation(explanation: Explanation) -> dict[str, Any] | None:
    choice = explanation.translation
    if choice is None:
        return None
    hypothesis = choice.hypothesis
    return {
        "text": choice.text,
        "log_prob": round(hypothesis.log_prob, DIGITS["log_probs"]),
        "score": round(hypothesis.score, DIGITS["log_probs"]),
        "settings": dict(choice.settings),
        "precision_difference": choice.precision_difference,
        "differences": [
            {
                "position": difference.position,
                "token": difference.token,
                "piece": explanation.pieces[difference.token],
                "probability": _probability(difference.probability),
                "best_token": difference.best.token,
                "best_piece": explanation.pieces[difference.best.token],
                "best_probability": _probability(difference.best.probability),
            }
            for difference in choice.differences
        ],
    }


def _stack(explanation: Explanation, name: StackName, window: _Window) -> list[list[dict[str, Any]]] | None:
    stack = explanation.stacks.get(name)
    if stack is None:
        return None
    return [
        [_head(explanation, stack, layer, head, window) for head in range(stack.num_heads)]
        for layer in range(stack.num_layers)
    ]


def _head(explanation: Explanation, stack: AttentionStack, layer: int, head: int, window: _Window) -> dict[str, Any]:
    name = stack.head_name(layer, head)
    if (layer, head) in stack.removed:
        weights = np.zeros_like(window.cut(stack.weights[layer, head], stack.name))
        return {"name": name, "kind": REMOVED, **dict.fromkeys(_STATISTICS), "weights": weights.tolist()}
    statistics, digits = explanation.kinds[name], DIGITS["weights"]
    return {
        "name": name,
        "kind": statistics.kind,
        **_rounded_numbers({field: getattr(statistics, field) for field in _STATISTICS}, digits),
        "weights": rounded(window.cut(stack.weights[layer, head], stack.name), digits),
    }


def _rollout(explanation: Explanation, window: _Window) -> dict[str, Any]:
    rollout, digits = explanation.rollout, DIGITS["weights"]
    to_source = rollout.decoder_to_source
    if to_source is not None:
        num_source = to_source.shape[2] - to_source.shape[1]
        to_source = to_source[:, slice(*window.target)]
        sides = to_source[..., slice(*window.source)], to_source[..., num_source:][..., slice(*window.target)]
        to_source = np.concatenate(sides, axis=-1)
    encoder, decoder = rollout.encoder, rollout.decoder
    return {
        "formula": FORMULA,
        "source_formula": SOURCE_FORMULA,
        "encoder": None if encoder is None else rounded(window.cut(encoder, "encoder"), digits),
        "decoder": None if decoder is None else rounded(window.cut(decoder, "decoder"), digits),
        "decoder_to_source": None if to_source is None else rounded(to_source, digits),
    }


def _output(explanation: Explanation, position: int, window: _Window) -> dict[str, Any]:
    output, contributions = explanation.outputs[position], explanation.contributions
    disagreement, digits = contributions.disagreement(position), DIGITS["contributions"]
    span = window.source if explanation.source is not None else window.target

    def tokens(row: tuple[RankedToken, ...]) -> list[dict[str, Any]]:
        return [
            {
                "token": other.token,
                "piece": explanation.pieces[other.token],
                "probability": _probability(other.probability),
            }
            for other in row
        ]

    return {
        "position": position,
        "token": output.token,
        "piece": output.piece,
        "probability": _probability(output.probability),
        "log_prob": round(output.log_prob, DIGITS["log_probs"]),
        "rank": output.rank,
        "alternatives": tokens(output.alternatives),
        "lens": [
            {
                "layer": layer.layer,
                "probability": _probability(layer.probability),
                "rank": layer.rank,
                "best": tokens(layer.best),
            }
            for layer in output.lens
        ],
        "decided_at": output.decided_at,
        "contributions": {name: rounded(values[position], digits) for name, values in contributions.by_word.items()},
        "piece_contributions": {
            name: rounded(values[position, slice(*span)], digits) for name, values in contributions.by_token.items()
        },
        "top": dict(disagreement.top),
        "agreement": _rounded_numbers(dict(disagreement.agreement), digits),
        "is_disputed": disagreement.is_disputed,
    }


def _sums(explanation: Explanation, window: _Window) -> dict[str, Any]:
    """Return the queries, keys and values of the requested heads, from which every cell can be computed again."""
    sums: dict[str, Any] = {}
    digits = DIGITS["vectors"]
    for name, stack in explanation.stacks.items():
        queries = slice(*(window.source if name == "encoder" else window.target))
        keys = slice(*(window.target if name == "decoder" else window.source))
        for layer in range(stack.num_layers):
            for head in range(stack.num_heads):
                if stack.head_name(layer, head) in explanation.sums:
                    assert stack.q is not None
                    assert stack.k is not None
                    sums[stack.head_name(layer, head)] = {
                        "q": rounded(stack.q[layer, head, queries], digits),
                        "k": rounded(stack.k[layer, head, keys], digits),
                        "v": rounded(stack.v[layer, head, keys], digits),
                        "scores": rounded(stack.scores[layer, head, queries, keys], digits),
                        "z": rounded(stack.z[layer, head, queries], digits),
                    }
                    if explanation.has_projections:
                        parts = _projections(stack, layer, head, queries, keys)
                        sums[stack.head_name(layer, head)]["projections"] = parts
    return sums


def _projections(stack: AttentionStack, layer: int, head: int, queries: slice, keys: slice) -> dict[str, Any]:
    """Return the inputs, weights and biases from which a head computes its queries, keys and values.

    Keys and values have one input; in self-attention it is that of the queries too, and `key_input` is None.
    """
    digits = DIGITS["projections"]
    parts = {name: one.of_head(head, stack.num_heads) for name, one in stack.projections[layer].items()}
    data = {
        "query_input": rounded(parts["query"].x[queries], digits),
        "key_input": rounded(parts["key"].x[keys], digits) if stack.name == "cross" else None,
    }
    for name, letter in (("query", "q"), ("key", "k"), ("value", "v")):
        data |= {f"w_{letter}": rounded(parts[name].w, digits), f"b_{letter}": rounded(parts[name].b, digits)}
    return data


def rounded(array: Array, digits: int) -> Any:
    """Return an array as lists of numbers with at most so many digits after the point; 0 instead of -0."""
    return (np.round(array, digits) + 0.0).tolist()


def _rounded_numbers(value: Any, digits: int) -> Any:
    """Return data with every float rounded."""
    if isinstance(value, dict):
        return {key: _rounded_numbers(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded_numbers(part, digits) for part in value]
    return round(value, digits) if isinstance(value, float) else value


def _probability(value: float) -> float:
    return round(value, DIGITS["probabilities"])


def to_npz(explanation: Explanation) -> bytes:
    """Return a compressed NPZ file with the arrays of `arrays_of`."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays_of(explanation))
    return file.getvalue()


def arrays_of(explanation: Explanation) -> dict[str, AnyArray]:
    """Return all arrays of an explanation by name, in float32 (about seven digits, half the size of float64)."""
    arrays: dict[str, AnyArray] = {}
    for name, stack in explanation.stacks.items():
        parts = {part: getattr(stack, part) for part in ("weights", "q", "k", "v", "scores", "z")}
        arrays |= {f"{name}_{part}": array for part, array in parts.items() if array is not None}
    traced, rollout = explanation.traced, explanation.rollout
    arrays |= {
        name: array
        for name, array in {
            "encoder_states": traced.encoder_states,
            "decoder_states": traced.decoder_states,
            "encoder_rollout": rollout.encoder,
            "decoder_rollout": rollout.decoder,
            "decoder_to_source_rollout": rollout.decoder_to_source,
        }.items()
        if array is not None
    }
    contributions = explanation.contributions
    arrays |= {f"{name}_by_word": array for name, array in contributions.by_word.items()}
    arrays |= {f"{name}_by_token": array for name, array in contributions.by_token.items()}
    arrays["logits"] = traced.logits.cpu().numpy()
    if any(output.lens for output in explanation.outputs):
        lens = [[layer.probability for layer in output.lens] for output in explanation.outputs]
        arrays["lens_probabilities"] = np.array(lens)
    narrow = {name: array.astype(np.float32) for name, array in arrays.items()}
    for side, row in (("source", explanation.source), ("target", explanation.target)):
        if row is not None:
            narrow[f"{side}_ids"] = np.array(row.ids)
            narrow[f"{side}_pieces"] = np.array(row.pieces)
    return narrow
