"""A sheet from a trained model: one head of a traced sentence, shrunk to a size that can be worked by hand.

Queries and keys are projected on the two directions that keep the scores best (the singular value decomposition of
Q Kᵀ), and values on their two principal directions; all numbers are rounded to one decimal. The sheet says what was
done. Such a sheet cannot be drawn again from its number, so it needs its key file.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.errors import QuizError
from clearhead.quiz.blanks import choose_blanks
from clearhead.quiz.chance import Chance
from clearhead.quiz.draw import told_apart_by
from clearhead.quiz.instructions import write_instructions
from clearhead.quiz.number import TRACE_PREFIX, VERSION, check_letter
from clearhead.quiz.request import QuizRequest, check_request
from clearhead.quiz.sheet import QuizSheet, blank_cells
from clearhead.quiz.tidy import MAX_GAP
from clearhead.steps import Record
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.part import load_sheet
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView, propagate_names
from clearhead.worksheet.worksheet import Worksheet

WIDTH = 2  # dimensions of a query, a key and a value on the sheet
MAX_TOKENS = 3
_LISTED = 12  # heads that an error lists
_DECIMALS = 1  # of the numbers on the sheet


@dataclass(frozen=True, eq=False)
class _Head:
    """The matrices of one head of a trace, cut to a few tokens."""

    q: Array
    k: Array
    v: Array
    divisor: float
    allowed: Array
    queries: tuple[str, ...]
    keys: tuple[str, ...]


def sheet_from_trace(path: str | Path, where: str, decimals: int = 2, blanks: str = "all") -> QuizSheet:
    """Return a sheet on one head of the trace in a file; `where` is its path, encoder.0.self_attention.head.2."""
    traced = load_sheet(path)
    head = _head_at(traced, where, str(path))
    problem, notes = _shrunk(head, traced.title or Path(path).stem, where)
    request = QuizRequest(problem["kind"], 3, blanks=blanks, decimals=decimals)
    check_request(request)
    problem["rounding"] = {"lines": "rounded", "decimals": decimals, "ties": "half-up"}
    number = _number(problem, blanks)
    problem["title"] = f"{where} of a trained model · sheet {number}"
    key = solve(parse_problem(problem))
    patterns = choose_blanks(request, key, Chance(number))
    view = SheetView(key, patterns)
    rules, _ = told_apart_by(problem, key, view)
    lines = [step.record for step in view.steps if blank_cells(step)]
    sentences = (*write_instructions(request, key, lines), *notes)
    return QuizSheet(request, number, problem, key, patterns, sentences, rules)


def _number(problem: dict[str, Any], blanks: str) -> str:
    content = json.dumps([problem, blanks], sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
    body = f"{TRACE_PREFIX}-v{VERSION}-{digest[:8]}"
    return f"{body}-{check_letter(body)}"


def _head_at(traced: Worksheet, where: str, name: str) -> _Head:
    scores = [record for record in traced.trace if record.step.name == "score"]
    own = [record for record in scores if record.where == where or record.where.startswith(f"{where}.")]
    if len(own) != 1:
        places = [record.where for record in scores]
        shown = ", ".join(places[:_LISTED]) + (" …" if len(places) > _LISTED else "")
        fact = f"'{where}' contains {len(own)} heads" if own else f"'{where}' is not a head of this trace"
        raise QuizError(f"{name}: {fact}. Heads: {shown or 'none'}. Give one of them.", options=("where",))
    score = own[0]
    here = [record for record in traced.trace if record.where == score.where]
    softmax, mix = _only(here, "softmax", name), _only(here, "mix", name)
    scale = next((record for record in here if record.step.name == "scale"), None)
    mask = next((record for record in here if record.step.name == "mask"), None)
    names = _names(traced, softmax)
    q, k, v = (np.asarray(value, dtype=np.float64) for value in (score.inputs["q"], score.inputs["k"], mix.inputs["v"]))
    allowed = np.ones(score.value.shape, dtype=bool) if mask is None else np.asarray(mask.inputs["allowed"], dtype=bool)
    num_queries, num_keys = min(len(q), MAX_TOKENS), min(len(k), MAX_TOKENS)
    allowed = np.broadcast_to(allowed, score.value.shape)[:num_queries, :num_keys]
    if num_queries < 1 or num_keys < 2:
        raise QuizError(f"{name}: {where} has {num_keys} key; a sheet needs two or more. Trace a longer sentence.")
    if not allowed.any(axis=1).all():
        raise QuizError(
            f"{name}: in {where} a token can attend to none of the first {num_keys} keys. Choose another head."
        )
    return _Head(
        q[:num_queries],
        k[:num_keys],
        v[:num_keys],
        _divisor(scale),
        allowed,
        names[0][:num_queries],
        names[1][:num_keys],
    )


def _only(records: list[Record], step: str, name: str) -> Record:
    matches = [record for record in records if record.step.name == step]
    if len(matches) != 1:
        raise QuizError(f"{name}: this head has {len(matches)} steps '{step}'; one is needed. Choose another head.")
    return matches[0]


def _divisor(scale: Record | None) -> float:
    if scale is None:
        return 1.0
    root_of = scale.inputs.get("root_of")
    return float(np.sqrt(root_of)) if root_of is not None else float(scale.inputs["divisor"])


def _names(traced: Worksheet, softmax: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the queries and of the keys, where the trace has them."""
    labels = {id(matrix.value): (matrix.rows, matrix.columns) for matrix in traced.trace.givens.values()}
    for record in traced.trace:
        labels[id(record.value)] = propagate_names(record, labels)
        if record is softmax:
            break
    rows, columns = labels[id(softmax.value)]
    return tuple(rows), tuple(columns)


