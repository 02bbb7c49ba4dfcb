"""The story of a root error in plain words: what is wrong, where it started, what follows, how to put it right."""

from collections.abc import Mapping, Sequence

from clearhead.check.diagnose import RootError
from clearhead.check.verdict import Verdict

REMEDIES: Mapping[str, str] = {
    "no scaling": "Divide every score by √d_k before the softmax.",
    "divided by d_k": "Divide by the square root of d_k, not by d_k itself.",
    "divided by √d_model": "d_k is the width of a query, not of the model: divide by its square root.",
    "multiplied by √d_k": "Divide by √d_k, do not multiply.",
    "scaled, though the question does not scale": "The question leaves the scores as they are: do not divide them.",
    "softmax down the columns": "Each query is a row: divide every exponential by the sum of its own row.",
    "softmax over the whole matrix": "Take each row by itself: its weights sum to 1.",
    "no exp (divided by the sum)": "Take e to the power of every score first, then divide by the sum of the row.",
    "base 2": "Use e = 2.718… as the base of the powers.",
    "base 3": "Use e = 2.718… as the base of the powers.",
    "base 10": "Use e = 2.718… as the base of the powers.",
    "not divided by the sum": "Divide every exponential by the sum of its row.",
    "mask after softmax": "Set hidden scores to -∞ before the softmax, so that the weights that are left sum to 1.",
    "mask with 0 instead of −∞": "e⁰ is 1, so a masked score of 0 still gets weight: use -∞.",
    "mask transposed": "A query may see the keys before it: row i keeps columns up to i.",
    "mask forgotten": "Hide the keys that the query may not see before the softmax.",
    "QK instead of QKᵀ": "Multiply the rows of Q with the rows of K: turn K over first.",
    "KQᵀ": "A row belongs to a query, a column to a key: multiply Q by Kᵀ, not K by Qᵀ.",
    "WX instead of XW": "Each token is a row of X: multiply that row by the columns of W.",
    "weights transposed": "Multiply by the columns of the weights as they are given, not by their rows.",
    "AᵀV": "Row i of the weights goes with the whole of V: do not turn the weights over.",
    "K used for V": "Mix the rows of V: keys only make the scores.",
    "weights not renormalised": "Divide what is left of each row by its new sum.",
    "heads joined in the wrong order": "Put head 1 first, then head 2, and so on.",
    "W_O forgotten": "Multiply the joined heads by W_O.",
    "residual forgotten": "Add what went into the sublayer to what came out of it.",
    "position forgotten": "Add the vector of the position to the vector of the word.",
    "normalised over tokens": "Take mean and variance along each token's own row.",
    "n−1 in the variance": "Divide by n: the norm uses the plain mean of the squares.",
    "ε outside the root": "Add ε to the variance, then take the root.",
    "norm before/after add": "Add first, then take the norm of the sum.",
    "position's 2i taken as the dimension": "Dimensions 2i and 2i+1 share one exponent, 2i/d.",
    "position and dimension swapped": "The position stands above, the dimension in the exponent below.",
    "positions from 1": "The first token stands at position 0.",
    "degrees": "The angle is in radians.",
    "sine and cosine in blocks": "Sines stand at even dimensions, cosines at odd ones, in turn.",
    "bias forgotten": "Add the bias to every row.",
    "h_t used for h_{t−1}": "Each step takes the state that the step before it made.",
    "the bilinear W on the wrong side": "W stands on the left of h: multiply the rows of W by h.",
    "additive score without tanh": "Take tanh of every number before the product with v.",
}  # fmt: skip

_TRANSCRIPTIONS = {
    "sign": "the sign is wrong",
    "decimal slip": "the decimal point is in the wrong place",
    "digit swap": "two digits have changed places",
    "one digit changed": "one digit is different",
    "miscopied": "it was copied down wrongly",
    "miscopied line": "the line was copied down wrongly",
    "rows and columns exchanged": "rows and columns have changed places",
    "two rows exchanged": "two rows have changed places",
    "two numbers exchanged": "two numbers have changed places",
}


def remedy(root: RootError, equation: str, sentence: str) -> str:
    """Say how to put the error right."""
    if root.verdict is Verdict.MISCONCEPTION:
        for name, words in REMEDIES.items():
            if root.name.startswith(name):
                return words
        if " made with W_" in root.name:
            return "Use the weights of the same letter: W_Q for Q, W_K for K, W_V for V."
        if root.name.endswith("forgotten"):
            return f"Do not leave it out: {equation}."
        return f"{sentence} {equation}."
    if root.verdict is Verdict.TRANSCRIPTION:
        return "Copy the number again, and compare it with the line that it comes from."
    if root.verdict is Verdict.INVARIANT:
        return "Work the row again: whatever stands above it, this must hold."
    return f"Work the sum again: {equation}."


def what_is_wrong(root: RootError, line: str, places: Sequence[str], text: str, right: str) -> str:
    """Say in one sentence what is wrong and where."""
    where = f"{line}, {places[0]}" if len(places) == 1 else f"{line}, {len(places)} cells from {places[0]} on"
    if root.verdict is Verdict.MISCONCEPTION:
        comparison = f"Your own lines give {right}, you wrote {text}."
        return f"{where}: these numbers come from a wrong rule: {root.name}. {comparison}"
    if root.verdict is Verdict.TRANSCRIPTION:
        how = _TRANSCRIPTIONS.get(root.name, root.name)
        return f"{where}: you wrote {text}, and it should be {right}: {how}."
    if root.verdict is Verdict.INVARIANT:
        return f"{where}: {root.name}."
    named = f": {root.name}" if root.name else ""
    return f"{where}: you wrote {text}, but your own lines give {right}{named}."


def what_follows(lines: Sequence[str], num_cells: int) -> str:
    """Say what stands below the error."""
    if not num_cells:
        return "Nothing that you wrote follows from it."
    names = ", ".join(dict.fromkeys(lines))
    if num_cells == 1:
        return f"One later number ({names}) follows from it; it is not wrong in itself."
    return f"{num_cells} later numbers ({names}) follow from it; they are not wrong in themselves."
