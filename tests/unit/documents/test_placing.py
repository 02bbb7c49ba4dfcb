"""Places of tags: around the linked words, nested, in the best stretch, and never lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents.blocks import BlockBuilder, plain_block, render_block, translate_blocks
from clearhead.documents.inline import InlineText, Markup
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.placing import TargetText, place_markups
from clearhead.documents.source_tokens import tokenise
from clearhead.documents.target_tokens import TargetToken
from clearhead.text.aligned import AlignedTranslation
from tests.unit.documents.translators import by_table, identity


def placed(text: str, markups: list[Markup], words: list[tuple[str, set[int]]]) -> str:
    """The translation as text, with the index of each markup in brackets."""
    inline = InlineText(text, tuple(markups))
    source = tokenise(inline, "en")
    tokens = [TargetToken(word, frozenset(links), " " if number else "") for number, (word, links) in enumerate(words)]
    target = TargetText(tokens, [(0, len(tokens))], source.gap(len(source.tokens)))
    pieces = place_markups(inline, source, target)
    return "".join(piece.text or f"{'[' if piece.kind == 'open' else ']'}{piece.markup}" for piece in pieces)


def test_the_best_stretch_of_linked_words_is_marked() -> None:
    far = [("A", {1}), ("B", {1}), ("c", {0}), ("d", {2}), ("e", {0}), ("F", {1})]
    assert placed("a b c", [Markup(2, 3)], far) == "[0A B]0 c d e F"
    near = [("A", {1}), ("c", {0}), ("B", {1}), ("d", {2})]
    assert placed("a b c", [Markup(2, 3)], near) == "[0A c B]0 d"


def test_siblings_do_not_overlap_and_children_stay_inside_their_parent() -> None:
    words = [("y", {1}), ("x", {0}), ("y", {1}), ("z", {2})]
    assert placed("a b c", [Markup(0, 1), Markup(2, 3)], words) == "[1y]1 [0x]0 y z"
    nested = [Markup(0, 3), Markup(2, 3, parent=0)]
    assert placed("a b c", nested, [("z", {2}), ("y", {1}), ("x", {0})]) == "z [0[1y]1 x]0"


def test_a_tag_without_content_follows_the_translation_of_its_neighbour() -> None:
    assert placed("a b c", [Markup(1, 1)], [("c", {2}), ("a", {0}), ("b", {1})]) == "c a[0]0 b"
    assert placed("a b c", [Markup(0, 0)], [("c", {2}), ("a", {0}), ("b", {1})]) == "c [0]0a b"
    assert placed("a b", [Markup(3, 3)], []) == "[0]0"


@given(st.data())
def test_every_markup_opens_and_closes_once_whatever_the_links(data: st.DataObject) -> None:
    text = "a b c d e"
    markups: list[Markup] = []
    edges = sorted(data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=6)))
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        markups.append(Markup(start, end))
        inner = sorted(data.draw(st.lists(st.integers(start, end), min_size=2, max_size=2)))
        markups.append(Markup(inner[0], inner[1], parent=len(markups) - 1))
    words = data.draw(st.lists(st.tuples(st.just("w"), st.sets(st.integers(0, 4), max_size=2)), max_size=6))
    result = placed(text, markups, words)
    stack: list[str] = []
    for sign, name in re.findall(r"([\[\]])(\d)", result):
        if sign == "[":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert all(result.count(f"[{index}") == 1 for index in range(len(markups)))
    assert result.count("w") == len(words)


def test_progress_counts_every_sentence_once_and_ends_at_the_total() -> None:
    calls: list[tuple[int, int]] = []
    texts = [InlineText(f"Sentence number {'x' * number}.") for number in range(1, 140)]
    InlineTranslator(identity, lambda done, total: calls.append((done, total))).translate([*texts, *texts])
    assert calls == [(0, 139), (64, 139), (128, 139), (139, 139)]


def test_a_placeholder_that_a_model_loses_is_kept_by_translating_around_it() -> None:
    asked: list[str] = []

    def careless(sentences: list[str]) -> list[AlignedTranslation]:
        asked.extend(sentences)
        return [AlignedTranslation("algo" if "1" in text else text.upper()) for text in sentences]

    block = plain_block("Open {name} now.")
    pieces = translate_blocks([block], InlineTranslator(careless))  # type: ignore[arg-type]
    assert render_block(block, pieces) == "OPEN {name} NOW."
    assert asked == ["Open X1 now.", "Open", "now."]


def test_a_block_writes_copied_characters_as_they_were_and_escapes_others() -> None:
    builder = BlockBuilder(lambda text: text.replace("&", "&amp;"))
    builder.add_text("a ")
    builder.add_text("&", "&#38;")
    builder.open_tag("<b>")
    builder.add_text(" b")
    builder.close_tag("</b>")
    block = builder.build()
    same = translate_blocks([block], InlineTranslator(identity))
    assert ("".join(block.raws), render_block(block, same)) == ("a &#38; b", "a &#38;<b> b</b>")
    other = translate_blocks([block], InlineTranslator(by_table({"a & b": ("x & y &", "0-0 2-2")})))
    assert render_block(block, other) == "x &amp;<b> y</b> &amp;"
