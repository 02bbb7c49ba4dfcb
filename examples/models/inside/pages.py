"""The pages of look_inside.py: Markdown for each sentence, pictures, and the worked head as a page and as a file.

Nothing is computed here: every number is read from the sheets of a traced model and rounded to be shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from inside.heads import Heads
from inside.looks import SHOWN, Look, value_of

from clearhead.decoding.alignment import Head
from clearhead.files.writing import write_file
from clearhead.model import ModelConfig
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.render.markdown import escape
from clearhead.worksheet.render.svg import matrix_svg
from clearhead.worksheet.render.text import ELLIPSIS, label
from clearhead.worksheet.rounding import Digits
from clearhead.worksheet.view import MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Worksheet

COLUMNS = 8  # of a wide matrix on a page


@dataclass(frozen=True)
class About:
    """The model that is looked at."""

    name: str
    config: ModelConfig

    def __str__(self) -> str:
        config = self.config
        return (
            f"{self.name}: {config.encoder_blocks} encoder and {config.decoder_blocks} decoder blocks, "
            f"{config.d_model} numbers for each token, {config.num_heads} heads of {config.d_model // config.num_heads}"
        )


def write_pages(looks: Sequence[Look], about: About, folder: Path) -> None:
    """Write the pages, each file whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, look in enumerate(looks, 1):
        name = f"sentence-{number}"
        across = replace(look.across, rounding=SHOWN)
        files = {
            f"{name}.md": page(look, name),
            f"{name}-head.html": across.to_html("matrices"),
            f"{name}-alignment.svg": matrix_svg(alignment(look)),
            f"{name}-unmasked.svg": matrix_svg(_rounded(SheetView(look.unmasked).steps[0].matrix)),
            f"{name}-masked.svg": matrix_svg(_rounded(step_of(shown(look.own), "softmax").matrix)),
        }
        for file, text in files.items():
            write_file(folder / file, text.encode())
        write_file(folder / f"{name}-head.json", look.across.to_json() + b"\n")
    write_file(folder / "index.md", index(looks, about).encode())


# The pages


def index(looks: Sequence[Look], about: About) -> str:
    """Return the page that leads to the others."""
    heads = looks[0].heads
    lines = [
        "# Inside a trained model",
        "",
        "Written by `python examples/models/look_inside.py RUN SENTENCES`.",
        "",
        f"{str(about)[:1].upper()}{str(about)[1:]}. Each sentence was translated, and the pass that gives the "
        "translation its probability was traced in float64: every step of it is a line of arithmetic. The pages show "
        f"one head of cross-attention, {_in_words(heads.across)}, and its alignment. {_why(heads)} They "
        "also show what the mask of self-attention hides, in the head that would look ahead most, "
        f"{_in_words(heads.own)}.",
        "",
        "The marker of students' workings has marked each whole trace, line by line, by its own arithmetic.",
        "",
        "| sentence | translation | P | the trace, marked |",
        "|---|---|---:|---|",
    ]
    for number, look in enumerate(looks, 1):
        probability = float(np.prod([choice.probability for choice in look.choices]))
        lines.append(
            f"| [{escape(look.ids.sentence)}](sentence-{number}.md) | {escape(look.ids.text)} | {probability:.3f} | "
            f"{look.marks} |"
        )
    lines += [
        "",
        "The head of each page is also a file, with every digit: `clearhead check docs/inside/sentence-1-head.json` "
        "marks it, and `clearhead solve --from-trace docs/inside/sentence-1-head.json --detail products` prints its "
        "sums.",
    ]
    return "\n".join(lines) + "\n"


def page(look: Look, name: str) -> str:
    """Return the page of one sentence."""
    lines = [f"# {escape(look.ids.sentence)}", "", f"**{escape(look.ids.text)}**", ""]
    if not look.ids.has_ended:
        lines += [
            "It came to no end before the limit of its length, so that the end is put in the place of its last token.",
            "",
        ]
    lines += [*_tokens(look), *_alignment(look, name), *_worked(look, name), *_mask(look, name)]
    lines += [
        "## Marked",
        "",
        "The marker works every line again from the lines above it, with code of its own.",
        "",
        f"- The whole trace of this sentence: {look.marks}.",
        f"- The head above, from [its file]({name}-head.json): {look.head_marks}.",
    ]
    return "\n".join(lines) + "\n"


def _tokens(look: Look) -> Iterator[str]:
    yield from ("## Token by token", "")
    yield "▁ begins a word. *P* is the probability of the token after all that stands before it."
    yield from ("", "| token | P | next best | its P |", "|---|---:|---|---:|")
    for choice in look.choices:
        yield _row((choice.token, _small(choice.probability), choice.other, _small(choice.other_probability)))
    yield ""


def _alignment(look: Look, name: str) -> Iterator[str]:
    heads = look.heads
    yield from ("## The alignment", "")
    row = "which reads it, just after it was written" if heads.is_shifted else "which writes it, just before it is read"
    yield (
        f"The weights of {_in_words(heads.across)}: a row for each token of the translation, a column for each token "
        f"of the sentence. A token's row is the one {row}: in this head that row finds the token's source better."
    )
    yield from ("", f"![The weights of each token of the translation on the sentence]({name}-alignment.svg)", "")
    yield "The last column tells, without attention, which token of the sentence each one needs most: if that one is"
    yield "left out, the probability of the written token falls furthest."
    yield from ("", "| token | looks most at | weight | needs most |", "|---|---|---:|---|")
    for (source, target), (needed, _) in zip(look.links, look.needed, strict=True):
        weight = f"{look.weights[target, source]:.3f}"
        yield _row((look.choices[target].token, look.source_tokens[source], weight, look.source_tokens[needed]))
    yield ""


