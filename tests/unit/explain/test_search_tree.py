"""The search as a tree."""

import pytest

from clearhead.decoding.search.hypothesis import normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.explain import Explanation
from clearhead.explain.explained_text import encoded_source
from clearhead.explain.search_tree import SearchNode
from tests.unit.explain.conftest import BEAM


def nodes_of(explanation: Explanation) -> tuple[SearchNode, ...]:
    assert explanation.search is not None
    return explanation.search.nodes


def test_every_node_continues_its_parent(explanation: Explanation) -> None:
    nodes = nodes_of(explanation)
    assert (nodes[0].fate, nodes[0].parent) == ("start", None)
    for number, node in enumerate(nodes):
        assert node.id == number
        if node.parent is not None:
            parent = nodes[node.parent]
            assert parent.step == node.step - 1
            assert parent.fate in ("start", "kept")
            assert node.total == pytest.approx(parent.total + node.log_prob, abs=1e-4)


def test_the_best_path_spells_the_translation(explanation: Explanation) -> None:
    path = [node for node in nodes_of(explanation) if node.is_best]
    assert explanation.target is not None
    assert tuple(node.token for node in path[1:]) == explanation.target.ids
    assert explanation.search is not None
    assert explanation.search.best[0].text == explanation.target.text
    assert len(explanation.search.best) == 3


def test_what_was_dropped_has_a_reason(explanation: Explanation) -> None:
    nodes = nodes_of(explanation)
    dropped = [node for node in nodes if node.fate == "dropped"]
    assert dropped
    assert all(node.why for node in dropped)
    lost = [node for node in nodes if node.dropped_at is not None]
    assert lost
    for node in lost:
        assert node.fate == "kept"
        assert "all its continuations scored below" in node.why
        assert not any(other.parent == node.id and other.fate in ("kept", "ended") for other in nodes)


def test_ended_nodes_have_their_score(explanation: Explanation) -> None:
    ended = [node for node in nodes_of(explanation) if node.fate == "ended"]
    assert ended
    for node in ended:
        assert node.score == pytest.approx(normalised(node.total, node.step, BEAM.length_penalty))


def test_the_source_has_its_tag(german: Translator) -> None:
    ids = encoded_source(german, "cat", SearchSettings(), "bn")
    assert ids[0] == german.vocabularies.source.tags["bn"]
    assert encoded_source(german, ">>bn<<cat", SearchSettings(), None) == ids
