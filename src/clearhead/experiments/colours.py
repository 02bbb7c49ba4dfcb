"""The colours of all plots: the colour-blind safe palette of Okabe and Ito, and lighter versions for dark mode."""

from collections.abc import Mapping

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
GREY = "#6B6B6B"
INK = "#16191D"  # not black: matplotlib writes no colour for black, and dark mode could not replace it
PAPER = "#FFFFFF"

# What an SVG shows instead of each colour in dark mode.
DARK: Mapping[str, str] = {
    BLUE: "#56B4E9",
    VERMILION: "#FF8A3D",
    GREEN: "#3CC79C",
    GREY: "#A9B2BE",
    INK: "#E9ECF0",
    PAPER: "#14171C",
}
