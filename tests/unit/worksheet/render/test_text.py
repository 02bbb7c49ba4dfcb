"""Text that any renderer needs: names cut to size, control characters made visible."""

from rich.cells import cell_len

from clearhead.errors import printable
from clearhead.worksheet.render.text import label


def test_control_characters_are_made_visible() -> None:
    assert printable("a\x1b[31m\u202eb\u2028\n") == r"a\x1b[31m\u202eb\u2028\n"
    assert printable("क्‍ष 👩‍🚀 é") == "क्‍ष 👩‍🚀 é"


def test_long_names_are_cut() -> None:
    assert cell_len(label("x" * 100)) == 18
    assert label("आइसक्रीम") == "आइसक्रीम"
