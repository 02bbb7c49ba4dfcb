"""Trace one sentence in float64, mark the trace like a student's working, and extract two heads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from inside.heads import Heads, Ids, costliest, links
from torch import Tensor

from clearhead.check import Report, mark_worksheet
from clearhead.decoding.word_alignment import Links
from clearhead.explain.trace_file import sheet_of_trace
from clearhead.model import Transformer
from clearhead.model.float64 import trace_in_float64
from clearhead.steps import Record, Trace
from clearhead.steps.vocabulary import SOFTMAX
from clearhead.text.tokeniser import Vocabularies
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.part import part_of_sheet
from clearhead.worksheet.reference import replay
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.worksheet import Worksheet

START = "<s>"  # the name of the start token of the decoder
SHOWN = Rounding(decimals=3)  # on the pages; the numbers themselves are not rounded


@dataclass(frozen=True)
class Choice:
    """A token that was written and the next best token, with their probabilities."""

    token: str
    probability: float
    other: str
    other_probability: float


@dataclass(frozen=True)
class Marks:
    """The marks that `clearhead check` gives to a trace."""

    num_right: int
    num_lines: int
    earned: float
    out_of: float

    @property
    def is_full(self) -> bool:
        """Whether the trace got full marks."""
        return self.num_right == self.num_lines > 0 and self.earned == self.out_of

    def __str__(self) -> str:
        return f"{self.num_right:,} of {self.num_lines:,} lines right, {self.earned:g} of {self.out_of:g} marks"


@dataclass(frozen=True, eq=False)
class Look:
    """Everything that is shown about one sentence."""

    ids: Ids
    heads: Heads
    choices: tuple[Choice, ...]
    across: Worksheet  # one cross-attention head
    own: Worksheet  # one masked self-attention head
    unmasked: Worksheet  # the weights of that head without the mask
    needed: Links  # each target token with the source token that it needs most
    marks: Marks  # of the complete trace
    head_marks: Marks  # of the cross-attention head, from its file

    @property
    def weights(self) -> Array:
        """The weights (T, S) of each target token, where it is the input (shifted) or where it is predicted."""
        rows = value_of(self.across, "softmax")
        return rows[1:] if self.heads.is_shifted else rows[:-1]

    @property
    def links(self) -> Links:
        """The source token that each target token attends to most; end tokens are not linked."""
        return links(torch.from_numpy(self.weights[:, :-1]))

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """The tokens that the encoder read."""
        return next(given_value.columns for given_value in self.across.trace.givens.values() if given_value.columns)


def look(model: Transformer, vocabularies: Vocabularies, pair: Ids, heads: Heads) -> Look:
    """Trace one pair in float64, mark the complete trace, and extract the two heads."""
    logits, trace = trace_in_float64(model, pair.batch)
    source_tokens = vocabularies.source.pieces(pair.source)
    target_tokens = [START, *vocabularies.target.pieces(pair.target)[:-1]]
    sheet = sheet_of_trace(trace, 0, f"{pair.sentence} → {pair.text}", source_tokens, target_tokens)
    across, own = head_alone(sheet, heads.across_place), head_alone(sheet, heads.own_place)
    with torch.inference_mode():
        needed = costliest(model, pair)
    return Look(
        ids=pair,
        heads=heads,
        choices=tuple(_choices(vocabularies, logits[0], pair.target)),
        across=across,
        own=own,
        unmasked=without_mask(own),
        needed=needed,
        marks=marks_of(mark_worksheet(sheet)),
        head_marks=marks_of(mark_worksheet(Worksheet.from_json(across.to_json()))),
    )


def head_alone(sheet: Worksheet, place: str) -> Worksheet:
    """Return the steps of one head, with its Q, K and V as given values."""
    part = part_of_sheet(sheet, place)
    mask = next(given_value for given_value in part.trace.givens.values() if given_value.symbol == "M")
    trace = Trace()
    trace.records = [record for record in part.trace if record.where == place]
    used = {id(value) for record in trace for value in record.inputs.values()}
    for record in part.trace:
        if record.where != place and id(record.value) in used:
            names = mask.rows if record.where.endswith("query") else mask.columns
            trace.give(record.where, record.value, symbol=record.symbol, rows=names)
    trace.givens[mask.name] = mask
    return replace(part, trace=trace)


def without_mask(own: Worksheet) -> Worksheet:
    """Return the weights of a self-attention head without the mask, as a sheet of one step."""
    scaled = next(record for record in own.trace if record.step.name == "scale")
    mask = next(given_value for given_value in own.trace.givens.values() if given_value.symbol == "M")
    trace = Trace()
    trace.give("scores", scaled.value, symbol=scaled.symbol, rows=mask.rows, columns=mask.columns)
    weights = replay(Record(SOFTMAX, "", {"scores": scaled.value}, None, ""))
    trace.record(SOFTMAX, weights, symbol="weights without the mask", scores=scaled.value)
    return Worksheet("trace", f"{own.title}, without its mask", SHOWN, trace)


def value_of(sheet: Worksheet, step: str) -> Array:
    """Return the value of the one record of a step."""
    return np.asarray(next(record.value for record in sheet.trace if record.step.name == step))


def marks_of(report: Report) -> Marks:
    """Return the marks of a report; a line is right if all its cells are."""
    num_right = sum(all(cell.verdict.is_accepted for cell in line.marked) for line in report.lines)
    return Marks(num_right, len(report.lines), report.earned, report.out_of)


def _choices(vocabularies: Vocabularies, logits: Tensor, target: Sequence[int]) -> Iterator[Choice]:
    for row, token in zip(torch.softmax(logits, dim=-1), target, strict=True):
        others = row.clone()
        others[token] = 0.0
        other = int(others.argmax())
        names = vocabularies.target.pieces([token, other])
        yield Choice(names[0], float(row[token]), names[1], float(row[other]))
