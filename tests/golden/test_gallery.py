"""Every gallery problem against plain Python lists, its numbers typed in again from the notes."""

import math

import pytest

from clearhead import Worksheet, solve
from clearhead.check import check
from clearhead.worksheet.reading import gallery, read_data
from tests.golden.by_hand import attention, normalised, plus, sinusoid, softmax, times, transpose
from tests.tolerances import assert_close

H = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5], [0.3, 0.4, 0.5, 0.6]]
S = [0.4, 0.5, 0.6, 0.7]
# The three matrices that the masked and the cross-attention example share.
W_Q = [[1, 2, 3], [4, 5, 2], [7, 1, 9]]
W_K = [[1, 6, 9], [7, 3, 1], [9, 2, 1]]
W_V = [[2, 4, 6], [8, 0, 2], [1, 6, 8]]
SENTENCE = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [1.0, 1.1, 1.2]]
SELF = {"Q": [[0.4, 0.4], [-0.3, 0.1]], "K": [[0.4, -0.7], [-0.4, 0.3]], "V": [[-1.1, -0.7], [-0.4, 1.3]]}
CROSS = {"Q": [[1.5, -0.3], [0.3, -1.0]], "K": [[-1.1, 0.3], [-0.3, -0.8]], "V": [[1.1, 0.6], [-1.2, -0.5]]}
MEMORY = [[4.37, -1.01], [0.82, -1.43]]
TABLE = [[7, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]]


def test_every_gallery_problem_has_a_test_here() -> None:
    tested = {name.removeprefix("test_").removesuffix("_is_right").replace("_", "-") for name in globals()}
    assert set(gallery()) <= tested


@pytest.mark.parametrize("name", list(gallery()))
def test_every_gallery_problem_has_a_title(name: str) -> None:
    assert solve(name).title


def test_seq2seq_dot_is_right() -> None:
    sheet = solve("seq2seq-dot")
    # e1 = 0.4*0.1 + 0.5*0.2 + 0.6*0.3 + 0.7*0.4 = 0.04 + 0.10 + 0.18 + 0.28 = 0.60, and so on.
    assert_close(sheet.value("e"), [[0.60, 0.82, 1.04]])
    weights = softmax([0.60, 0.82, 1.04])
    assert_close(sheet.value("α"), [weights])
    context = times([weights], H)[0]
    assert_close(sheet.answer, [context + S])


def test_seq2seq_multiplicative_is_right() -> None:
    sheet = solve("seq2seq-multiplicative")
    W = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5], [0.3, 0.4, 0.5, 0.6], [0.4, 0.5, 0.6, 0.7]]
    # W h2, second number: 0.2*0.2 + 0.3*0.3 + 0.4*0.4 + 0.5*0.5 = 0.04 + 0.09 + 0.16 + 0.25 = 0.54
    assert_close(sheet.value("Wh"), [[0.30, 0.40, 0.50, 0.60], [0.40, 0.54, 0.68, 0.82], [0.50, 0.68, 0.86, 1.04]])
    scores = [sum(s * sum(w * x for w, x in zip(row, h, strict=True)) for s, row in zip(S, W, strict=True)) for h in H]
    assert_close(sheet.value("e"), [scores])
    weights = softmax(scores)
    assert_close(sheet.answer, [times([weights], H)[0] + S])


def test_exam_self_attention_is_right() -> None:
    sheet = solve("exam-self-attention")
    X = [[1, 0.3, 0.4], [1.5, 0.5, 1], [0.3, 1, 0.8]]
    q = times(X, [[0, 0.7, 1], [1, 2, 0.3], [0.5, 1, 1]])
    k = times(X, [[1.8, 1, 1], [1, 0.5, 0.7], [0.2, 1.5, 0.9]])
    v = times(X, [[1, 1.3, 0.4], [2, 1, 2], [1, 1.5, 0.2]])
    # Q, row 1: 1*0 + 0.3*1 + 0.4*0.5 = 0.5; 0.7 + 0.6 + 0.4 = 1.7; 1 + 0.09 + 0.4 = 1.49
    assert_close(sheet.value("Q")[0], [0.5, 1.7, 1.49])
    assert_close(sheet.value("S′"), [[s / math.sqrt(3) for s in row] for row in times(q, transpose(k))])
    assert_close(sheet.answer, attention(q, k, v, math.sqrt(3)))


