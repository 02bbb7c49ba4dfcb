"""Explanations built from random numbers, as `clearhead explain --json` writes them: every sum in them is true."""

from typing import Any

import numpy as np

SOURCE = ["▁The", "▁black", "▁dog", "▁<b>", "s", "▁over", "▁the", '▁"fence"', "</s>"]
SOURCE_WORDS = [0, 1, 2, 3, 3, 4, 5, 6, None]
TARGET = ["▁Der", "▁schwarze", "▁Hund", "▁springt", "▁über", "▁den", "▁Zaun", "</s>"]
TARGET_WORDS = [0, 1, 2, 3, 4, 5, 6, None]
ALIGNED = [0, 1, 2, 3, 5, 6, 7, 8]
KINDS = ("previous token", "first token", "mixed", "diagonal", "same token")


def translation(layers: int = 3, heads: int = 5, width: int = 7, seed: int = 3) -> dict[str, Any]:
    """Return the explanation of a translation: 9 source tokens, 8 target tokens, with the sums of two heads."""
    draw = np.random.default_rng(seed)
    source = _side('The black dog <b>s over the "fence"', SOURCE, SOURCE_WORDS, 7)
    target = {
        **_side("Der schwarze Hund springt über den Zaun", TARGET, TARGET_WORDS, 7),
        "inputs": ["<s>", *TARGET[:-1]],
    }
    encoder, decoder, cross = (_stack(draw, name, layers, heads, width) for name in ("encoder", "decoder", "cross"))
    return {
        "clearhead_explanation": 2,
        "kind": "translation",
        "digits": {"weights": 4, "probabilities": 6, "log_probs": 4, "contributions": 4, "vectors": 4},
        "model": _model("encoder-decoder", layers, heads, width),
        "source": source,
        "target": {**target, "is_given": False, "has_ended": True},
        "window": None,
        "translation": {
            "text": target["text"], "log_prob": -1.25, "score": -0.31, "settings": {"beam": 3, "length_penalty": 0.6},
            "precision_difference": 3e-7, "differences": [],
        },
        "attention": {name: stack for name, (stack, _) in zip(("encoder", "decoder", "cross"), (encoder, decoder, cross), strict=True)},
        "rollout": _rollout(encoder[0], decoder[0], cross[0]),
        "tokens": [_token(draw, at, layers, TARGET[at]) for at in range(len(TARGET))],
        "methods": {
            "attention_norm": "Attention weight times the norm of the value, over all heads.",
            "gradient_input": "The gradient of log P times the input vector.",
            "leave_out": "The loss of log P when the word is left out.",
        },
        "left_out": [{"word": 2, "source": "The black <b>s", "translation": "Der Schwarze springt"}],
        "search": search(),
        "sums": {f"decoder.{layers - 2}.cross_attention.head.1": cross[1], "encoder.0.self_attention.head.0": encoder[1]},
        "classes": None,
        "notes": [],
    }  # fmt: skip


def text(length: int = 11, layers: int = 2, heads: int = 3, width: int = 5) -> dict[str, Any]:
    """Return the explanation of a text that a decoder-only model wrote."""
    draw = np.random.default_rng(5)
    pieces = [f"▁w{n}" for n in range(length)]
    data = translation()
    stack = _stack(draw, "decoder", layers, heads, width, rows=length)
    target = {
        **_side(" ".join(p[1:] for p in pieces), pieces, list(range(length)), length),
        "inputs": ["<s>", *pieces[:-1]],
    }
    weights = _rollouts([[head["weights"] for head in layer] for layer in stack[0]])
    return {
        **data, "kind": "text", "model": _model("decoder", layers, heads, width), "source": None,
        "target": {**target, "is_given": False, "has_ended": False},
        "attention": {"encoder": None, "decoder": stack[0], "cross": None},
        "rollout": {"formula": FORMULA, "encoder": None, "decoder": weights, "decoder_to_source": None},
        "tokens": [_token(draw, at, layers, pieces[at], length) for at in range(length)],
        "search": None, "sums": {}, "left_out": [],
    }  # fmt: skip


