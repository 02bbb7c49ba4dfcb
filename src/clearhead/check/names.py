"""Find the record that a student's name for a line refers to.

A name is a symbol (Q, S′, α, W_Q), a word (scores, weights, output) or another common notation (QKᵀ, e^t, softmax).
It can select a row, `A[2]` or `Q[Vamos]`, or a cell, `A[2, 3]`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from clearhead.check.graph import Graph
from clearhead.check.line_words import (
    LAST_LINE,
    LAST_WORDS,
    MEANINGS,
    OPEN_STEPS,
    SUBSCRIPTS,
    TESTS_BY_TITLE,
    WORDS,
    other_titles,
    symbol_key,
    word_key,
)
from clearhead.check.working import WrittenLine
from clearhead.errors import did_you_mean
from clearhead.steps import Record

_PICK = re.compile(r"(.+?)\s*\[\s*([^\[\],]+?)\s*(?:,\s*([^\[\],]+?)\s*)?\]\s*", re.DOTALL)
_POSITION = re.compile(r"(PE?)\s*\(\s*(?:pos\s*=?\s*)?(\d+)\s*\)").fullmatch  # positions count from 0
_HEAD = re.compile(r"(?i)(|.*[^a-z])head[\s_]*(\d+)(?!\d)(.*)", re.DOTALL).fullmatch
_DEVIATION = re.compile(r"(?i)sigma_\{?(\d{1,3})\}?").fullmatch  # of a token, and not the variance sigma^2
# A row by its number, q2 or Q_2, or by its token, q_Vamos. A token needs the separator: "values" is not a row of V.
_NUMBERED = re.compile(r"(.*?[^\W\d_]|.*[αμσθ~\u0303])(?:[\s_^{]*(\d+)|[\s_^{]+([^\W\d_]{2,}))\}?")


@dataclass(frozen=True)
class Pick:
    """A name without its selection, and the row (number or token) and column that it selects, if any."""

    name: str
    row: str = ""
    column: str = ""


def split_pick(name: str) -> Pick:
    """Read `A[2, 3]` as cell 2, 3 of A."""
    at = _POSITION(name.strip())
    if at is not None:
        return Pick(at[1], f"pos {at[2]}")
    match = _PICK.fullmatch(name.strip())
    return Pick(name.strip()) if match is None else Pick(match[1].strip(), match[2], match[3] or "")


def line_title(record: Record) -> str:
    """Return what a record is called in a report, such as "scaled scores"; "" if it has only its symbol."""
    return next((meaning.title for meaning in MEANINGS if meaning.tests[0](record)), "")


def words_for(graph: Graph) -> list[str]:
    """Return the words that name a line of this sheet."""
    words = [
        word
        for meaning in MEANINGS
        if any(test(record) for test in meaning.tests for record in graph.records)
        for word in meaning.words.split(", ")
    ]
    return list(dict.fromkeys([*words, *LAST_LINE.split(", ")]))


_PLACE_WORDS = {
    "self": "self_attention",
    "masked": "self_attention",
    "cross": "cross_attention",
    "ffn": "feed_forward",
    "mlp": "feed_forward",
    "residual": "add_and_norm",
    "residual_and_norm": "add_and_norm",
}
_COUNTED = {"head": "head", "part": "part", "block": "", "layer": "", "time": "time", "t": "time", "step": "generate"}


@lru_cache(maxsize=2**15)
def matches_place(where: str, record_where: str) -> bool:
    """Return whether a record is in the named part of the model.

    A name is the record's path, part of it, or words such as `head 2`, `encoder layer 1` or `encoder block 1`. Paths
    count from 0, and a number belongs to the word before it: `part.0` is not `part.1.encoder.0`.
    """
    if not where or where == record_where:
        return True
    path = record_where.split(".")
    hints = [hint.strip().casefold().replace("-", "_") for hint in re.split(r"[.:/,·]|\bof\b|\bin\b", where)]
    hints = [hint for hint in hints if hint]
    for hint, following in pairwise([*hints, ""]):
        if following.isdecimal() and not hint.isdecimal():
            word = "_".join(hint.split())
            word = _PLACE_WORDS.get(word, word)
            if not any(step.startswith(word) and number == following for step, number in pairwise(path)):
                return False
        elif (not hint.isdecimal() or len(hints) == 1) and not _hint_fits(hint.split(), path):
            return False
    return True


def _hint_fits(words: list[str], path: list[str]) -> bool:
    joined = "_".join(words)
    if joined in path or _PLACE_WORDS.get(joined, joined) in path:
        return True
    counted = re.fullmatch(r"([a-z_]+?)_?=?_?(\d+)", joined)
    if counted is None:
        return any(joined and step.startswith(joined) for step in path)
    word, number = re.sub(r"(?<=coder)_(?:block|layer)$", "", counted[1]), int(counted[2])  # encoder layer 1
    word = _COUNTED.get(word, _PLACE_WORDS.get(word, word))
    return any(
        path[place + 1] == str(number - 1) and (not word or step == word or step.startswith(word))
        for place, step in enumerate(path[:-1])
    )


@dataclass(frozen=True)
class RecordCandidates:
    """The records that a name can mean, the most likely first; `row` is set if the name itself selects one (`q2`).

    `others` are records for which people use the name too. They are tried where `nodes` do not fit. The first `num_own`
    nodes have the name as their symbol on the sheet. With `is_guess`, the nodes are such other records.
    """

    nodes: tuple[int, ...]
    row: str = ""
    others: tuple[int, ...] = ()
    num_own: int = 0
    is_guess: bool = False

    @property
    def is_symbol(self) -> bool:
        """Whether the name is the symbol of a record."""
        return self.num_own > 0


def find_records(graph: Graph, name: str, where: str) -> RecordCandidates:
    """Return the records that a name can mean in a part of the model."""
    head = _HEAD(name) if name.casefold().count("head") == 1 else None
    if head is not None and "head" not in where.casefold():  # `Q of head 2`; `head 2` alone means its output
        plain = (re.sub(r"(?i)\s(?:of|in|for)\s+$", "", head[1]) + head[3]).strip(" _,()") or "Z"
        return find_records(graph, plain, f"{where}.head {head[2]}".lstrip("."))
    deviation = _DEVIATION(name.strip())
    if deviation is not None:
        deviations = find_records(graph, "σ", where)
        if any(graph.records[i].value.shape[0] >= int(deviation[1]) for i in deviations.nodes):
            return replace(deviations, row=deviation[1])
        name = "σ²" if deviation[1] == "2" else name  # sigma_2 where there is only one token
    key = symbol_key(name)
    exact = [i for i in graph.by_place.get(where, ()) if symbol_key(graph.records[i].symbol) == key]
    if exact and where and not other_titles(key):
        return RecordCandidates(tuple(exact), num_own=len(exact))
    here = sorted(i for place, indices in graph.by_place.items() if matches_place(where, place) for i in indices)
    others = [i for i in _by_other_meaning(graph, here, key) if i not in exact]
    if exact and where:
        return RecordCandidates(tuple(exact), "", tuple(others), len(exact))
    named = [i for i in here if symbol_key(graph.records[i].symbol) == key]
    if not named and where:  # the Q of head 2 is Q₂
        named = [i for i in here if symbol_key(graph.records[i].symbol).rstrip("0123456789") == key]
    if not named and key == "Z":  # the pre-activation z of a recurrent network, on a sheet without a Z
        named = [i for i in here if graph.records[i].symbol == "z"]
    named = _new_rows(graph, here, key) + named if named else []
    nodes = named + _further_readings(graph, here, name, named) if named else _by_word(graph, here, word_key(name))
    nodes = nodes or _in_capitals(graph, here, key)
    if nodes:
        others = [i for i in others if i not in nodes]
        return RecordCandidates(tuple(nodes), "", tuple(others), len(named))
    if others:
        return RecordCandidates(tuple(others), is_guess=True)
    plainer = _without_explanation(name)
    if plainer:
        return find_records(graph, plainer, where)
    shorter = _NUMBERED.fullmatch(name.translate(SUBSCRIPTS).strip())
    if shorter is None:
        return RecordCandidates(())
    word = shorter[1].rstrip("_^{ ")
    deeper = find_records(graph, word, where)
    if shorter[2] and deeper.nodes and all(graph.records[i].where.endswith("_gate") for i in deeper.nodes):
        return find_records(graph, word, f"{where}.t={shorter[2]}".lstrip("."))  # the forget gate of a time step
    return RecordCandidates(()) if deeper.row else replace(deeper, row=shorter[2] or shorter[3])


def _by_other_meaning(graph: Graph, here: list[int], key: str) -> list[int]:
    matches: list[int] = []
    for title in other_titles(key):
        for test in TESTS_BY_TITLE[title]:
            matches += [i for i in here if test(graph.records[i]) and i not in matches]
    return matches


def counted_from_one(places: Sequence[str]) -> list[str]:
    """Return names and places with heads and layers counted from 1, if there is a `head 0` or a `layer0` in them."""
    for word in ("head", "layer", "block"):
        number = re.compile(rf"(?i)(?<![a-z])({word}[\s_]*)(\d+)(?![\d.])")
        if any(int(match[2]) == 0 for place in places for match in number.finditer(place)):
            places = [number.sub(lambda match: f"{match[1]}{int(match[2]) + 1}", place) for place in places]
    return list(places)


def _new_rows(graph: Graph, here: list[int], key: str) -> list[int]:
    """Return the keys or values of the new tokens where the others are cached: a student's K can be K_new alone."""
    letter = re.fullmatch(r"([KV])(\d*)", key)
    if letter is None:
        return []
    return [i for i in here if symbol_key(graph.records[i].symbol) == f"{letter[1]}new{letter[2]}"]


