"""Displayed maths and the lines between."""

from clearhead.check.read.display import PageBlock, displays


def test_a_display_is_cut_out_with_its_line():
    blocks = list(displays("one\n$$Q = 1$$\nthree\n\\[ K = 2 \\]\n"))
    assert blocks == [
        PageBlock("one\n", 1, is_maths=False),
        PageBlock("Q = 1", 2, is_maths=True),
        PageBlock("\nthree\n", 2, is_maths=False),
        PageBlock(" K = 2 ", 4, is_maths=True),
        PageBlock("\n", 4, is_maths=False),
    ]


def test_a_display_that_is_never_closed_is_text():
    (block,) = displays("$$ Q = 1")
    assert not block.is_maths