def classes() -> dict[str, Any]:
    """Return the explanation of a classification by an encoder."""
    data = translation()
    token = data["tokens"][0]
    some = [
        {
            "class": n,
            "label": label,
            "probability": probability,
            "contributions": token["contributions"],
            "lens": token["lens"],
        }
        for n, (label, probability) in enumerate([("trade & law", 0.25), ("sport", 0.75)])
    ]
    return {
        **data, "kind": "classes", "model": _model("encoder", 3, 5, 7), "target": None, "translation": None,
        "attention": {"encoder": data["attention"]["encoder"], "decoder": None, "cross": None},
        "rollout": {**data["rollout"], "decoder": None, "decoder_to_source": None},
        "tokens": [], "search": None, "classes": some, "sums": {}, "left_out": [],
    }  # fmt: skip


def long_translation(length: int = 97) -> dict[str, Any]:
    """Return an explanation whose sentence has more tokens than a table of all weights can show."""
    draw = np.random.default_rng(7)
    data = translation()
    pieces = [f"▁s{n}" for n in range(length - 1)] + ["</s>"]
    words: list[int | None] = [*range(length - 1), None]
    data["source"] = _side("long", pieces, words, length - 1)
    for layer in data["attention"]["encoder"]:
        for head in layer:
            head["weights"] = softmax(draw.normal(size=(length, length))).round(4).tolist()
    for layer in data["attention"]["cross"]:
        for head in layer:
            head["weights"] = softmax(3 * draw.normal(size=(len(TARGET), length))).round(4).tolist()
    data["rollout"] = _rollout(*(data["attention"][name] for name in ("encoder", "decoder", "cross")))
    data["tokens"] = [_token(draw, at, 3, TARGET[at], length - 1) for at in range(len(TARGET))]
    data["sums"] = {}
    data["window"] = {
        "source": [0, length],
        "target": [0, 8],
        "source_tokens": 130,
        "target_tokens": 8,
        "note": "The first 97 of 130 source tokens are shown.",
    }
    return data  # fmt: skip


def recurrent(attention: str = "additive") -> dict[str, Any]:
    """Return the explanation of a recurrent model, which has at most one head, in its last layer."""
    data = translation()
    unused = ("heads", "d_ff", "head_width", "norm_place", "positions", "activation")
    own = {"architecture": "recurrent", "cell": "lstm", "attention": attention, "kernel": None}
    data["model"] |= dict.fromkeys(unused) | own
    head = data["attention"]["cross"][2][0]
    data["attention"] = {"encoder": None, "decoder": None, "cross": None if attention == "none" else [[head]]}
    data["rollout"] = {name: None for name in data["rollout"] if "formula" not in name} | {"formula": FORMULA}
    for token in data["tokens"]:
        token |= {"lens": [], "decided_at": None}
        if attention == "none":
            for part in ("contributions", "top"):
                del token[part]["attention_norm"]
            token["agreement"] = {pair: value for pair, value in token["agreement"].items() if "norm" not in pair}
    data["missing"] = [{"part": "logit lens", "reason": "it reads the residual stream <of> a Transformer"}]
    return data | {"sums": {}}


def comparison() -> dict[str, Any]:
    """Return two sentences with one word, whose vectors drift apart."""
    sides = [
        {
            **_side(
                "I bring money to the bank",
                ["▁I", "▁bring", "▁money", "▁to", "▁the", "▁bank", "</s>"],
                [0, 1, 2, 3, 4, 5, None],
                6,
            ),
            "position": [5],
        },
        {
            **_side(
                "The bank of the river", ["▁The", "▁bank", "▁of", "▁the", "▁river", "</s>"], [0, 1, 2, 3, 4, None], 5
            ),
            "position": [1],
        },
    ]
    layers = [
        {"layer": n, "cosine": cosine, "distance": 10 * (1 - cosine)}
        for n, cosine in enumerate([0.97, 0.81, 0.6, 0.52])
    ]
    return {
        "clearhead_comparison": 1, "model": _model("encoder-decoder", 3, 5, 7), "word": "bank", "sides": sides,
        "static_distance": 0.0, "static_cosine": 1.0, "layers": layers,
    }  # fmt: skip