def _in_capitals(graph: Graph, here: list[int], key: str) -> list[int]:
    """Return the records with the capital of a small letter, if the problem does not use the small letter itself."""
    if len(key) != 1 or any(symbol_key(matrix.symbol) == key for matrix in graph.givens.values()):
        return []
    named = [i for i in here if symbol_key(graph.records[i].symbol) == key.upper()]
    is_open = bool(named) and graph.records[named[0]].step.name in OPEN_STEPS  # s, as S, can be the scaled scores
    return named + _further_readings(graph, here, key.upper(), named) if is_open else named


def _without_explanation(name: str) -> str:
    """Remove an explanation from a name, as in `scores (Q Kᵀ)` or `weight matrix`; return "" if there is none."""
    short = re.sub(r"\s+\([^()]*\)$|(?<=\w\w)\(.*\)$", "", name.strip())  # also Concat(head1, head2)
    short = re.sub(r"(?i)^(?:the|final)\s+|[\s_]+(?:matrix|matrices|vectors?)$", "", short).strip()
    return short if short and short != name.strip() else ""


def _further_readings(graph: Graph, here: list[int], name: str, named: list[int]) -> list[int]:
    """Return further meanings of a symbol that is used for several lines, such as E, S and Z."""
    if graph.records[named[0]].step.name not in OPEN_STEPS and word_key(name) not in LAST_WORDS:
        return []
    return [i for i in _by_word(graph, here, word_key(name)) if i not in named]


