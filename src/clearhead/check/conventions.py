"""Find the convention of a working where the question does not fix it: rows or columns, scale, mask, norm …

The working is first compared under the default convention. Other conventions are tried only if some lines remain
unexplained. If one explains more, it is used and reported.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from clearhead.check.limits import WorkLimitError
from clearhead.check.working import Note, Working
from clearhead.errors import ProblemError
from clearhead.worksheet.reading import parse_problem

if TYPE_CHECKING:
    from clearhead.check.report_writer import ComparedWorking

Compare = Callable[[Working], "ComparedWorking"]
_MAX_TRIED = 96
_MATRICES = ("X", "Y", "W_Q", "W_K", "W_V", "W_O")  # transposed where tokens are columns

# For each key of a problem: its choices, each with its description.
CHOICES: Mapping[str, Mapping[str, str]] = {
    "layout": {
        "rows": "tokens as rows",
        "columns": "tokens as columns",
        "turned": "tokens as columns, every matrix transposed from the question",
    },
    "scale": {
        "none": "no scaling",
        "sqrt(d_k)": "scores divided by √d_k",
        "sqrt(d_model)": "scores divided by √d_model",
    },
    "normaliser": {"softmax": "softmax", "division": "each score divided by the sum of its row"},
    "mask": {"none": "no mask", "causal": "a causal mask"},
    "norm": {"layer": "layer norm", "batch": "batch norm", "all": "a norm over the entire matrix", "none": "no norm"},
    "norm_place": {"post": "the norm after the residual", "pre": "the norm before the sublayer"},
    "formula": {
        "sinusoidal": "sine and cosine of the same angle in each pair",
        "sinusoidal-odd-exponent": "2i+1 in the cosine's exponent",
    },
}
_ATTENTION = ("scale", "normaliser", "mask")
_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "self-attention": ("layout", *_ATTENTION),
    "masked-self-attention": ("layout", "scale", "normaliser"),
    "cross-attention": ("layout", *_ATTENTION),
    "multi-head-attention": ("layout", *_ATTENTION),
    "positions": ("formula",),
    "add-and-norm": ("norm",),
    "encoder-block": ("norm", "norm_place"),
    "decoder-block": ("norm", "norm_place"),
}
_IN_LAYER: Mapping[str, tuple[str, ...]] = {
    "encoder-block": ("self_attention",),
    "decoder-block": ("self_attention", "cross_attention"),
}


def compare_by_best_convention(working: Working, compare: Compare) -> "ComparedWorking":
    """Compare a working under the best of the conventions that the question does not exclude."""
    try:
        plain: ComparedWorking | None = compare(working)
    except WorkLimitError:
        raise
    except ProblemError:
        plain = None
        if not _open_keys(working.problem):
            raise
    if plain is not None and plain.num_wrong == 0:
        return plain
    best, chosen, is_tied = plain, dict[str, str](), False
    for change in _alternative_conventions(working.problem):
        if change.get("layout") == "turned" and plain is not None and not plain.placing.misshapen:
            continue  # square matrices alone do not prove it: K Qᵀ is the transpose of Q Kᵀ
        try:
            other = compare(replace(working, problem=_with_convention(working.problem, change)))
        except ProblemError:
            continue
        if best is None or other.num_wrong < best.num_wrong:
            best, chosen, is_tied = other, change, False
        elif chosen and other.num_wrong == best.num_wrong and len(change) == len(chosen):
            is_tied = True
    if best is None:
        return compare(working)  # raises the error again
    if chosen and not (is_tied and plain is not None) and _is_much_better(plain, best, chosen):
        words = " and ".join(CHOICES[key][value] for key, value in chosen.items())
        sentence = (
            f"The exercise does not state the convention. Your lines use {words}, so they were marked with that "
            "convention."
        )
        best.placing.notes.append(Note("convention", sentence))
        return best
    return plain if plain is not None else best


def check_problem(problem: Mapping[str, Any]) -> None:
    """Raise the error of a problem that cannot be used under any convention that it leaves open."""
    try:
        parse_problem(problem)
    except ProblemError:
        if not any(_is_usable(_with_convention(problem, change)) for change in _alternative_conventions(problem)):
            raise


def _is_usable(problem: Mapping[str, Any]) -> bool:
    try:
        parse_problem(problem)
    except ProblemError:
        return False
    return True


def _is_much_better(plain: "ComparedWorking | None", best: "ComparedWorking", chosen: Mapping[str, str]) -> bool:
    """Return whether a convention explains at least two more cells, and most of those that were wrong.

    A mask hides the cells in which slips occur, so it must explain nearly all of them.
    """
    if plain is None:
        return True
    share = 0.25 if "mask" in chosen else 0.5
    return plain.num_wrong - best.num_wrong >= 2 and best.num_wrong <= share * plain.num_wrong


def _open_keys(problem: Mapping[str, Any]) -> list[str]:
    kind = str(problem.get("kind", ""))
    keys = [key for key in _BY_KIND.get(kind, ()) if key not in problem]
    if kind in _IN_LAYER:
        layers = [problem.get(name) for name in _IN_LAYER[kind]]
        if all(isinstance(layer, Mapping) and "scale" not in layer for layer in layers):
            keys.append("scale")
    if "norms" in problem and "norm" in keys:
        keys.remove("norm")
    if str(problem.get("layout", "")) == "" and "layout" in keys and kind == "cross-attention" and "X_D" in problem:
        keys.remove("layout")
    return keys


def _alternative_conventions(problem: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Return the other conventions, those with the fewest changes first."""
    keys = _open_keys(problem)
    options = [[None, *CHOICES[key]] for key in keys]
    combinations = [
        {key: choice for key, choice in zip(keys, chosen, strict=True) if choice is not None}
        for chosen in product(*options)
    ]
    combinations.sort(key=len)
    yield from combinations[1:_MAX_TRIED]


def _with_convention(problem: Mapping[str, Any], change: Mapping[str, str]) -> dict[str, Any]:
    changed = {**problem, **change}
    if change.get("layout") == "turned":
        changed |= {"layout": "columns"} | {key: _transposed(problem[key]) for key in _MATRICES if key in problem}
        if isinstance(problem.get("heads"), list | tuple):
            changed["heads"] = [{key: _transposed(value) for key, value in head.items()} for head in problem["heads"]]
    layers = _IN_LAYER.get(str(problem.get("kind", "")))
    if layers and "scale" in change:
        del changed["scale"]
        for name in layers:
            changed[name] = {**problem[name], "scale": change["scale"]}
    return changed


def _transposed(matrix: Any) -> Any:
    """Return the transpose of a matrix, and any other value unchanged."""
    is_full = isinstance(matrix, list | tuple) and all(isinstance(row, list | tuple) for row in matrix)
    return [list(row) for row in zip(*matrix, strict=False)] if is_full else matrix