FORMULA = "Ã = ½(Ā + I), R_l = Ã_l R_(l-1)"


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _model(shape: str, layers: int, heads: int, width: int) -> dict[str, Any]:
    return {
        "name": "runs/en-de <small>", "shape": shape, "encoder_layers": layers, "decoder_layers": layers, "heads": heads,
        "d_model": heads * width, "d_decoder": heads * width, "d_ff": 101, "head_width": width, "source_vocabulary": 997,
        "target_vocabulary": 991, "parameters": 123457, "norm_place": "pre", "positions": "sinusoidal",
        "activation": "relu", "precision": "float32",
    }  # fmt: skip


def _side(sentence: str, pieces: list[str], word_of: list[int | None], count: int) -> dict[str, Any]:
    words = ["".join(p for p, w in zip(pieces, word_of, strict=True) if w == n).replace("▁", "") for n in range(count)]
    ids = [17 + n for n in range(len(pieces))]
    return {
        "text": sentence,
        "language": None,
        "pieces": list(pieces),
        "ids": ids,
        "words": words,
        "word_of": list(word_of),
    }


def _stack(draw: Any, name: str, layers: int, heads: int, width: int, rows: int | None = None) -> tuple[Any, Any]:
    """Return the layers of one kind of attention, and q, k, v, scores and z of the last head that was drawn for a sum."""
    num_rows = rows or (len(SOURCE) if name == "encoder" else len(TARGET))
    num_columns = rows or (len(TARGET) if name == "decoder" else len(SOURCE))
    wanted = (layers - 2, 1) if name == "cross" else (0, 0)
    stack, sums = [], {}
    for layer in range(layers):
        line = []
        for head in range(heads):
            q, k, v = (draw.normal(size=(size, width)).round(4) for size in (num_rows, num_columns, num_columns))
            scores = q @ k.T / np.sqrt(width)
            if name == "cross":
                scores[range(num_rows), ALIGNED] += 0.0 if (layer, head) == wanted else 4.0 * draw.random()
            if name == "decoder":
                scores = np.where(np.tri(num_rows, dtype=bool), scores, -np.inf)
            weights = softmax(scores)
            if (layer, head) == wanted:
                sums = {"q": q, "k": k, "v": v, "scores": scores, "z": weights @ v}
            line.append(_head(draw, name, layer, head, weights))
        stack.append(line)
    return stack, {key: value.round(4).tolist() for key, value in sums.items()}


def _head(draw: Any, name: str, layer: int, head: int, weights: Any) -> dict[str, Any]:
    place = {
        "encoder": "encoder.{}.self_attention",
        "decoder": "decoder.{}.self_attention",
        "cross": "decoder.{}.cross_attention",
    }
    kind, share = str(draw.choice(KINDS)), round(float(draw.random()), 2)
    return {
        "name": f"{place[name].format(layer)}.head.{head}", "kind": kind, "confidence": share,
        "offset": -1, "offset_share": share, "first_share": 0.25, "end_share": None if name == "decoder" else 0.125,
        "diagonal_share": share if name == "cross" else None, "weights": weights.round(4).tolist(),
    }  # fmt: skip


def _rollouts(layers: list[Any]) -> list[Any]:
    result, before = [], None
    for heads in layers:
        mean = np.mean(heads, axis=0)
        step = (mean + np.eye(len(mean))) / 2
        before = step if before is None else step @ before
        result.append(before.round(4).tolist())
    return result


