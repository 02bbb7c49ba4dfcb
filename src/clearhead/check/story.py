"""Describe a root error in plain words: what is wrong, what it affects and how to correct it."""

from collections.abc import Mapping, Sequence

from clearhead.check.diagnose import RootError
from clearhead.check.verdict import Verdict

REMEDIES: Mapping[str, str] = {
    "no scaling": "Divide every score by √d_k before the softmax.",
    "divided by d_k": "Divide by the square root of d_k, not by d_k itself.",
    "divided by √d_model": "Divide by √d_k. d_k is the size of a query vector, not the size of the model's vectors.",
    "multiplied by √d_k": "Divide by √d_k instead of multiplying.",
    "scaled, but the question has no scaling": "Do not divide the scores: the question does not scale them.",
    "softmax down the columns": "Divide by the sum of the same row (of the same column, if tokens are columns).",
    "softmax over the whole matrix": "Apply the softmax to each row separately: the weights of a row sum to 1.",
    "no exp (divided by the sum)": "First compute e^score for every score, then divide by the sum of the row.",
    "e instead of the base in the question": "Use the base that the question gives.",
    "base 2": "Use e = 2.718… as the base, unless the question gives another one.",
    "base 3": "Use e = 2.718… as the base, unless the question gives another one.",
    "base 10": "Use e = 2.718… as the base, unless the question gives another one.",
    "not divided by the sum": "Divide every exponential by the sum of its row.",
    "mask after softmax": "Set masked scores to -∞ before the softmax, so that the other weights sum to 1.",
    "mask with 0 instead of −∞": "Use -∞: a masked score of 0 still gets weight, because e⁰ = 1.",
    "mask transposed": "A query sees its own key and the keys before it: row i keeps columns 1 to i.",
    "mask forgotten": "Mask the keys that a query must not see before you apply the softmax.",
    "mask inverted": "You hid the keys that the query can see: keep these keys and hide the others.",
    "QK instead of QKᵀ": "Multiply the rows of Q by the rows of K: transpose K first.",
    "KQᵀ": "Each row belongs to a query and each column to a key: multiply Q by Kᵀ, not K by Qᵀ.",
    "WX instead of XW": "Each token is a row of X: multiply that row by the columns of W.",
    "weights transposed": "Multiply by the columns of the weight matrix as it is given, not by its rows.",
    "AᵀV": "Multiply row i of the attention weights by V: do not transpose the weights.",
    "K used for V": "Multiply the attention weights by V: the keys are used only for the scores.",
    "weights not renormalised": "Divide the remaining weights of each row by their new sum.",
    "softmax instead of division": "Divide the numbers by their sum: do not use the exponential function.",
    "divided down the columns": "Divide by the sum of the row, not by the sum of the column.",
    "divided over the whole matrix": "Divide by the sum of the row, not by the sum of the whole matrix.",
    "heads joined in the wrong order": "Put head 1 first, then head 2, and so on.",
    "joined in the wrong order": "Concatenate the vectors in the order of the equation.",
    "W_O forgotten": "Multiply the concatenated heads by W_O.",
    "subtracted instead of added": "Add the two matrices: do not subtract the second one.",
    "multiplied instead of added": "Add the two matrices: do not multiply them.",
    "added instead of multiplied": "Multiply the two matrices, cell by cell: do not add them.",
    "residual forgotten": "Add the input of the sublayer to its output.",
    "only the residual": "Add the output of the sublayer to its input.",
    "position forgotten": "Add the position vector to the word vector.",
    "only the position": "Add the word vector to the position vector.",
    "relu instead of": "Use the activation function that the question gives.",
    "tanh instead of": "Use the activation function that the question gives.",
    "sigmoid instead of": "Use the activation function that the question gives.",
    "sum instead of mean": "Divide the sum by the number of values.",
    "padding included": "Calculate the mean without the padding tokens.",
    "sum of squares, not divided by n": "Divide the sum of the squared deviations by n.",
    "standard deviation instead of variance": "Do not take the square root of the variance.",
    "n−1 in the variance": "Divide by n, not n−1: the norm uses the mean of the squared deviations.",
    "divided by the variance": "Divide by the standard deviation √σ², not by the variance σ².",
    "normalised over tokens": "Do not average over the tokens: layer norm averages each token's features.",
    "normalised over features": "Do not average each token's features: batch norm averages over the tokens.",
    "normalised over the whole matrix": "Use one mean for each token (layer norm) or each feature (batch norm).",
    "ε outside the root": "Add ε to the variance, then take the square root.",
    "ε inside the root": "Take the square root of the variance, then add ε.",
    "norm before the addition": "Add first, then normalise the sum.",
    "2i in the exponent taken as the dimension": "Dimensions 2i and 2i+1 share one exponent, 2i/d.",
    "position and dimension swapped": "The position is the numerator; the dimension is in the denominator's exponent.",
    "positions from 1": "The first token has position 0.",
    "degrees": "The angle is in radians: set the calculator to radians.",
    "sine and cosine in blocks": "Sines and cosines alternate: sines at even dimensions, cosines at odd dimensions.",
    "sine and cosine swapped": "Use the sine at even dimensions and the cosine at odd dimensions.",
    "rotated in the wrong direction": "Rotate by the angle, not by minus the angle: check the signs of the sines.",
    "dimensions paired differently": "Pair the dimensions as the question does: neighbours, or the two halves.",
    "bias forgotten": "Add the bias to every row.",
    "h_t used for h_{t−1}": "Each step uses the state from the step before it.",
    "weights of the": "Every gate has its own weights: use those with the letter of the gate.",
    "z taken as the weight of the candidate": "Here z is the weight of the old state: h = (1 - z) ⊙ n + z ⊙ h.",
    "z taken as the weight of the old state": "Here z is the weight of the candidate: h = (1 - z) ⊙ h + z ⊙ n.",
    "z used for 1 - z": "z and 1 - z are the weights of the old state and of the candidate: see which is which.",
    "1 - z used for z": "z and 1 - z are the weights of the old state and of the candidate: see which is which.",
    "z - 1 instead of 1 - z": "Subtract z from 1, not 1 from z.",
    "reset gate used for the update gate": "The update gate z mixes the states; the reset gate r is for the candidate.",
    "update gate used for the reset gate": "The candidate uses the reset gate r; the update gate z mixes the states.",
    "reset gate applied before": "Here the reset gate multiplies U h (with its bias, if it has one), not h.",
    "reset gate applied after": "Here the reset gate multiplies h, before the product with U.",
    "bias c added outside": "Add c to U h first, then multiply the sum by the reset gate: r ⊙ (U h + c).",
    "W on the wrong side": "In the score sᵀ W h, W is on the left of h: multiply the rows of W by h.",
    "additive score without tanh": "Apply tanh to every number before you multiply by v.",
    "filter reversed": "Use the matrices of the filter in the given order: the first is for the earliest token.",
    "logarithm to base": "Use the natural logarithm (ln).",
    "target minus probability": "Subtract the target from the probability: p - y, not y - p.",
    "not divided by the lengths": "Divide each dot product by the lengths of both vectors.",
}  # fmt: skip

