"""Tokens and the words that they spell: links between tokens become links between words."""

from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import SpelledWords, pharaoh, word_links, words_of
from tests.small_halves import small_vocabularies


def test_pieces_are_grouped_into_the_words_that_they_spell(tagged_translator: Translator) -> None:
    tokeniser = tagged_translator.vocabularies.source
    ids = tokeniser.encode([">>de<< the zebra sees 17"])[0]
    words = words_of(tokeniser, [*ids, tokeniser.eos])
    assert words.words == ("the", "zebra", "sees", "17")
    assert words.word_of[0] is None
    assert words.word_of[-1] is None
    places = [place for place in words.word_of if place is not None]
    assert places == sorted(places)
    assert words.word_of[words.word_of.index(1)] == 1
    assert words.word_of[words.word_of.index(1) - 1] == 0


def test_words_are_linked_where_any_of_their_pieces_are(tagged_translator: Translator) -> None:
    tokeniser = tagged_translator.vocabularies.source
    source = words_of(tokeniser, tokeniser.encode([">>de<< the zebra"])[0])
    first, second, last = source.word_of.index(0), source.word_of.index(1), len(source.word_of) - 1
    assert second < last
    links = ((0, first), (first, first), (last, first), (second, first))
    assert word_links(links, source, source) == ((0, 0), (1, 0))


def test_a_word_with_an_unknown_letter_is_shown_as_it_was_written(tagged_translator: Translator) -> None:
    tokeniser = tagged_translator.vocabularies.source
    text = "the  世界 cat"
    ids = tokeniser.encode([text])[0]
    assert tokeniser.unk in ids
    assert words_of(tokeniser, ids, text).words == ("the", "世界", "cat")
    assert words_of(tokeniser, ids).words[1] != "世界"


def test_in_a_vocabulary_of_words_every_unknown_word_is_a_word() -> None:
    tokeniser = small_vocabularies().source
    text = "the zebra cat lion tiger"
    ids = tokeniser.encode([text])[0]
    assert ids[3:] == [tokeniser.unk], "SentencePiece joins unknown words"
    words = words_of(tokeniser, [*ids, tokeniser.eos], text)
    assert words == SpelledWords(("the", "zebra", "cat", "lion tiger"), (0, 1, 2, 3, None))


def test_links_by_hand() -> None:
    source = SpelledWords(("the", "zebra"), (0, 1, 1, None))  # the last piece is eos
    target = SpelledWords(("das", "Zebra"), (None, 0, 1, 1))  # the first is a tag
    piece_links = ((2, 3), (1, 2), (0, 1), (3, 1), (1, 0))
    assert word_links(piece_links, source, target) == ((0, 0), (1, 1)), "once each; special tokens have no links"
    assert (source.word_of.index(1), target.word_of.index(0)) == (1, 1)


def test_links_are_written_in_their_order() -> None:
    assert pharaoh(((1, 2), (0, 11), (0, 3))) == "0-3 0-11 1-2"
    assert pharaoh(()) == ""
