"""All Steps, in the order in which a Transformer uses them.

A new Step is declared here and then added to each of its consumers; a test lists the consumers that lack it.
"""

from collections.abc import Mapping

from clearhead.steps.step import Step, parse_inputs

EMBED = Step(
    name="embed",
    symbol="X",
    equation="the row of {table} for each token",
    columns_equation="{table} tᵢ, tᵢ the one-hot vector of token i",
    inputs=parse_inputs("ids:T table:VD"),
    axes="BTD",
    sentence="Look up the vector of each token.",
)
POSITION = Step(
    name="position",
    symbol="P",
    equation="PE(pos, dim): {formula}",
    inputs=parse_inputs("positions:T dimensions:D width formula base"),
    axes="TD",
    sentence="Compute a vector for every position.",
)
ANGLE = Step(
    name="angle",
    symbol="θ",
    equation="pos / {base}^(2i/{width})",
    inputs=parse_inputs("positions:T width base"),
    axes="TE",
    sentence="Compute one angle (in radians) for every position and pair of dimensions.",
)
ROTATE = Step(
    name="rotate",
    symbol="R",
    equation="{x}, each pair of dimensions rotated by its angle in {angles}",
    inputs=parse_inputs("x:TE angles:TE pairing"),
    axes="BHTE",
    sentence="Rotate each pair of dimensions by the angle of the token's position.",
)
ADD = Step(
    name="add",
    symbol="X",
    equation="{a} + {b}",
    inputs=parse_inputs("a:TD b:TD"),
    axes="BTD",
    sentence="Add the two matrices, cell by cell.",
)
PROJECT = Step(
    name="project",
    symbol="Y",
    equation="{x} {w}[? + {b}?]",
    columns_equation="{w} {x}[? + {b}?]",
    inputs=parse_inputs("x:TD w:DE b?:E"),
    axes="BTE",
    sentence="Multiply every token's vector by the weight matrix.",
)
TRANSFORM = Step(
    name="transform",
    symbol="Y",
    equation="{w} times each row of {x}[?, + {b}?]",
    columns_equation="{w} times each column of {x}[?, + {b}?]",
    inputs=parse_inputs("x:TD w:ED b?:E"),
    axes="BTE",
    sentence="Multiply the weight matrix by every vector, with the matrix on the left.",
)
SPLIT = Step(
    name="split",
    symbol="Y",
    equation="head {head} of {num_heads} of {x}",
    inputs=parse_inputs("x:TD head num_heads"),
    axes="BHTE",
    sentence="Select the dimensions that belong to this head.",
)
APPEND = Step(
    name="append",
    symbol="K",
    equation="{cached} followed by {new}",
    inputs=parse_inputs("cached:SE new:TE"),
    axes="BHKE",
    sentence="Append the new tokens to the cached ones.",
)
SCORE = Step(
    name="score",
    symbol="S",
    equation="{q} {k}ᵀ",
    columns_symbol="Z",
    columns_equation="{k}ᵀ {q}",
    inputs=parse_inputs("q:QE k:KE"),
    axes="BHQK",
    sentence="Take the dot product of every query with every key.",
)
KERNEL = Step(
    name="kernel",
    symbol="W̃",
    equation="N({key_times}ⱼ; {query_times}ᵢ, {variance})",
    inputs=parse_inputs("query_times:Q key_times:K variance"),
    axes="QK",
    sentence="Weight each token by a normal density centred on the query's time.",
)
SCALE = Step(
    name="scale",
    symbol="S′",
    equation="{scores}[? / √{root_of}?][? / {divisor}?]",
    columns_symbol="Z",
    inputs=parse_inputs("scores:QK root_of? divisor?"),
    axes="BHQK",
    sentence="Divide every score, so that its variance does not grow with the vector size.",
)
MASK = Step(
    name="mask",
    symbol="S″",
    equation="{scores} where {allowed} is 1, {fill} elsewhere",
    columns_symbol="Z″",
    inputs=parse_inputs("scores:QK allowed:QK fill"),
    axes="BHQK",
    sentence="Hide the keys that a query must not attend to.",
)
SHIFT = Step(
    name="shift",
    symbol="D",
    equation="{scores} - the largest number of its row",
    columns_equation="{scores} - the largest number of its column",
    inputs=parse_inputs("scores:QK"),
    axes="BHQK",
    sentence="Subtract the largest score, which does not change the weights.",
)
EXPONENTIATE = Step(
    name="exponentiate",
    symbol="exp",
    equation="[?!base|e?][?{base}?]^{scores}, number by number",
    inputs=parse_inputs("scores:QK base?"),
    axes="BHQK",
    sentence="Compute the exponential of every score.",
)
ROW_SUM = Step(
    name="row_sum",
    symbol="Σ",
    equation="the sum of each row of {x}",
    columns_equation="the sum of each column of {x}",
    inputs=parse_inputs("x:QK"),
    axes="BHQK",
    sentence="Sum the exponentials.",
)
SOFTMAX = Step(
    name="softmax",
    symbol="A",
    equation="[?!exponentials|softmax of each row of {scores}?][?{exponentials} / {total}?][?, base {base}?]",
    columns_symbol="W",
    columns_equation="[?!exponentials|softmax of each column of {scores}?][?{exponentials} / {total}?]"
    "[?, base {base}?]",
    inputs=parse_inputs("scores:QK base? exponentials?:QK total?:QK"),
    axes="BHQK",
    sentence="Convert the scores to weights that sum to 1.",
)
DIVIDE = Step(
    name="divide",
    symbol="A",
    equation="each row of {scores} divided by its sum",
    columns_symbol="W",
    columns_equation="each column of {scores} divided by its sum",
    inputs=parse_inputs("scores:QK"),
    axes="BHQK",
    sentence="Divide the numbers by their sum, so that they sum to 1.",
)
MIX = Step(
    name="mix",
    symbol="Z",
    equation="{weights} {v}",
    columns_symbol="Y",
    columns_equation="{v} {weights}",
    inputs=parse_inputs("weights:QK v:KE"),
    axes="BHQE",
    sentence="Sum the values, each multiplied by its weight.",
)
JOIN = Step(
    name="join",
    symbol="Z",
    equation="[{parts}]",
    columns_symbol="Ỹ",
    inputs=parse_inputs("parts"),
    axes="BTD",
    sentence="Concatenate the vectors of each token.",
)
ACTIVATE = Step(
    name="activate",
    symbol="F",
    equation="{function}({x})",
    inputs=parse_inputs("x:TF function"),
    axes="BTF",
    sentence="Apply the activation function to every number.",
)
MEAN = Step(
    name="mean",
    symbol="μ",
    equation="mean of {x} over {over}",
    inputs=parse_inputs("x:TD over counted?:T"),
    axes="TD",
    sentence="Average the numbers that are normalised together.",
)
VARIANCE = Step(
    name="variance",
    symbol="σ²",
    equation="mean of ({x} - {mean})² over {over}",
    inputs=parse_inputs("x:TD mean:TD over counted?:T"),
    axes="TD",
    sentence="Average the squared distances from the mean.",
)
DEVIATION = Step(
    name="deviation",
    symbol="σ",
    equation="√[?epsilon|(?]{variance}[? + {epsilon}?][?epsilon|)?][? + {epsilon_outside}?]",
    inputs=parse_inputs("variance:TD epsilon? epsilon_outside?"),
    axes="TD",
    sentence="Take the square root of the variance: the standard deviation.",
)
NORMALISE = Step(
    name="normalise",
    symbol="N",
    equation="[?{gain} × ?]({x} - {mean}) / [?{deviation}?][?epsilon_outside|(?][?!deviation|√?][?epsilon|(?]"
    "[?!deviation|{variance}?][? + {epsilon}?][?epsilon|)?]"
    "[? + {epsilon_outside}?][?epsilon_outside|)?][? + {shift}?]",
    inputs=parse_inputs("x:TD mean?:TD variance?:TD epsilon? epsilon_outside? gain?:D shift?:D deviation?:TD"),
    axes="BTD",
    sentence="Subtract the mean and divide by the standard deviation.",
)
ROOT_MEAN_SQUARE = Step(
    name="root_mean_square",
    symbol="RMS",
    equation="√(mean of {x}² over each token[? + {epsilon}?])",
    inputs=parse_inputs("x:TD epsilon?"),
    axes="TD",
    sentence="Average the squares of every token's numbers and take the square root.",
)
RMS_NORMALISE = Step(
    name="rms_normalise",
    symbol="N",
    equation="[?{gain} × ?]{x} / [?!rms|√(mean of {x}²?][? + {epsilon}?][?!rms|)?][?{rms}?]",
    inputs=parse_inputs("x:TD epsilon? gain?:D rms?:TD"),
    axes="BTD",
    sentence="Divide every token's numbers by their root mean square.",
)
CONVOLVE = Step(
    name="convolve",
    symbol="Y",
    equation="Σₖ {x}[t + k] Wₖ[? + {b}?], k starting at {first}, where W is [{taps}]",
    inputs=parse_inputs("x:TD taps first count b?:E"),
    axes="BTE",
    sentence="Slide the filter over the tokens; positions beyond the ends count as 0.",
)
PICK = Step(
    name="pick",
    symbol="x",
    equation="row {row} of {x}",
    columns_equation="column {row} of {x}",
    inputs=parse_inputs("x:TD row"),
    axes="TD",
    sentence="Take the vector of this token.",
)
COPY = Step(
    name="copy",
    symbol="X",
    equation="[?row {row} of ?]{x} of part {part}",
    columns_equation="[?column {row} of ?]{x} of part {part}",
    inputs=parse_inputs("names?:T x:TD part row?"),
    axes="BTD",
    sentence="Use the numbers of an earlier part.",
)
MULTIPLY = Step(
    name="multiply",
    symbol="Y",
    equation="{a} ⊙ {b}",
    inputs=parse_inputs("a:TD b:TD"),
    axes="BTD",
    sentence="Multiply the two matrices, cell by cell.",
)
COMPLEMENT = Step(
    name="complement",
    symbol="(1 - x)",
    equation="1 - {x}",
    inputs=parse_inputs("x:TD"),
    axes="BTD",
    sentence="Subtract every number from 1.",
)
CHOOSE = Step(
    name="choose",
    symbol="ŷ",
    equation="the largest of each row of {probabilities}[?, or where the running sum passes {draw}?]",
    columns_equation="the largest of each column of {probabilities}[?, or where the running sum passes {draw}?]",
    inputs=parse_inputs("probabilities:TV draw?"),
    axes="BTV",
    sentence="Choose the next token and write its index in the vocabulary (from 0).",
)
LOSS = Step(
    name="loss",
    symbol="ℓ",
    equation="-ln of the target's entry in each row of {probabilities}",
    columns_equation="-ln of the target's entry in each column of {probabilities}",
    inputs=parse_inputs("probabilities:TV targets:T"),
    axes="BTV",
    sentence="Take the negative logarithm of the probability of the correct token.",
)
TOTAL = Step(
    name="total",
    symbol="L",
    equation="the sum of {x}",
    inputs=parse_inputs("x:TD"),
    axes="TD",
    sentence="Sum all the numbers.",
)
GRADIENT = Step(
    name="gradient",
    symbol="∂L",
    equation="{probabilities} - y, where y is 1 at the target and 0 elsewhere",
    inputs=parse_inputs("probabilities:TV targets:T"),
    axes="BTV",
    sentence="Compute the gradient with respect to each logit: predicted minus target probability.",
)
ONE_HOT = Step(
    name="one_hot",
    symbol="T",
    equation="1 at the index of the word, 0 elsewhere",
    inputs=parse_inputs("ids:T words:V"),
    axes="TV",
    sentence="Encode every word as a vector with a single 1.",
)
IDF = Step(
    name="idf",
    symbol="idf",
    equation="ln of {rule} for each word of {counts}",
    inputs=parse_inputs("counts:TV rule"),
    axes="TV",
    sentence="Give rare words a larger weight (df is the number of documents, out of N, that contain the word).",
)
LENGTH = Step(
    name="length",
    symbol="|x|",
    equation="√ of the sum of squares of each row of {x}",
    columns_equation="√ of the sum of squares of each column of {x}",
    inputs=parse_inputs("x:QD"),
    axes="BQD",
    sentence="Compute the length of each vector.",
)
COSINE = Step(
    name="cosine",
    symbol="cos",
    equation="{dots} / (|xᵢ| |xⱼ|)",
    inputs=parse_inputs("dots:QK lengths:Q"),
    axes="QK",
    sentence="Divide each dot product by both lengths, so that only the direction counts.",
)