def test_numerical_self_attention_is_right() -> None:
    sheet = solve("numerical-self-attention")
    # Worked on paper from X and the three matrices; all numbers are integers.
    assert_close(sheet.value("Q"), [[1, 0, 2], [2, 2, 2], [2, 1, 3]])
    assert_close(sheet.value("K"), [[0, 1, 1], [4, 4, 0], [2, 3, 1]])
    assert_close(sheet.value("V"), [[1, 2, 3], [2, 8, 0], [2, 6, 3]])
    # Row 2: 2*0+2*1+2*1 = 4, 2*4+2*4+2*0 = 16, 2*2+2*3+2*1 = 12; row 3: 0+1+3 = 4, 8+4+0 = 12, 4+3+3 = 10
    assert_close(sheet.value("S"), [[2, 4, 4], [4, 16, 12], [4, 12, 10]])
    e = math.exp
    rows = [[e(2), e(4), e(4)], [e(4), e(16), e(12)], [e(4), e(12), e(10)]]
    weights = [[x / math.fsum(row) for x in row] for row in rows]
    assert_close(sheet.value("A"), weights)
    assert_close(sheet.answer, times(weights, [[1, 2, 3], [2, 8, 0], [2, 6, 3]]))


def test_numerical_masked_self_attention_is_right() -> None:
    sheet = solve("numerical-masked-self-attention")
    q, k, v = times(SENTENCE, W_Q), times(SENTENCE, W_K), times(SENTENCE, W_V)
    # Row 2 of the scores: 6.6*4.2 + 3.9*1.8 + 7.6*1.4 = 27.72 + 7.02 + 10.64 = 45.38
    assert_close(sheet.value("S")[1], [45.38, 116.99, 188.6, 260.21])
    assert_close(sheet.value("A")[1], [1 / (1 + math.exp(116.99 - 45.38)), 1 / (1 + math.exp(45.38 - 116.99)), 0, 0])
    assert_close(sheet.answer, attention(q, k, v, is_causal=True))
    assert_close(sheet.answer[0], [2.1, 2.2, 3.4])


def test_numerical_cross_attention_is_right() -> None:
    sheet = solve("numerical-cross-attention")
    q = times([[0.4, 0.1, 0.8], [0.9, 0.7, 0.2]], W_Q)
    k, v = times(SENTENCE, W_K), times(SENTENCE, W_V)
    # 6.4*4.2 + 2.1*1.8 + 8.6*1.4 = 26.88 + 3.78 + 12.04 = 42.70
    assert_close(sheet.value("S")[0, 0], 42.70)
    assert_close(sheet.answer, attention(q, k, v))


def test_lets_go_encoder_is_right() -> None:
    sheet = solve("lets-go-encoder")
    x = [[1.87 + 0.0, 0.09 + 1.0], [-0.78 - 0.9, 0.27 + 0.4]]
    q = times(x, [[1.1, 0.6], [-2.8, 2.4]])
    k = times(x, [[-1.7, 0.5], [-1.5, 0.9]])
    v = times(x, [[1.5, -1.0], [-0.3, -0.2]])
    assert_close(sheet.value("X′"), x)
    # 1.87*1.1 + 1.09*(-2.8) = 2.057 - 3.052 = -0.995
    assert_close(sheet.value("Q")[0, 0], -0.995)
    assert_close(sheet.answer, plus(x, attention(q, k, v)))


def _decode(x: list[list[float]]) -> list[list[float]]:
    z = attention(times(x, SELF["Q"]), times(x, SELF["K"]), times(x, SELF["V"]), is_causal=True)
    x = plus(x, z)
    return plus(x, attention(times(x, CROSS["Q"]), times(MEMORY, CROSS["K"]), times(MEMORY, CROSS["V"])))


def test_lets_go_decoder_eos_is_right() -> None:
    assert_close(solve("lets-go-decoder-eos").answer, _decode([[2.70 + 0.0, -1.34 + 1.0]]))


def test_lets_go_decoder_vamos_is_right() -> None:
    x = [[2.70 + 0.0, -1.34 + 1.0], [-0.86 - 0.9, 2.37 + 0.4]]
    sheet = solve("lets-go-decoder-vamos")
    assert_close(sheet.answer, _decode(x))
    # The first row saw only itself: it is the same as when <EOS> was alone.
    assert_close(sheet.answer[:1], solve("lets-go-decoder-eos").answer)


def test_positions_is_right() -> None:
    answers = solve("positions").answers
    assert_close(answers[0], [[0, 1, 0, 1]])
    assert_close(answers[1], [[math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]])
    assert_close(answers[2], [[math.sin(1), math.cos(0.1), math.sin(0.01), math.cos(0.001)]])
    assert_close(answers[3], [[math.cos(0.03)]])
    assert_close(answers[4], [[math.cos(0.003)]])
    assert_close(answers[5], [[0, 1, 0, 1, 0, 1]])
    assert_close(answers[6], [[sinusoid(pos, dim, 128) for dim in range(128)] for pos in range(50)])


