"""The problem behind an exercise, inferred from the matrices that it states."""

from clearhead.check.read.chain import Entry, ExerciseContext
from clearhead.check.read.inference import InferredProblem, find_repeats, infer_problem
from clearhead.check.read.latex import Grid
from clearhead.check.read.symbol import Part

UNIT = "1 0 / 0 1"


def entry(name: str, part: Part, text: str, line: int = 1, copied_into: str = "") -> Entry:
    return Entry(name, part, Grid(tuple(tuple(row.split()) for row in text.split(" / "))), line, 0, copied_into)


GIVENS = [entry("X", "X", "1 2 / 3 4"), entry("W_Q", "W_Q", UNIT), entry("W_K", "W_K", UNIT), entry("W_V", "W_V", UNIT)]


def inferred(entries: list[Entry], words: str = "", context: ExerciseContext | None = None) -> InferredProblem:
    return infer_problem(entries, words, "", context or ExerciseContext(), [])


def test_input_and_weights_make_self_attention():
    problem = inferred(GIVENS)
    assert problem.data["kind"] == "self-attention"
    assert problem.data["X"] == [["1", "2"], ["3", "4"]]
    assert problem.used == (0, 1, 2, 3)


def test_a_word_for_the_mask_or_an_infinite_score_makes_it_masked():
    assert inferred(GIVENS, "with a causal mask").data["kind"] == "masked-self-attention"
    assert inferred(GIVENS, "without a mask").data["kind"] == "self-attention"
    assert inferred([*GIVENS, entry("S", "scores", "1 -∞ / 2 3")]).data["kind"] == "masked-self-attention"


def test_the_scale_is_that_of_the_page():
    assert inferred(GIVENS, "QKᵀ/√d_k").data["scale"] == "sqrt(d_k)"
    assert inferred(GIVENS, "QKᵀ/√d_model").data["scale"] == "sqrt(d_model)"
    assert inferred(GIVENS, "no scaling").data["scale"] == "none"
    assert "scale" not in inferred(GIVENS).data


def test_missing_matrices_are_named():
    problem = inferred(GIVENS[:3])
    assert problem.data == {}
    assert [note.kind for note in problem.notes] == ["warning"]
    assert "W_V not found" in problem.notes[0].sentence


def test_states_and_a_decoder_state_make_seq2seq_attention():
    context = ExerciseContext(is_seq2seq=True)
    problem = inferred([entry("h", "h", "1 2 / 3 4"), entry("s", "s", "5 6")], context=context)
    assert problem.data == {"kind": "seq2seq-attention", "h": [["1", "2"], ["3", "4"]], "s": ["5", "6"]}


def test_a_given_that_is_restated_is_not_a_line():
    data = {"X": [[1, 2], [3, 4]]}
    repeats = find_repeats([entry("X", "X", "1 2 / 3 4", line=9), entry("X", "X", "1 2 / 3 5")], data)
    assert repeats.used == (0,)
    assert (repeats.notes[0].place, repeats.notes[0].line) == ("line 9", 9)
