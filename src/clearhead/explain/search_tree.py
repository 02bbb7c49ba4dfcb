"""A recorded beam search as a tree: every candidate is a node below the hypothesis that it continues."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clearhead.decoding.search.hypothesis import normalised
from clearhead.explain.search import Fate, RecordedSearch
from clearhead.text.tokeniser import Tokeniser


@dataclass(frozen=True)
class SearchNode:
    """A candidate: its token, log P of the token and in total, whether it was kept, and why not.

    `dropped_at` is the step at which a kept hypothesis was dropped, because none of its continuations was kept.
    """

    id: int
    parent: int | None
    step: int
    token: int | None
    piece: str
    log_prob: float
    total: float
    fate: Fate | Literal["start"]
    why: str = ""
    score: float | None = None  # of an ended hypothesis
    dropped_at: int | None = None
    is_best: bool = False  # whether it is on the path of the best hypothesis


@dataclass(frozen=True)
class FoundTranslation:
    """An ended hypothesis, with its text."""

    text: str
    tokens: tuple[int, ...]
    log_prob: float
    score: float


@dataclass(frozen=True)
class SearchTree:
    """Why a search stopped, its nodes (node 0 is the start), and its best hypotheses."""

    stopped: str
    nodes: tuple[SearchNode, ...]
    best: tuple[FoundTranslation, ...]


def search_tree(search: RecordedSearch, tokeniser: Tokeniser, length_penalty: float) -> SearchTree:
    """Return the tree of a recorded search."""
    nodes = [SearchNode(0, None, 0, None, "", 0.0, 0.0, "start")]
    slots = [0]  # the node of each hypothesis that the last step kept
    for step in search.steps:
        node_of_slot: dict[int, int] = {}
        for lost in step.lost:
            nodes[slots[lost.slot]] = replace(nodes[slots[lost.slot]], dropped_at=step.number, why=lost.why)
        pieces = tokeniser.pieces([option.token for option in step.options])
        for option, piece in zip(step.options, pieces, strict=True):
            score = normalised(option.total, step.number, length_penalty) if option.fate == "ended" else None
            node = SearchNode(
                len(nodes), slots[option.parent], step.number, option.token, piece,
                option.log_prob, option.total, option.fate, option.why, score,
            )  # fmt: skip
            if option.slot is not None:
                node_of_slot[option.slot] = node.id
            nodes.append(node)
        slots = [node_of_slot[slot] for slot in sorted(node_of_slot)]
    _mark_best(nodes, search.best[0].tokens if search.best else ())
    texts = tokeniser.decode([hypothesis.tokens for hypothesis in search.best])
    best = [
        FoundTranslation(text, hypothesis.tokens, hypothesis.log_prob, hypothesis.score)
        for text, hypothesis in zip(texts, search.best, strict=True)
    ]
    return SearchTree(search.stopped, tuple(nodes), tuple(best))


def _mark_best(nodes: list[SearchNode], tokens: Sequence[int]) -> None:
    """Mark the nodes on the path of these tokens."""
    current = 0
    nodes[0] = replace(nodes[0], is_best=True)
    for token in tokens:
        children = [
            node for node in nodes if node.parent == current and node.token == token and node.fate in ("kept", "ended")
        ]
        if not children:
            return
        current = children[0].id
        nodes[current] = replace(nodes[current], is_best=True)
