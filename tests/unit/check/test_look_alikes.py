"""Workings that look copied: the same wrong numbers on the same sheet, or the numbers of somebody else's variant."""

from pathlib import Path

from clearhead.check.look_alikes import LookAlike
from tests.unit.check.school import NO_EXP, ONE, RIGHT, TWO, hand_in, mark

SLIP = {"S": [["1", "2"], ["4", "1"]], "A": [["0.27", "0.73"], ["0.95", "0.05"]]}


def test_the_same_slips_on_the_same_variant_are_listed_and_a_shared_misconception_is_not(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE, **SLIP)
    hand_in(tmp_path, "Ben", ONE, **SLIP)
    hand_in(tmp_path, "Cy", TWO, A=NO_EXP[TWO])
    hand_in(tmp_path, "Di", TWO, A=NO_EXP[TWO])
    (pair,) = mark(tmp_path).alike
    assert pair == LookAlike("Ada", "Ben", num_shared=3, num_wrong=3)
    assert pair.sentence == "Ada and Ben share 3 of 3 numbers that differ from the solution"


def test_a_line_that_one_of_them_left_out_does_not_hide_the_resemblance(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE, **SLIP)
    hand_in(tmp_path, "Ben", ONE, **SLIP, Q=None)
    assert [(pair.first, pair.second) for pair in mark(tmp_path).alike] == [("Ada", "Ben")]


def test_the_numbers_of_another_variant_are_noticed(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    hand_in(tmp_path, "Ben", TWO, **RIGHT[ONE])
    (pair,) = mark(tmp_path).alike
    assert (pair.first, pair.second, pair.is_other_variant) == ("Ben", "Ada", True)
    assert pair.sentence == (
        f"{pair.num_shared} of {pair.num_wrong} wrong numbers of Ben are the numbers of Ada, who has another variant of "
        "the sheet"
    )
    assert pair.num_shared == pair.num_wrong >= 7


def test_a_few_equal_wrong_numbers_on_different_variants_are_chance(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE, S=[["1", "2"], ["9", "1"]], A=[["0.27", "0.73"], ["1.00", "0.00"]])
    hand_in(tmp_path, "Ben", TWO, S=[["2", "5"], ["9", "3"]], A=[["0.05", "0.95"], ["1.00", "0.00"]])
    assert mark(tmp_path).alike == ()
