"""Random problems of every kind, with the small numbers that exercises have and every convention stated.

A Maker draws one problem; what `solve` refuses (a sum of 0, a variance of 0) is drawn again.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from clearhead.errors import ClearheadError
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet
from student_exact import Data, with_exact_scores
from student_maker import WORDS, Maker

SHOWING = ("self-attention", "masked-self-attention", "cross-attention", "seq2seq-attention", "add-and-norm")
MAX_RECORDS = 140  # longer workings are not realistic exercises


@dataclass(frozen=True)
class Exercise:
    """A problem as plain data, and its exact working."""

    data: Data
    sheet: Worksheet


def random_exercise(seed: int, kinds: tuple[str, ...] = ()) -> Exercise:
    """Return a problem that can be worked, always the same one for a seed."""
    chooser = random.Random(seed)
    for _ in range(200):
        kind = chooser.choice(kinds or tuple(MAKERS))
        maker = Maker(chooser)
        data = draw_problem(maker, kind)
        if maker.decimals == 0 and maker.often(0.5):
            data = with_exact_scores(data, chooser)
        try:
            sheet = solve(data)
        except ClearheadError:
            continue
        names = [(record.symbol, record.where) for record in sheet.trace]
        if 0 < len(sheet.trace) <= MAX_RECORDS and len(set(names)) == len(names):
            return Exercise(data, sheet)
    raise AssertionError(f"seed {seed} gave no problem that can be worked")


def draw_problem(make: Maker, kind: str) -> Data:
    """Draw a problem of a kind; a few show the exponentials of a softmax and the standard deviation of a norm."""
    data = {"kind": kind, "layout": make.layout, **MAKERS[kind](make)}
    if kind in SHOWING and make.often(0.12):
        data["show"] = [make.chooser.choice(["exponentials", "shifted-exponentials"]), "deviation"]
    return data


def _seq2seq(make: Maker) -> Data:
    count, width = make.size(), make.size()
    score = make.chooser.choice(["dot", "scaled-dot", "multiplicative", "additive", "additive-concatenated"])
    state = width if "dot" in score or make.often(0.7) else make.size()
    data: Data = {"score": score, "h": make.matrix(count, width), "s": make.vector(state)}
    inner = make.size()
    if score == "multiplicative":
        data["W"] = make.plain(state, width)
        if make.often(0.4):
            data["order"] = "(sW)h"
    if score == "additive":
        data |= {"W_h": make.plain(inner, width), "W_s": make.plain(inner, state), "v": make.vector(inner)}
    if score == "additive-concatenated":
        data |= {"W": make.plain(inner, width + state), "v": make.vector(inner)}
    if make.often(0.4):
        data["W_c"] = make.plain(make.size(), width + state)
    return data


def _self_attention(make: Maker, heads: str = "") -> Data:
    count, width = make.size(), make.size()
    if not heads and make.often(0.2):
        inner = make.size()
        matrices = {name: make.matrix(count, inner) for name in ("QK" if make.often(0.15) else "QKV")}
        return {**matrices, **make.rule(), "mask": make.mask(count, count)}
    layer = make.attention(width, width, None, heads)
    data = {**make.sentence(count, width), **layer, "mask": make.mask(count, count)}
    if not heads and "heads" not in data and "num_heads" not in data and make.often(0.12):
        cached = make.size()
        inner, value = (len(data[key][0 if make.layout == "rows" else slice(None)]) for key in ("W_K", "W_V"))
        data |= {"cached_K": make.matrix(cached, inner), "cached_V": make.matrix(cached, value)}
        data["mask"] = make.mask(count, cached + count)
    return data


def _masked(make: Maker) -> Data:
    return {**_self_attention(make), "mask": "causal"}


def _cross(make: Maker) -> Data:
    queries, keys, query_width, key_width = (make.size() for _ in range(4))
    data: Data = {"Y": make.matrix(queries, query_width), "X": make.matrix(keys, key_width)}
    return {**data, **make.attention(query_width, key_width, None), "mask": make.mask(queries, keys)}


def _multi_head(make: Maker) -> Data:
    if make.often(0.25):
        queries, keys, query_width, key_width = (make.size() for _ in range(4))
        data: Data = {"Y": make.matrix(queries, query_width), "X": make.matrix(keys, key_width)}
        heads = make.chooser.choice(["split", "own"])
        return {**data, **make.attention(query_width, key_width, None, heads), "mask": make.mask(queries, keys)}
    return _self_attention(make, make.chooser.choice(["split", "own"]))


def _positions(make: Maker) -> Data:
    formula = make.chooser.choice(
        ["sinusoidal"] * 4 + ["sinusoidal-odd-exponent", "learned", "one-hot", "count", "rotary"]
    )
    count, width = make.size(), make.chooser.choice([2, 4, 4, 6])
    data: Data = {"formula": formula}
    if formula == "learned":
        data["P"] = make.matrix(count + 2, width)
    elif formula not in ("one-hot", "count"):
        data["base"] = make.chooser.choice([10000, 10000, 100, 10])
    if formula == "rotary":
        data["pairing"] = make.chooser.choice(["neighbours", "halves"])
    if formula == "rotary" or make.often(0.5):
        return data | make.sentence(count, width, has_position=False)
    if formula != "learned":
        data["d_model"] = width
        if make.often(0.2) and formula != "one-hot":
            data["dimensions"] = sorted(make.chooser.sample(range(width), 2))
    data["positions"] = count if make.often(0.6) else sorted(make.chooser.sample(range(count + 2), 2))
    return data


def _context(make: Maker) -> Data:
    count, width = make.size(), make.size()
    data = make.sentence(count, width, has_position=make.often(0.3))
    data["mask"] = make.mask(count, count)
    source = make.chooser.choice(["weights", "times", "dots", "dots"])
    if source == "weights":
        shares = [[make.chooser.randint(1, 9) / 10 for _ in range(count)] for _ in range(count)]
        data["weights"] = make.turned(shares)
    elif source == "times":
        data |= {"times": sorted(make.chooser.sample(range(8), count)), "variance": make.chooser.choice([1, 2, 4])}
    else:
        data |= make.rule()
        if make.often(0.15):
            data.pop("base", None)
            data["normaliser"] = "none"
    return data


def _add_norm(make: Maker) -> Data:
    count, width = make.size(), make.size()
    data: Data = {"X": make.matrix(count, width), **make.norm(width)}
    if make.often(0.7):
        data["Y"] = make.matrix(count, width)
    if make.often(0.15):
        data |= {"padding": 1, "count_padding": make.often(0.5)}
    return data


def _feed_forward(make: Maker) -> Data:
    width = make.size()
    data = {**make.sentence(make.size(), width), **make.feed_forward(width, make.size())}
    if make.often(0.2):
        data["output_activation"] = make.chooser.choice(["tanh", "sigmoid", "softmax"])
    return data | {"as_convolution": True} if make.often(0.15) else data


def _softmax(make: Maker) -> Data:
    rows = make.chooser.choice([1, 1, 2, 3])
    data: Data = {"scores": make.plain(rows, make.size()) if rows > 1 else make.vector(make.size())}
    if make.often(0.3):
        data["temperature"] = make.chooser.choice([0.5, 2, 4])
    if make.often(0.15):
        data["base"] = make.chooser.choice([2, 3, 10])
    if make.often(0.2):
        data["show"] = make.chooser.choice(["exponentials", "shifted-exponentials"])
    return data


def _dense(make: Maker) -> Data:
    width, out = make.size(), make.size()
    activations = ["none", "relu", "tanh", "sigmoid", "silu", "softmax", "softmax"]
    data = {**make.sentence(make.size(), width), "W": make.matrix(width, out)}
    data["activation"] = make.chooser.choice(activations)
    return data | {"b": make.vector(out)} if make.often(0.6) else data


def _encoder(make: Maker) -> Data:
    count, width = make.chooser.choice([2, 3]), make.size()
    return {**make.sentence(count, width), **make.encoder(width, count)}


def _decoder(make: Maker) -> Data:
    count, width, memory = make.chooser.choice([2, 3]), make.size(), make.size()
    data = {**make.sentence(count, width), "memory": make.matrix(make.size(), memory)}
    return data | make.decoder(width, memory, count)


def _transformer(make: Maker) -> Data:
    width, words = make.chooser.choice([2, 3]), ("<EOS>", "va", "mos")
    data: Data = {
        "source": make.sentence(2, width),
        "encoder": [make.encoder(width, 2)],
        "target_embedding": make.embedding(width, words),
        "decoder": [make.decoder(width, width, None)],
        "W_out": make.matrix(width, len(words)),
        "start": "<EOS>",
        "end": "<EOS>",
    }
    if make.often(0.4):
        data["b_out"] = make.vector(len(words))
    if make.often(0.2):
        data |= {"encoder_norm": make.norm(width), "decoder_norm": make.norm(width)}
    if make.often(0.5):
        return data | {"target": ["va"], "one_by_one": make.often(0.3)}
    return data | {"choose": "greedy", "max_length": make.chooser.choice([1, 2])}


def _word_vectors(make: Maker) -> Data:
    task = make.chooser.choice(["one-hot", "tf-idf", "tf-idf", "look-up", "similarity", "similarity"])
    if task == "one-hot":
        return {"task": task, "tokens": make.words(4)}
    if task == "tf-idf":
        documents = [make.words(make.chooser.choice([3, 4, 5])) for _ in range(3)]
        return {"task": task, "documents": documents, "idf": make.chooser.choice(["N/df", "smooth"])}
    return {"task": task, "embedding": make.embedding(make.size()), "tokens": list(WORDS[:3])}


def _recurrent(make: Maker) -> Data:
    width, state, count = make.size(), make.chooser.choice([2, 3]), make.chooser.choice([2, 3])

    def cell() -> Data:
        data: Data = {"W": make.plain(state, width), "U": make.plain(state, state)}
        return data | {"b": make.vector(state)} if make.often(0.6) else data

    data = {**make.sentence(count, width, has_position=False), "h0": make.vector(state)}
    if make.often(0.3):
        data["output"] = {"W": make.plain(make.size(), state), "after": make.chooser.choice(["last", "every"])}
    if make.often(0.5):
        return data | {"cell": cell()}
    if make.often(0.4):
        gru = {gate: cell() for gate in ("reset", "update", "candidate")}
        if make.often(0.5):
            gru["candidate"]["c"] = make.vector(state)
        rules = {"reset": make.chooser.choice(["before", "after"]), "update": make.chooser.choice(["keep", "replace"])}
        return data | {"gru": gru, **rules}
    gates = {gate: cell() for gate in ("forget", "input", "candidate", "output")}
    return data | {"lstm": gates, "c0": make.vector(state)}


def _convolution(make: Maker) -> Data:
    width, out = make.size(), make.chooser.choice([1, 2, 3])
    data = {
        **make.sentence(make.size(), width, has_position=False),
        "taps": [make.matrix(width, out) for _ in range(make.chooser.choice([1, 2, 3]))],
        "padding": make.chooser.choice(["same", "causal", "valid"]),
        "activation": make.chooser.choice(["none", "relu", "tanh", "sigmoid"]),
    }
    return data | {"b": make.vector(out)} if make.often(0.5) else data


def _parts(make: Maker) -> Data:
    kinds = [kind for kind in MAKERS if kind not in ("parts", "transformer", "decoder-block", "encoder-block")]
    parts = []
    for _ in range(2):
        part = draw_problem(Maker(make.chooser, make.layout), make.chooser.choice(kinds))
        part.pop("layout")
        parts.append(part)
    return {"parts": parts}


MAKERS: dict[str, Callable[[Maker], Data]] = {
    "seq2seq-attention": _seq2seq,
    "self-attention": _self_attention,
    "masked-self-attention": _masked,
    "cross-attention": _cross,
    "multi-head-attention": _multi_head,
    "positions": _positions,
    "context": _context,
    "add-and-norm": _add_norm,
    "feed-forward": _feed_forward,
    "softmax": _softmax,
    "dense-layer": _dense,
    "encoder-block": _encoder,
    "decoder-block": _decoder,
    "transformer": _transformer,
    "word-vectors": _word_vectors,
    "recurrent": _recurrent,
    "convolution": _convolution,
    "parts": _parts,
}