def _by_word(graph: Graph, here: list[int], key: str) -> list[int]:
    matches: list[int] = []
    if key in LAST_WORDS and here:
        matches += _last_lines(graph, here)
    for test in WORDS.get(key, ()):
        fresh = [i for i in here if test(graph.records[i]) and i not in matches]
        matches += fresh
        if fresh and graph.records[fresh[0]].step.name not in OPEN_STEPS:
            break
    return matches


def _last_lines(graph: Graph, here: list[int]) -> list[int]:
    """Return the last record of a part, then its residual and norm, then its weighted sum."""
    last = here[-1]
    lines = [last]
    step: int | None = last
    while step is not None and len(lines) < 4:
        norms = ("add", "mean", "normalise", "rms_normalise")
        after = [c for c in graph.children[step] if graph.records[c].step.name in norms]
        residual = next((c for c in after if graph.records[c].step.name != "mean"), None)
        step = residual if residual not in lines else None
        if step is not None and step not in here:
            lines.append(step)
        elif step is not None:
            break
    outputs = [i for i in reversed(here) if graph.records[i].step.name in ("mix", "join", "project") and i != last]
    return lines + [i for i in outputs if not graph.records[i].where.endswith(("query", "key", "value"))]


def unknown_line(graph: Graph, original: WrittenLine, name: str, where: str) -> str:
    """Return the sentence about a line that no record has the name of, or a part that the sheet does not have."""
    places = list(graph.by_place)
    if where and not any(matches_place(where, place) for place in places):
        near = did_you_mean(original.where, places)
        return f'"{original.name}" was not marked: this exercise has no part "{original.where}".{near}'
    symbols = list(dict.fromkeys(record.symbol for record in graph.records))
    near = did_you_mean(name, [*symbols, *words_for(graph)])
    shown = ", ".join(symbols[:20]) + (" …" if len(symbols) > 20 else "")
    inside = f" in {original.where}" if original.where else ""
    return (
        f'"{original.name}"{inside} is not a line of this exercise, so it was not marked.{near} '
        f'This exercise has the lines {shown}. Words such as "scores", "weights" or "output" also work.'
    )
