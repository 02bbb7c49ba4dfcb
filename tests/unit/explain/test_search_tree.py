"""The search as a tree, and other tokens forced into a translation."""

import pytest

from clearhead.decoding.search.hypothesis import normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError
from clearhead.explain import Explanation, continue_from
from clearhead.explain.continuation import encoded_source
from clearhead.explain.search_tree import SearchNode
from tests.unit.explain.conftest import BEAM
from tests.unit.explain.models import SENTENCE


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
    assert explanation.search.texts[0] == explanation.target.text
    assert len(explanation.search.texts) == 3


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


def test_a_forced_token_is_followed_by_the_rest_of_a_translation(german: Translator, explanation: Explanation) -> None:
    assert explanation.target is not None
    never = german.model.config.never_written
    for output in explanation.outputs:
        other = next(other for other in output.alternatives if other.token not in (output.token, *never))
        prefix = (*explanation.target.ids[: output.position], other.token)
        forced = continue_from(german, SENTENCE, prefix, search=BEAM, language="de")
        assert forced.hypothesis.tokens[: len(prefix)] == prefix
        assert (forced.position, forced.token) == (output.position, other.token)
        assert forced.probability == pytest.approx(other.probability, abs=1e-5)


def test_a_beginning_can_be_given_as_text(german: Translator) -> None:
    search = SearchSettings(max_length=11)
    forced = continue_from(german, SENTENCE, "die rote", search=search, language="de")
    assert forced.text.startswith("die rote")
    tokens = german.vocabularies.target.encode(["die rote"])[0]
    assert list(forced.hypothesis.tokens[: len(tokens)]) == tokens
    with pytest.raises(DataError, match="the forced beginning has no tokens"):
        continue_from(german, SENTENCE, "", language="de")
    with pytest.raises(DataError, match="an id that is not in the vocabulary"):
        continue_from(german, SENTENCE, [9999], language="de")


def test_the_source_has_its_tag(german: Translator) -> None:
    ids = encoded_source(german, "cat", SearchSettings(), "bn")
    assert ids[0] == german.vocabularies.source.tags["bn"]
    assert encoded_source(german, ">>bn<<cat", SearchSettings(), None) == ids