def _shrunk(head: _Head, title: str, where: str) -> tuple[dict[str, Any], list[str]]:
    """Return the problem of a shrunk head, and sentences that say what was done."""
    scaled = head.q @ head.k.T / head.divisor
    left_vectors, sizes, right_vectors = np.linalg.svd(scaled, full_matrices=False)
    root = np.sqrt(sizes[:WIDTH] * np.sqrt(WIDTH))  # so that Q Kᵀ / √2 gives the scaled scores of the model
    q, k = _filled(left_vectors[:, :WIDTH] * root), _filled(right_vectors[:WIDTH].T * root)
    sign = np.where(q.sum(axis=0) < 0, -1.0, 1.0)
    q, k = q * sign, k * sign
    principal = np.linalg.svd(head.v, full_matrices=False)[2][:WIDTH]
    v = _filled(head.v @ principal.T)
    v = v * np.where(v.sum(axis=0) < 0, -1.0, 1.0)
    gap = _largest_gap(q @ k.T / np.sqrt(WIDTH), head.allowed)
    factor = min(1.0, MAX_GAP / gap) if gap else 1.0
    matrices = {name: _tenths(value) for name, value in (("Q", q * factor), ("K", k), ("V", v))}
    while _largest_gap(np.array(matrices["Q"]) @ np.array(matrices["K"]).T / np.sqrt(WIDTH), head.allowed) > MAX_GAP:
        factor *= 0.9
        matrices["Q"] = _tenths(q * factor)
    share = float(np.sum(sizes[:WIDTH] ** 2) / np.sum(sizes**2)) if np.any(sizes) else 1.0
    is_cross = "cross_attention" in where.split(".")
    problem: dict[str, Any] = {"kind": "cross-attention" if is_cross else "self-attention", "layout": "rows"}
    problem |= {**_tokens(head, is_cross), **matrices}
    problem |= {"scale": "sqrt(d_k)", "normaliser": "softmax"}
    is_masked = not head.allowed.all()
    problem["mask"] = {"explicit": head.allowed.astype(int).tolist()} if is_masked else "none"
    notes = [
        f"These are numbers of a trained model: {where}, traced on '{title}', the first {len(head.q)} queries and "
        f"{len(head.k)} keys.",
        f"Queries and keys of width {_width(head)} were projected on {WIDTH} dimensions, the singular directions of "
        f"Q Kᵀ with the largest singular values, which keep {share:.0%} of the squared scores; values were projected "
        f"on their first {WIDTH} principal directions. All numbers were rounded to one decimal.",
    ]
    if factor < 1.0:
        notes.append(f"Queries were multiplied by {factor:.2f}, so that no row of scores saturates the softmax.")
    return problem, notes


def _tokens(head: _Head, is_cross: bool) -> dict[str, Any]:
    """Return the names of the tokens, where the trace has them and they differ."""
    has_names = len(set(head.queries)) == len(head.q) and len(set(head.keys)) == len(head.k)
    if not has_names:
        return {}
    if is_cross:
        return {"tokens": list(head.queries), "source_tokens": list(head.keys)}
    return {"tokens": list(head.queries)} if head.queries == head.keys else {}


def _width(head: _Head) -> int:
    return int(head.q.shape[1])


def _filled(matrix: Array) -> Array:
    """Return a matrix with at least WIDTH columns; missing ones are 0."""
    missing = WIDTH - matrix.shape[1]
    return np.pad(matrix, ((0, 0), (0, missing))) if missing > 0 else matrix


def _largest_gap(scores: Array, allowed: Array) -> float:
    return max(float(np.ptp(row[own])) for row, own in zip(scores, allowed, strict=True))


def _tenths(matrix: Array) -> list[list[float]]:
    return [[round(float(number), _DECIMALS) + 0.0 for number in row] for row in matrix]