def test_positions_added_is_right() -> None:
    words = [[0.34, 0.56, 0.78, 0.90], [0.56, 0.64, 0.88, 0.76], [0.34, 0.12, 0.39, 0.98]]
    table = [[sinusoid(pos, dim, 4) for dim in range(4)] for pos in range(3)]
    assert_close(solve("positions-added").answer, plus(words, table))


def test_bank_is_right() -> None:
    money = [[0.9, 0.1], [0.5, 0.5], [0.6, 0.3]]
    river = [[0.1, 0.9], [0.5, 0.5], [0.2, 0.8]]
    answers = solve("bank").answers
    # 0.2*0.9 + 0.7*0.5 + 0.1*0.6 = 0.18 + 0.35 + 0.06 = 0.59; 0.02 + 0.35 + 0.03 = 0.40
    assert_close(answers[0], [[0.59, 0.40]])
    # 0.5*0.1 + 0.4*0.5 + 0.1*0.2 = 0.05 + 0.20 + 0.02 = 0.27; 0.45 + 0.20 + 0.08 = 0.73
    assert_close(answers[1], [[0.27, 0.73]])
    assert_close(answers[2], times([[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]], money))
    assert_close(answers[3], times([[0.8, 0.15, 0.05], [0.2, 0.78, 0.02], [0.4, 0.01, 0.59]], river))
    assert_close(answers[4], attention(money, money, money))
    assert_close(answers[5], attention(river, river, river))