def _rollout(encoder: Any, decoder: Any, cross: Any) -> dict[str, Any]:
    weights = {
        key: [[head["weights"] for head in layer] for layer in stack] for key, stack in (("e", encoder), ("d", decoder))
    }
    both = [
        np.concatenate([np.mean([head["weights"] for head in layer], axis=0) / 2, np.eye(len(TARGET)) / 2], axis=1)
        .round(4)
        .tolist()
        for layer in cross
    ]
    return {
        "formula": FORMULA,
        "encoder": _rollouts(weights["e"]),
        "decoder": _rollouts(weights["d"]),
        "decoder_to_source": both,
    }


def _token(draw: Any, at: int, layers: int, own: str, words: int = 7) -> dict[str, Any]:
    probability = round(0.95 - 0.09 * at % 0.6, 6)
    others = [("▁Eine", 0.03), ("▁<i>", 0.01), ('▁"x"', 0.004)]
    best = [
        {"token": 17 + at, "piece": own, "probability": probability},
        *({"token": 50 + n, "piece": p, "probability": q} for n, (p, q) in enumerate(others)),
    ]
    lens = [
        {
            "layer": layer,
            "probability": round(probability * (layer / layers) ** 2, 6),
            "rank": max(0, 40 - 20 * layer) if layer < layers else 0,
            "best": best[:3] if layer == layers else best[1:4],
        }
        for layer in range(layers + 1)
    ]
    names = ("attention_norm", "gradient_input", "leave_out")
    values = {name: draw.normal(size=words) for name in names}
    values["attention_norm"] = softmax(values["attention_norm"])
    top = {name: int(np.abs(values[name]).argmax()) for name in names}
    return {
        "position": at, "token": 17 + at, "piece": own, "probability": probability, "log_prob": round(float(np.log(probability)), 4), "rank": 0,
        "alternatives": best, "lens": lens, "decided_at": layers,
        "contributions": {name: value.round(4).tolist() for name, value in values.items()},
        "piece_contributions": {"attention_norm": [0.1111] * len(SOURCE), "gradient_input": [0.1] * len(SOURCE)},
        "top": top, "agreement": {"attention_norm/gradient_input": 0.4, "attention_norm/leave_out": None, "gradient_input/leave_out": -0.3},
        "is_disputed": len(set(top.values())) > 1,
    }  # fmt: skip


def search() -> dict[str, Any]:
    """Return a beam search with a beam of 3 as a tree, in which the best translation is TARGET."""
    nodes: list[dict[str, Any]] = [_node(0, None, 0, "<s>", 0.0, "start", is_best=True)]
    path, rivals = 0, [0]
    for step, piece in enumerate(TARGET, 1):
        total = -0.15 * step
        is_end = step == len(TARGET)
        nodes.append(_node(len(nodes), path, step, piece, total, "ended" if is_end else "kept", is_best=True))
        path = nodes[-1]["id"]
        following = [path]
        for n, parent in enumerate(rivals[:2]):
            fate = "kept" if n == 0 and not is_end else "dropped"
            nodes.append(
                _node(
                    len(nodes),
                    parent,
                    step,
                    f"▁r{step}{n}",
                    total - 1.0 - n,
                    fate,
                    "3 better candidates were kept" if fate == "dropped" else "",
                )
            )
            if fate == "kept":
                following.append(nodes[-1]["id"])
        rivals = following
    best = [{"text": "Der schwarze Hund springt über den Zaun", "tokens": [], "log_prob": -1.25, "score": -0.31}]
    return {
        "stopped": "after 8 tokens: no unfinished hypothesis can reach a score above -0.9",
        "nodes": nodes,
        "best": best,
    }


def _node(
    number: int,
    parent: int | None,
    step: int,
    piece: str,
    total: float,
    fate: str,
    why: str = "",
    *,
    is_best: bool = False,
) -> dict[str, Any]:
    return {
        "id": number, "parent": parent, "step": step, "token": 17 + number, "piece": piece, "log_prob": -0.15, "total": round(total, 4),
        "score": round(total / 3, 4) if fate == "ended" else None, "fate": fate, "why": why, "dropped_at": None, "is_best": is_best,
    }  # fmt: skip
