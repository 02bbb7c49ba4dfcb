"""The colours of all plots."""

import pytest

from clearhead import plots
from clearhead.worksheet.render.svg import contrast

WHITE = (255, 255, 255)


def channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


@pytest.mark.parametrize("name", ["BLUE", "VERMILION", "GREEN", "GREY"])
def test_a_line_is_seen_on_white_paper(name: str) -> None:
    assert contrast(channels(getattr(plots, name)), WHITE) >= 3.0  # WCAG 2.1, 1.4.11: graphical objects


def test_no_two_colours_are_the_same() -> None:
    assert len({plots.BLUE, plots.VERMILION, plots.GREEN, plots.GREY}) == 4


@pytest.mark.parametrize("light", [light for light in plots.DARK if light != plots.PAPER])
def test_a_line_and_its_label_are_readable_in_dark_mode(light: str) -> None:
    dark_paper = channels(plots.DARK[plots.PAPER])
    assert contrast(channels(plots.DARK[light]), dark_paper) >= 4.5  # WCAG 2.1, 1.4.3: text