def test_leak_is_right() -> None:
    answers = solve("leak").answers
    assert_close(answers[0], [[0.8, 0.1, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])
    # 0.15 and 0.75 remain of the second row: 0.15/0.9 and 0.75/0.9
    assert_close(answers[1], [[1, 0, 0], [0.15 / 0.9, 0.75 / 0.9, 0], [0.1, 0.2, 0.7]])


def test_norms_is_right() -> None:
    answers = solve("norms").answers
    padded = [*TABLE, [0, 0, 0], [0, 0, 0]]
    assert_close(answers[0], transpose([normalised(column, 0) for column in transpose(TABLE)]))
    assert_close(answers[1], [normalised(row, 0) for row in TABLE])
    assert_close(answers[2], transpose([normalised(column, 1e-5) for column in transpose(padded)]))
    assert_close(answers[3][:5], transpose([normalised(column, 1e-5) for column in transpose(TABLE)]))
    assert_close(answers[4], [normalised(row, 1e-5) for row in padded])


def test_lets_go_is_right() -> None:
    """The complete model: the encoder of the notes, its decoder, and this project's own output layer."""
    sheet = solve("lets-go")
    assert sheet.warnings == ("generated: Vamos <EOS>",)
    x = [[1.87, 1.09], [-1.68, 0.67]]
    w_q, w_k, w_v = [[1.1, 0.6], [-2.8, 2.4]], [[-1.7, 0.5], [-1.5, 0.9]], [[1.5, -1.0], [-0.3, -0.2]]
    memory = plus(x, attention(times(x, w_q), times(x, w_k), times(x, w_v)))
    y = [[2.70, -0.34], [-1.76, 2.77]]
    for length, chosen in ((1, "Vamos"), (2, "<EOS>")):
        h = y[:length]
        h = plus(h, attention(times(h, SELF["Q"]), times(h, SELF["K"]), times(h, SELF["V"]), is_causal=True))
        h = plus(h, attention(times(h, CROSS["Q"]), times(memory, CROSS["K"]), times(memory, CROSS["V"])))
        logits = [h[-1][1], h[-1][0], 0.4 * h[-1][0] + 0.4 * h[-1][1] - 0.5]
        place = f"generate.{length - 1}.output"
        assert_close(sheet.value("logits", where=place), [logits])
        assert_close(sheet.value("p", where=place), [softmax(logits)])
        assert ["<EOS>", "Vamos", "ir"][logits.index(max(logits))] == chosen
        assert sheet.value("ŷ", where=place).tolist() == [[float(logits.index(max(logits)))]]


def test_word_vectors_is_right() -> None:
    answers = solve("word-vectors").answers
    king, queen = [0.6, 0.1, 1.0, 0.9], [0.3, 0.2, 0.9, 1.0]
    assert_close(answers[0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert_close(answers[1], [king, queen])
    # 0.6*0.3 + 0.1*0.2 + 1.0*0.9 + 0.9*1.0 = 0.18 + 0.02 + 0.90 + 0.90 = 2.00
    # |king|² = 0.36 + 0.01 + 1.00 + 0.81 = 2.18, |queen|² = 0.09 + 0.04 + 0.81 + 1.00 = 1.94
    alike = 2.00 / (math.sqrt(2.18) * math.sqrt(1.94))
    assert_close(answers[2], [[1, alike], [alike, 1]])
    assert_close(answers[3], [[0.9, 0.1]])


def test_multi_hop_is_right() -> None:
    """Two layers on paper: a query is the first number of a vector, a key its second, a value twice its first."""
    sheet = solve("multi-hop")
    layer, second = "part.0.encoder.0", "part.2.encoder.0"
    # 'it' is (-1, 1): its scores are -1 times the second numbers 0, -1, 1, 1, and 2^0, 2^1, 2^-1, 2^-1 add up to 4.
    assert_close(sheet.value("S", where=f"{layer}.self_attention")[3], [0, 1, -1, -1])
    # The other queries are 1, 0 and 0, but guitar sees only itself, so all their weights are equal.
    weights = [[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [1 / 4, 1 / 2, 1 / 8, 1 / 8]]
    assert_close(sheet.value("A", where=f"{layer}.self_attention"), weights)
    # Values 2, 0, 0, -2. Z: 2; 2/2 = 1; 2/3; 2/4 - 2/8 = 1/4. Added to 1, 0, 0, -1:
    first = [[3, 0], [1, -1], [2 / 3, 1], [-3 / 4, 1]]
    assert_close(sheet.value("R₁", where=f"{layer}.add_and_norm.0"), first)
    # guitar is (1, 0) and wine (0, 1), so the dot products are the two numbers of 'it': wine, which is wrong.
    assert_close(sheet.value("Y", where="part.1.dense"), [[-3 / 4, 1]])
    # Second layer. The query of 'it' is now -3/4; its scores are 0, 3/4, -3/4, -3/4; 2^(3/4) = 1.6818, 2^(-3/4) = 0.5946.
    assert_close(sheet.value("S", where=f"{second}.self_attention")[3], [0, 3 / 4, -3 / 4, -3 / 4])
    up, down = 2**0.75, 2**-0.75
    total = 1 + up + 2 * down
    assert round(total, 4) == 3.8710
    assert_close(
        sheet.value("A", where=f"{second}.self_attention")[3], [1 / total, up / total, down / total, down / total]
    )
    # Values 6, 2, 4/3, -3/2. The kitchen's was 0 and is now 2: it has read the guitar.
    assert_close(sheet.value("V", where=f"{second}.self_attention.value"), [[6, 0], [2, 0], [4 / 3, 0], [-3 / 2, 0]])
    # 6·0.2583 + 2·0.4345 + (4/3 - 3/2)·0.1536 = 1.5500 + 0.8689 - 0.0256 = 2.3933, and -0.75 + 2.3933 = 1.6433: guitar.
    last = -3 / 4 + (6 + 2 * up + (4 / 3 - 3 / 2) * down) / total
    assert round(last, 4) == 1.6433
    assert_close(sheet.answer, [[last, 1]])


def test_a_faultless_working_of_multi_hop_earns_full_marks_and_a_wrong_digit_is_found() -> None:
    # On paper, to two decimals: 1/3.871 = 0.26, 1.682/3.871 = 0.43, 0.595/3.871 = 0.15, and -0.75 + 2.39 = 1.64.
    first = {"A": [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.33, 0.33, 0.33, 0], [0.25, 0.5, 0.125, 0.125]]}
    first["Z"] = [[2, 0], [1, 0], [0.67, 0], [0.25, 0]]
    second = {"A": [[1, 0, 0, 0], [0.67, 0.33, 0, 0], [0.31, 0.20, 0.49, 0], [0.26, 0.43, 0.15, 0.15]]}
    second["Z"] = [[6, 0], [4.67, 0], [2.91, 0], [2.39, 0]]
    written = {"part.0": first, "part.1": {"Y": [[-0.75, 1]]}, "part.2": second, "part.3": {"Y": [[1.64, 1]]}}
    (report,) = check({"problem": "multi-hop", "written": written})
    assert report.earned == report.out_of > 0
    assert not report.has_error
    (report,) = check({"problem": "multi-hop", "written": {**written, "part.3": {"Y": [[1.46, 1]]}}})
    assert [(report.lines[error.line].symbol, error.cells) for error in report.findings] == [("Y", ((0, 0),))]
    assert report.earned < report.out_of


def test_without_what_the_kitchen_reads_two_layers_are_wrong_too() -> None:
    data = dict(read_data(gallery()["multi-hop"].read_bytes()))
    layer = data["parts"][0]
    sees = {"explicit": [[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]}
    cut = {**layer, "self_attention": {**layer["self_attention"], "mask": sees}}
    guitar, wine = solve({**data, "parts": [cut, *data["parts"][1:]]}).answer[0]
    assert guitar < wine


def test_the_answer_of_a_sheet_is_its_last_line() -> None:
    sheet = solve("lets-go-encoder")
    assert isinstance(sheet, Worksheet)
    assert sheet.answer is sheet.steps[-1].value
