"""Write an explanation as data for JSON, with a stated number of digits, or as NPZ, with all its arrays in float32.

JSON has at most 64 tokens of each side, so that a page of a long sentence stays small; NPZ has everything.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from clearhead.explain.contributions import METHODS
from clearhead.explain.explanation import ExplainedModel, Explanation
from clearhead.explain.head_kind import HeadStatistics
from clearhead.explain.rollout import FORMULA, SOURCE_FORMULA
from clearhead.explain.traced_pass import AttentionStack, StackName
from clearhead.formats.shapes import num_parameters
from clearhead.model.architecture import unused_settings
from clearhead.worksheet.arrays import AnyArray, Array

FORMAT = 2  # 1 is the file of a search
WINDOW = 64  # tokens of each side
DIGITS = {"weights": 4, "probabilities": 6, "log_probs": 4, "contributions": 4, "vectors": 4, "projections": 6}
_USUAL_DIGITS = 4  # of everything but probabilities and projections
_SETTINGS = {"heads": "num_heads", "head_width": "num_heads"}  # the settings of facts about a model with another name
REMOVED = "removed"  # the kind of a head that a pruned model has lost
_STATISTICS = [field.name for field in fields(HeadStatistics) if field.name not in ("head", "num_queries")]

Span = tuple[int, int]


@dataclass(frozen=True)
class _Window:
    """The tokens of source and target that are written, as (first, end)."""

    source: Span
    target: Span

    def places(self, name: StackName) -> tuple[slice, slice]:
        """Return the queries and the keys of one stack that are written."""
        queries = self.source if name == "encoder" else self.target
        keys = self.target if name == "decoder" else self.source
        return slice(*queries), slice(*keys)

    def cut(self, array: Array | None, name: StackName) -> Array | None:
        """Return the part (…, queries, keys) of an array of one stack."""
        return None if array is None else array[(..., *self.places(name))]


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
        "missing": plain_data(explanation.missing),
        "removed_heads": list(explanation.removed_heads),
        "attention": {name: _stack(explanation, name, window) for name in ("encoder", "decoder", "cross")},
        "rollout": _rollout(explanation, window),
        "tokens": [] if is_classes else outputs[slice(*window.target)],
        "methods": {name: METHODS[name] for name in explanation.contributions.by_word},
        "left_out": plain_data(explanation.left_out),
        "search": plain_data(explanation.search),
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
        "parameters": num_parameters(config),
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
        "prefix": explanation.options.prefix,
        "has_ended": row.ids[-1] == explanation.model.config.eos,
    }


def _translation(explanation: Explanation) -> dict[str, Any] | None:
    choice = explanation.translation
    if choice is None:
        return None
    return {
        "text": choice.text,
        "log_prob": plain_data(choice.hypothesis.log_prob),
        "score": plain_data(choice.hypothesis.score),
        "settings": dict(choice.settings),
        "precision_difference": choice.precision_difference,
        "differences": plain_data(choice.differences),
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
    statistics = explanation.kinds.get(name)
    return {
        "name": name,
        "kind": REMOVED if statistics is None else statistics.kind,
        **{part: plain_data(getattr(statistics, part, None)) for part in _STATISTICS},
        "weights": plain_data(window.cut(stack.weights[layer, head], stack.name)),
    }


def _rollout(explanation: Explanation, window: _Window) -> dict[str, Any]:
    rollout = explanation.rollout
    to_source = rollout.decoder_to_source
    if to_source is not None:
        num_source = to_source.shape[2] - to_source.shape[1]
        queries, keys = window.places("cross")
        own = to_source[..., num_source:][:, queries, queries]
        to_source = np.concatenate([to_source[..., :num_source][:, queries, keys], own], axis=-1)
    return {
        "formula": FORMULA,
        "source_formula": SOURCE_FORMULA,
        "encoder": plain_data(window.cut(rollout.encoder, "encoder")),
        "decoder": plain_data(window.cut(rollout.decoder, "decoder")),
        "decoder_to_source": plain_data(to_source),
    }


def _output(explanation: Explanation, position: int, window: _Window) -> dict[str, Any]:
    contributions = explanation.contributions
    disagreement = contributions.disagreement(position)
    span = slice(*(window.source if explanation.source is not None else window.target))
    by_token = {name: values[position, span] for name, values in contributions.by_token.items()}
    return {
        **plain_data(explanation.outputs[position]),
        "contributions": plain_data({name: values[position] for name, values in contributions.by_word.items()}),
        "piece_contributions": plain_data(by_token),
        "top": dict(disagreement.top),
        "agreement": plain_data(disagreement.agreement),
        "is_disputed": disagreement.is_disputed,
    }


def _sums(explanation: Explanation, window: _Window) -> dict[str, Any]:
    """Return the queries, keys and values of the requested heads, from which every cell can be computed again."""
    sums: dict[str, Any] = {}
    for name, stack in explanation.stacks.items():
        queries, keys = window.places(name)
        for layer, head in stack.kept:
            if stack.head_name(layer, head) in explanation.options.sums:
                assert stack.q is not None
                assert stack.k is not None
                vectors = {
                    "q": stack.q[layer, head, queries],
                    "k": stack.k[layer, head, keys],
                    "v": stack.v[layer, head, keys],
                    "scores": stack.scores[layer, head, queries, keys],
                    "z": stack.z[layer, head, queries],
                }
                sums[stack.head_name(layer, head)] = plain_data(vectors)
                if explanation.options.has_projections:
                    parts = _projections(stack, layer, head, queries, keys)
                    sums[stack.head_name(layer, head)]["projections"] = parts
    return sums


def _projections(stack: AttentionStack, layer: int, head: int, queries: slice, keys: slice) -> Any:
    """Return the inputs, weights and biases from which a head computes its queries, keys and values.

    Keys and values have one input; in self-attention it is that of the queries too, and `key_input` is None.
    """
    parts = {name: one.of_head(head, stack.num_heads) for name, one in stack.projections[layer].items()}
    data = {
        "query_input": parts["query"].x[queries],
        "key_input": parts["key"].x[keys] if stack.name == "cross" else None,
    }
    for name, letter in (("query", "q"), ("key", "k"), ("value", "v")):
        data |= {f"w_{letter}": parts[name].w, f"b_{letter}": parts[name].b}
    return plain_data(data, DIGITS["projections"])


def plain_data(value: Any, digits: int = _USUAL_DIGITS) -> Any:
    """Return a value as data for JSON: dataclasses as dictionaries, arrays as lists, every float rounded.

    Values whose name ends with `probability` have the digits of probabilities. Arrays have 0 instead of -0.
    """
    if isinstance(value, np.ndarray):
        return (np.round(value, digits) + 0.0).tolist()
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, list | tuple):
        return [plain_data(part, digits) for part in value]
    if is_dataclass(value):
        value = vars(value)
    if not isinstance(value, Mapping):
        return value
    return {
        name: plain_data(part, DIGITS["probabilities"] if name.endswith("probability") else digits)
        for name, part in value.items()
    }


def to_npz(explanation: Explanation) -> bytes:
    """Return a compressed NPZ file with all arrays by name, in float32: about seven digits, in half the size."""
    traced, rollout, contributions = explanation.traced, explanation.rollout, explanation.contributions
    arrays: dict[str, AnyArray | None] = {}
    for name, stack in explanation.stacks.items():
        arrays |= {f"{name}_{part}": getattr(stack, part) for part in ("weights", "q", "k", "v", "scores", "z")}
    arrays |= {
        "encoder_states": traced.encoder_states,
        "decoder_states": traced.decoder_states,
        "encoder_rollout": rollout.encoder,
        "decoder_rollout": rollout.decoder,
        "decoder_to_source_rollout": rollout.decoder_to_source,
    }
    arrays |= {f"{name}_by_word": array for name, array in contributions.by_word.items()}
    arrays |= {f"{name}_by_token": array for name, array in contributions.by_token.items()}
    arrays["logits"] = traced.logits.cpu().numpy()
    if any(output.lens for output in explanation.outputs):
        lens = [[layer.probability for layer in output.lens] for output in explanation.outputs]
        arrays["lens_probabilities"] = np.array(lens)
    narrow: dict[str, AnyArray] = {
        name: array.astype(np.float32) for name, array in arrays.items() if array is not None
    }
    for side, row in (("source", explanation.source), ("target", explanation.target)):
        if row is not None:
            narrow[f"{side}_ids"] = np.array(row.ids)
            narrow[f"{side}_pieces"] = np.array(row.pieces)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **narrow)
    return file.getvalue()
