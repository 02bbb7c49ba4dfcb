"""Find the convention of a working where the question does not fix it: rows or columns, scale, mask, norm …

The working is first compared under the default convention. Other conventions are tried only if some lines remain
unexplained. If one explains more, it is used and reported. A convention that has no place for a written line explains
nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from clearhead.check.limits import WorkLimitError
from clearhead.check.verdict import Verdict
from clearhead.check.working import Note, Working, WrittenLine
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import is_blank
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
    "norm": {
        "layer": "layer norm",
        "batch": "batch norm",
        "all": "a norm over the entire matrix",
        "rms": "RMS norm",
        "none": "no norm",
    },
    "norm_place": {"post": "the norm after the residual", "pre": "the norm before the sublayer"},
    "formula": {
        "sinusoidal": "sine and cosine of the same angle in each pair",
        "sinusoidal-odd-exponent": "2i+1 in the cosine's exponent",
    },
    "reset": {
        "before": "a reset gate that is applied before the product with U",
        "after": "a reset gate that is applied after the product with U",
    },
    "update": {"keep": "z as the weight of the old state", "replace": "z as the weight of the candidate"},
}
# What a problem means that does not state the key; it is tried first, and not again.
_DEFAULTS: Mapping[str, str] = {
    **{"layout": "rows", "scale": "sqrt(d_k)", "normaliser": "softmax", "mask": "none"},
    **{"norm": "layer", "norm_place": "post", "formula": "sinusoidal", "reset": "after", "update": "keep"},
}
_UNEXPLAINED = (Verdict.SLIP, Verdict.TRANSCRIPTION, Verdict.UNSUPPORTED, Verdict.UNCHECKED)
_ATTENTION = ("scale", "normaliser", "mask")
KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "self-attention": ("layout", *_ATTENTION),
    "masked-self-attention": ("layout", "scale", "normaliser"),
    "cross-attention": ("layout", *_ATTENTION),
    "multi-head-attention": ("layout", *_ATTENTION),
    "positions": ("formula",),
    "add-and-norm": ("norm",),
    "encoder-block": ("norm", "norm_place"),
    "decoder-block": ("norm", "norm_place"),
    "recurrent": ("reset", "update"),  # of a GRU
}
IN_LAYER: Mapping[str, tuple[str, ...]] = {
    "encoder-block": ("self_attention",),
    "decoder-block": ("self_attention", "cross_attention"),
}


def compare_by_best_convention(working: Working, compare: Compare) -> "ComparedWorking":
    """Compare a working under the best of the conventions that the question does not exclude."""
    try:
        plain: _Attempt | None = _Attempt({}, compare(working), working)
    except WorkLimitError:
        raise
    except ProblemError:
        plain = None
        if not _open_keys(working.problem):
            raise
    if plain is not None and plain.num_unexplained == 0:
        return plain.compared
    best, is_tied = plain, False
    for change in _alternative_conventions(working.problem):
        if change.get("layout") == "turned" and plain is not None and not plain.compared.placing.misshapen:
            continue  # square matrices alone do not prove it: K Qᵀ is the transpose of Q Kᵀ
        try:
            compared = compare(replace(working, problem=_with_convention(working.problem, change)))
        except ProblemError:
            continue
        attempt = _Attempt(change, compared, working)
        if plain is not None and attempt.unplaced - plain.unplaced:
            continue  # it has no place for a line that was written
        if best is None or attempt.is_better_than(best):
            best, is_tied = attempt, False
        elif best.change and attempt.num_unexplained == best.num_unexplained and len(change) == len(best.change):
            is_tied = True
    if best is None:
        return compare(working)  # raises the error again
    if plain is not None and (best is plain or not _is_convincing(plain, best, is_tied=is_tied)):
        return plain.compared
    words = " and ".join(CHOICES[key][value] for key, value in best.change.items())
    sentence = (
        f"The exercise does not state the convention. Your lines use {words}, so they were marked with that convention."
    )
    best.compared.placing.notes.append(Note("convention", sentence))
    return best.compared


class _Attempt:
    """A working compared under one convention, and the cells of every line that the convention does not explain.

    A line without a place or of the wrong shape counts with all its cells, and so does every cell that cannot be
    checked because of it. Otherwise a convention could win by removing the wrong line.
    """

    def __init__(self, change: Mapping[str, str], compared: "ComparedWorking", working: Working) -> None:
        self.change, self.compared = change, compared
        self.unplaced = frozenset(compared.placing.unplaced)
        self.lost = self.unplaced | {wrong_shape.line for wrong_shape in compared.placing.misshapen}
        self.unexplained = Counter({line: _num_written(working.lines[line]) for line in self.lost})
        self.mask_lines = set[int]()
        for judged in compared.comparison.judged:
            line, node = judged.statement.line, judged.statement.node
            self.unexplained[line] += int(judged.where(*_UNEXPLAINED).sum())
            if node >= 0 and compared.graph.records[node].step.name == "mask":
                self.mask_lines.add(line)

    @property
    def num_unexplained(self) -> int:
        """The number of cells that the convention does not explain."""
        return self.unexplained.total()

    def num_unexplained_without(self, lines: Collection[int]) -> int:
        """The number of such cells, without those of these lines."""
        return sum(count for line, count in self.unexplained.items() if line not in lines)

    def is_better_than(self, other: "_Attempt") -> bool:
        """Return whether it explains more cells; with more changes, at least two more, or a line that was lost."""
        gain = other.num_unexplained - self.num_unexplained
        return gain >= (2 if len(self.change) > len(other.change) and not other.lost - self.lost else 1)


def _num_written(line: WrittenLine) -> int:
    return sum(1 for row in line.cells for cell in row if not is_blank(cell))


def _is_convincing(plain: _Attempt, best: _Attempt, *, is_tied: bool) -> bool:
    """Return whether a convention explains at least two more cells, and most of those that were not explained.

    A mask hides the cells in which slips occur, so it must explain nearly all of them. Masked scores of 0 instead of
    −∞ do not show that scores were divided by their sum: other lines must show it. If another convention explains as
    much, this one must explain everything. Lines that neither can place are left out. One number is enough if it is a
    line that has no place or another shape under the default, and everything is explained.
    """
    ignored = plain.lost & best.lost
    if "normaliser" in best.change:
        ignored |= best.mask_lines
    before, after = plain.num_unexplained_without(ignored), best.num_unexplained_without(ignored)
    share = 0.0 if is_tied else 0.25 if "mask" in best.change else 0.5
    needed = 1 if plain.lost - best.lost and not after else 2
    return before - after >= needed and after <= share * before


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


def _open_keys(problem: Mapping[str, Any]) -> list[str]:
    kind = str(problem.get("kind", ""))
    keys = [key for key in KEYS_BY_KIND.get(kind, ()) if key not in problem]
    if kind in IN_LAYER:
        layers = [problem.get(name) for name in IN_LAYER[kind]]
        if all(isinstance(layer, Mapping) and "scale" not in layer for layer in layers):
            keys.append("scale")
    if kind == "recurrent" and "gru" not in problem:
        return []
    if "norms" in problem and "norm" in keys:
        keys.remove("norm")
    if str(problem.get("layout", "")) == "" and "layout" in keys and kind == "cross-attention" and "X_D" in problem:
        keys.remove("layout")
    return keys


def _alternative_conventions(problem: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Return the other conventions, those with the fewest changes first."""
    keys = _open_keys(problem)
    options = [[None, *(choice for choice in CHOICES[key] if choice != _DEFAULTS[key])] for key in keys]
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
    layers = IN_LAYER.get(str(problem.get("kind", "")))
    if layers and "scale" in change:
        del changed["scale"]
        for name in layers:
            changed[name] = {**problem[name], "scale": change["scale"]}
    return changed


def _transposed(matrix: Any) -> Any:
    """Return the transpose of a matrix, and any other value unchanged."""
    is_full = isinstance(matrix, list | tuple) and all(isinstance(row, list | tuple) for row in matrix)
    return [list(row) for row in zip(*matrix, strict=False)] if is_full else matrix
