"""A line in parts: its texts joined, its scores and its alignment, worked by hand."""

import math

import pytest

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.translation import TranslatedPart, Translation, one_line
from clearhead.decoding.word_alignment import WordAlignment

# The scores of the hypotheses are not log P / length, so that it shows where they are taken from.
CAT = TranslatedPart(
    "The cat.",
    "  ",
    (5, 7, 11),
    texts=("Die Katze.", "Eine Katze.", "Katze."),
    hypotheses=(
        Hypothesis((5, 7, 2), (-0.5, -0.25, -0.25), -0.1, has_ended=True),  # log P -1
        Hypothesis((7, 7, 2), (-1.5, -0.25, -0.25), -0.2, has_ended=True),  # -2
        Hypothesis((7, 2), (-2.5, -0.5), -0.3, has_ended=True),  # -3
    ),
    alignment=WordAlignment(("The", "cat."), ("Die", "Katze."), ((0, 0), (1, 1))),
)
DOG = TranslatedPart(
    "A dog sleeps.",
    "",
    (3, 13),
    texts=("Ein Hund schläft.",),
    hypotheses=(Hypothesis((13, 2), (-1.75, -0.25), -0.7, has_ended=False),),  # log P -2
    alignment=WordAlignment(("A", "dog", "sleeps."), ("Ein", "Hund", "schläft."), ((0, 0), (2, 1), (1, 2))),
)
NOTHING = TranslatedPart("", "", ())
LINE = Translation(3, "The cat.  A dog sleeps.", (CAT, DOG), length_penalty=0.5)


def test_parts_are_joined_by_the_space_of_the_source() -> None:
    assert LINE.text == "Die Katze.  Ein Hund schläft."
    assert Translation(1, "", (DOG, CAT)).text == "Ein Hund schläft. Die Katze.", "where there is none, by one"


def test_a_part_with_fewer_texts_repeats_its_last_one_for_lower_ranks() -> None:
    assert LINE.num_texts == 3
    assert LINE.texts == (
        "Die Katze.  Ein Hund schläft.",
        "Eine Katze.  Ein Hund schläft.",
        "Katze.  Ein Hund schläft.",
    )
    assert [hypothesis.tokens for hypothesis in LINE.hypotheses_of(2)] == [(7, 2), (13, 2)]
    assert LINE.text_of(2) == LINE.text_of(7)


def test_the_score_of_several_parts_is_that_of_all_their_tokens() -> None:
    # log P of the ranks: -1 - 2 = -3, -2 - 2 = -4, -3 - 2 = -5, of 3 + 2, 3 + 2 and 2 + 2 tokens; penalty 0.5
    assert [LINE.log_prob_of(rank) for rank in range(3)] == [-3.0, -4.0, -5.0]
    expected = [-3 / math.sqrt(5), -4 / math.sqrt(5), -5 / math.sqrt(4)]
    assert [LINE.score_of(rank) for rank in range(3)] == pytest.approx(expected)
    assert LINE.score == LINE.score_of(0)
    without_penalty = Translation(3, "", (CAT, DOG), length_penalty=0.0)
    assert without_penalty.score == -3.0


def test_the_score_of_one_part_is_that_of_its_hypothesis() -> None:
    alone = Translation(1, "The cat.", (CAT,))
    assert [alone.score_of(rank) for rank in range(3)] == [-0.1, -0.2, -0.3]
    beside_nothing = Translation(1, "The cat.", (NOTHING, CAT, NOTHING))
    assert beside_nothing.score == -0.1


def test_hypotheses_are_those_of_the_one_part_or_the_best_of_each() -> None:
    assert Translation(1, "The cat.", (CAT,)).hypotheses == CAT.hypotheses
    assert LINE.hypotheses == (CAT.hypotheses[0], DOG.hypotheses[0])


def test_every_token_of_the_best_translation_has_its_log_probability() -> None:
    assert LINE.token_log_probs == [-0.5, -0.25, -0.25, -1.75, -0.25]
    assert sum(LINE.token_log_probs) == LINE.log_prob_of(0)


def test_a_line_has_ended_if_all_its_parts_have() -> None:
    assert Translation(1, "", (CAT, CAT)).has_ended
    assert not LINE.has_ended, "the dog was stopped by its length"
    assert Translation(1, "", (CAT, NOTHING)).has_ended


def test_links_of_a_part_are_shifted_by_the_words_before_it() -> None:
    alignment = LINE.alignment
    assert alignment is not None
    assert alignment.source == ("The", "cat.", "A", "dog", "sleeps.")
    assert alignment.target == ("Die", "Katze.", "Ein", "Hund", "schläft.")
    assert alignment.links == ((0, 0), (1, 1), (2, 2), (4, 3), (3, 4))
    swapped = Translation(1, "", (DOG, NOTHING, CAT)).alignment
    assert swapped is not None
    assert swapped.links == ((0, 0), (2, 1), (1, 2), (3, 3), (4, 4))
    assert Translation(1, "", (NOTHING,)).alignment is None


@pytest.mark.parametrize("parts", [(), (NOTHING,)])
def test_an_empty_line_has_one_empty_translation(parts: tuple[TranslatedPart, ...]) -> None:
    empty = Translation(5, "  ", parts)
    assert (empty.text, empty.texts, empty.num_texts) == ("", ("",), 1)
    assert (empty.score, empty.log_prob_of(0), empty.token_log_probs, empty.hypotheses) == (0.0, 0.0, [], ())
    assert empty.has_ended
    assert empty.alignment is None


def test_line_breaks_in_a_translation_become_spaces() -> None:
    assert Translation(1, "", (TranslatedPart("", "", (5,), texts=("a\nb\tc\rd",)),)).text == "a b c d"


def test_control_characters_of_a_model_do_not_reach_the_terminal() -> None:
    assert Translation(1, "", (TranslatedPart("", "", (5,), texts=("a\x1b[31mb\x9bc",)),)).text == "a [31mb c"
    assert one_line("naïve\u00a0\u200fשלום") == "naïve\u00a0\u200fשלום", "marks that a script needs remain"