_TRANSCRIPTIONS = {
    "sign": "the sign is wrong",
    "decimal slip": "the decimal point is in the wrong place",
    "digit swap": "two digits are swapped",
    "one digit changed": "one digit is different",
    "miscopied": "it was copied incorrectly",
    "miscopied line": "the line was copied incorrectly",
    "rows and columns exchanged": "rows and columns are swapped",
    "two rows exchanged": "two rows are swapped",
    "two numbers exchanged": "two numbers are swapped",
}
_CORRECTIONS = {  # of a number that was calculated, not copied
    "sign": "Compare the sign on paper with the sign of your calculation.",
    "one digit changed": "Compare the number on paper with your calculation, digit by digit.",
    "decimal slip": "Compare the decimal point on paper with your calculation.",
    "digit swap": "Compare the number on paper with your calculation, digit by digit.",
    "rows and columns exchanged": "Write the result of each row as a row.",
    "two rows exchanged": "Compare the order of the rows with your calculation.",
    "two numbers exchanged": "Compare the order of the numbers with your calculation.",
}

_REWRITTEN = {
    "as if two digits were swapped": "the digits",
    "as if the decimal point were misplaced": "the decimal point",
}


def remedy(root: RootError, equation: str, sentence: str, divisor: float | None = None) -> str:
    """Return a sentence that explains how to correct the error; `divisor` is the number that divides the scores."""
    if root.verdict is Verdict.MISCONCEPTION:
        for name, words in REMEDIES.items():
            if root.name.startswith(name):
                return words if divisor is None else words.replace("√d_k", f"{divisor:g}")
        if " computed with W_" in root.name:
            return "Use the weight matrix with the same letter: W_Q for Q, W_K for K, W_V for V."
        if root.name.endswith("forgotten"):
            return f"Include it: {equation}."
        return f"{sentence} {equation}."
    if root.verdict is Verdict.TRANSCRIPTION:
        if root.judged.copy is None and root.name in _CORRECTIONS:
            return _CORRECTIONS[root.name]
        return "Copy the number again, and compare it with the line that it comes from."
    if root.verdict is Verdict.INVARIANT:
        return "Calculate the row again. This property holds for all correct answers, whatever the earlier lines are."
    if root.name.startswith("as if √"):
        return "Use at least two decimals of the square root."
    if root.name in _REWRITTEN:
        return f"Compare {_REWRITTEN[root.name]} on paper with your calculation."
    if root.broken:
        return "Set masked scores to -∞ before the softmax: masked keys then have weight 0."
    return f"Calculate {'it' if len(root.cells) == 1 else 'them'} again: {equation}."