STEPS: Mapping[str, Step] = {
    step.name: step
    for step in (
        EMBED,
        POSITION,
        ANGLE,
        ROTATE,
        ADD,
        PROJECT,
        TRANSFORM,
        SPLIT,
        APPEND,
        SCORE,
        KERNEL,
        SCALE,
        MASK,
        SHIFT,
        EXPONENTIATE,
        ROW_SUM,
        SOFTMAX,
        DIVIDE,
        MIX,
        JOIN,
        ACTIVATE,
        MEAN,
        VARIANCE,
        DEVIATION,
        NORMALISE,
        ROOT_MEAN_SQUARE,
        RMS_NORMALISE,
        CONVOLVE,
        PICK,
        COPY,
        MULTIPLY,
        COMPLEMENT,
        CHOOSE,
        LOSS,
        TOTAL,
        GRADIENT,
        ONE_HOT,
        IDF,
        LENGTH,
        COSINE,
    )
}

POSITION_FORMULAS: Mapping[str, str] = {
    "sinusoidal": "sin(pos / {base}^(2i/d)) at dim 2i, cos(pos / {base}^(2i/d)) at dim 2i+1",
    "sinusoidal-odd-exponent": "sin(pos / {base}^(2i/d)) at dim 2i, cos(pos / {base}^((2i+1)/d)) at dim 2i+1",
    "one-hot": "1 at dim pos, 0 elsewhere",
    "count": "pos in every dimension",
}

# The parts of a model that a where-path can name, and their headings. A number after a part counts from 0.
PLACES: Mapping[str, str] = {
    "part": "Part",
    "encoder": "Encoder layer",
    "decoder": "Decoder layer",
    "input": "Input",
    "target": "Input of the decoder",
    "self_attention": "Self-attention",
    "cross_attention": "Cross-attention",
    "add_and_norm": "Residual and norm",
    "dense": "Dense layer",
    "feed_forward": "Feed-forward",
    "convolution": "Convolution",
    "residual": "Residual",
    "output": "Output layer",
    "generate": "Generated token",
    "teacher": "Teacher forcing",
    "one_by_one": "One word at a time, word",
    "forward": "Forward direction",
    "reverse": "Reverse direction",
    "time": "Time step",
    "forget_gate": "Forget gate",
    "input_gate": "Input gate",
    "candidate_gate": "Candidate",
    "output_gate": "Output gate",
    "reset_gate": "Reset gate",
    "update_gate": "Update gate",
    "kv_head": "Keys and values of head",
    "head": "Head",
    "state": "Decoder state",
}