def _worked(look: Look, name: str) -> Iterator[str]:
    view = shown(look.across)
    yield from (f"## The head, worked: {look.heads.across_place}", "")
    yield f"The same sheet [as a page of its own]({name}-head.html) shows where each number comes from."
    yield ""
    for step in view.steps:
        for matrix in (given_matrix for given_matrix in step.givens if given_matrix.symbol != "M"):
            yield from (f"**{escape(matrix.symbol)}**, {matrix.size}, as it comes into the head", "", *_table(matrix))
        equation = f"**{escape(step.matrix.symbol)} = {escape(step.equation)}**"
        if step.step.name == "mask":
            yield from (f"{equation}: a lone sentence has no padding to hide, so that nothing changes.", "")
        else:
            yield from (equation, "", step.step.sentence, "", *_table(step.matrix))
    source, target = max(look.links, key=lambda link: look.weights[link[1], link[0]])
    row = target + look.heads.is_shifted
    yield from (f"One cell of each, in full, for the row that aligns {escape(look.choices[target].token)}:", "")
    for step_name, column in (("score", source), ("scale", source), ("softmax", source), ("mix", 0)):
        step = step_of(view, step_name)
        line = step.cell_line(row, column)
        assert line is not None, "these steps all have a sum behind each cell"
        place = f"{step.matrix.symbol}[{step.matrix.row_name(row)}, {step.matrix.column_name(column)}]"
        yield f"- {escape(place)}: {escape(line)}"
    yield ""


def _mask(look: Look, name: str) -> Iterator[str]:
    view, scaled = shown(look.own), value_of(look.own, "scale")
    without, future = value_of(look.unmasked, "softmax"), hidden_cells(look)
    yield from (f"## What the mask hides: {look.heads.own_place}", "")
    yield (
        "The row of a token may see that token and those before it. All the others are written later: the mask sets "
        "their scores to -∞, and the softmax turns that into a weight of 0. No training has ever told the model what "
        "these scores should be."
    )
    yield from ("", "The scores before the mask:", "", *_table(step_of(view, "scale").matrix))
    yield from ("The scores after it:", "", *_table(step_of(view, "mask").matrix))
    yield from ("What the weights would have been without it, and what they are:", "")
    yield from (f"![Weights without the mask]({name}-unmasked.svg)", "", f"![Weights]({name}-masked.svg)", "")
    yield from ("| row | would have gone to later tokens | most of it to |", "|---|---:|---|")
    names = step_of(view, "softmax").matrix
    share = 100 * np.where(future, without, 0.0).sum() / len(scaled)
    for row in range(len(scaled)):
        later = np.where(future[row], without[row], 0.0)
        most = f"{escape(names.column_name(int(later.argmax())))} ({later.max():.3f})" if future[row].any() else "—"
        yield f"| {escape(names.row_name(row))} | {later.sum():.3f} | {most} |"
    yield from ("", f"Without the mask, {share:.1f} % of all weights would be on later tokens.", "")


# Their parts


def shown(sheet: Worksheet) -> SheetView:
    """Return a sheet as it stands on a page."""
    return SheetView(replace(sheet, rounding=SHOWN))


def step_of(view: SheetView, name: str) -> StepView:
    """Return the one step of a name."""
    return next(step for step in view.steps if step.step.name == name)


def alignment(look: Look) -> MatrixView:
    """Return the weights with the tokens that the rows read."""
    weights, tokens = look.weights.round(3), tuple(choice.token for choice in look.choices[:-1])
    return MatrixView("alignment", weights, tokens, look.source_tokens, Digits(weights, SHOWN))


def hidden_cells(look: Look) -> Array:
    """Return which cells of the head of self-attention the mask hides."""
    return np.asarray(np.isneginf(value_of(look.own, "mask")))


def _rounded(matrix: MatrixView) -> MatrixView:
    """Return a matrix whose small numbers are plain zeros: a picture shows them as colours."""
    value = matrix.value.round(3)
    return replace(matrix, value=value, digits=Digits(value, SHOWN))


def _table(matrix: MatrixView) -> Iterator[str]:
    """Return a matrix as a table: all of it where columns are tokens, else its first columns and its last."""
    height, width = matrix.value.shape
    is_whole = bool(matrix.columns) or width <= COLUMNS
    columns = list(range(width)) if is_whole else [*range(COLUMNS - 1), width - 1]
    lines = [[label(matrix.column_name(j)) for j in columns]]
    lines += [[matrix.digits.text(i, j) for j in columns] for i in range(height)]
    if not is_whole:
        for line in lines:
            line.insert(-1, ELLIPSIS)
    yield _row(["", *lines[0]])
    yield "|---" + "|---:" * len(lines[0]) + "|"
    for row, line in enumerate(lines[1:]):
        yield _row([label(matrix.row_name(row)), *line])
    yield from ("", *([] if is_whole else [f"*{COLUMNS} of the {width} columns are shown.*", ""]))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def _small(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 0.00005 else f"{probability:.0e}"


def _in_words(head: Head) -> str:
    return f"head {1 + (head.head or 0)} of decoder block {head.block + 1}"


def _why(heads: Heads) -> str:
    agreement = f"{heads.num_agreeing} of the {heads.num_links} tokens of the translations"
    if heads.is_asked:
        return f"For {agreement} it looks most at the source token that they need most."
    return f"For {agreement} it looks most at the source token that they need most; no other head does so more often."