def what_is_wrong(root: RootError, where: str, text: str, right: str, *, has_lines: bool = True) -> str:
    """Return a sentence that says what is wrong at the place `where`; `has_lines`: a line above it was written."""
    result = f"your own lines give {right}" if has_lines else f"the right number is {right}"
    first = f"In the first of these cells you wrote {text}; {result}."
    if root.verdict is Verdict.MISCONCEPTION:
        return f'{where}: these numbers come from the misconception "{root.name}". {first}'
    if root.verdict is Verdict.TRANSCRIPTION:
        how = _TRANSCRIPTIONS.get(root.name, root.name)
        return f"{where}: you wrote {text}, but it should be {right}: {how}."
    if root.verdict is Verdict.INVARIANT:
        return f"{where}: {root.name}."
    if root.broken:
        return f"{where}: {root.broken}. " + (first if len(root.cells) > 1 else f"You wrote {text}.")
    if len(root.cells) > 1:
        source = "your line above" if has_lines else "the numbers of the exercise"
        what = f"these numbers are {root.name}" if root.name else f"these numbers do not follow from {source}"
        return f"{where}: {what}. {first}"
    if root.name.startswith("as if"):
        return f"{where}: you wrote {text}, {root.name}; {result}."
    named = f": {root.name}" if root.name else ""
    return f"{where}: you wrote {text}, but {result}{named}."


def what_follows(lines: Sequence[str], num_cells: int) -> str:
    """Return a sentence that says which later numbers the error affects."""
    if not num_cells:
        return "No other number that you wrote depends on it."
    names = ", ".join(dict.fromkeys(lines))
    if num_cells == 1:
        return f"One later number ({names}) is affected by it; it is not an error itself."
    return f"{num_cells} later numbers ({names}) are affected by it; they are not errors themselves."
