"""A matrix as a picture: a heat map with its names and digits, as SVG that stands on its own.

Colours go from blue by white to orange with 0 in the middle, or from white to purple for weights between 0 and 1. Both
scales keep their order in grey and for the colour-blind. A cell left open has no colour, and the scale ignores it.
"""

import hashlib
import re
from dataclasses import dataclass
from html import escape as _escape

import numpy as np
from rich.cells import cell_len

from clearhead.errors import printable
from clearhead.worksheet.render.text import label
from clearhead.worksheet.view import MatrixView

Colour = tuple[int, int, int]
# From ColorBrewer's schemes for the colour-blind: five colours at equal distances, joined by straight lines.
DIVERGING: tuple[Colour, ...] = ((33, 102, 172), (146, 197, 222), (247, 247, 247), (253, 184, 99), (179, 88, 6))
SEQUENTIAL: tuple[Colour, ...] = ((252, 251, 253), (203, 201, 226), (158, 154, 200), (117, 107, 177), (84, 39, 143))
_LETTER, _LINE, _GAP = 7.2, 24.0, 10.0  # the width of a letter of 12 px, the height of a row, and a margin
_WIDEST = 1100.0  # where digits would need more than this, cells become small squares without digits
_SMALL = 10.0
_MAX_SIDE = 256  # rows or columns; of more, the first are drawn, and the picture says so
_HERE = re.compile('"here:(hatch|ramp)"')  # a fill that the picture itself defines; no escaped name has the quotes
_HALO = 'text-anchor="middle" paint-order="stroke" stroke="#ffffff" stroke-width="4"'
_FONT = "font-family=\"'Noto Sans', 'DejaVu Sans', Arial, sans-serif\" font-size=\"12\""


@dataclass(frozen=True)
class _Scale:
    """What the colours mean: `lowest` and `highest` are the numbers at the ends of `colours`."""

    lowest: float
    highest: float
    colours: tuple[Colour, ...]

    def colour(self, value: float) -> Colour:
        """Return the colour of a number."""
        low, high = self.lowest / 2, self.highest / 2  # the span of the largest floats is no float
        along = (value / 2 - low) / (high - low) * (len(self.colours) - 1)
        at = min(int(max(along, 0.0)), len(self.colours) - 2)
        start, end, part = self.colours[at], self.colours[at + 1], min(max(along - at, 0.0), 1.0)
        red, green, blue = (round(a + (b - a) * part) for a, b in zip(start, end, strict=True))
        return red, green, blue


def _scale(values: list[float]) -> _Scale:
    if values and min(values) >= 0.0 and max(values) <= 1.0:
        return _Scale(0.0, 1.0, SEQUENTIAL)
    furthest = max((abs(value) for value in values), default=1.0)
    return _Scale(-furthest, furthest, DIVERGING)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours by the rule of the Web Content Accessibility Guidelines: 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: Colour) -> Colour:
    """Return black or white, whichever is read more easily on this colour."""
    black, white = (0, 0, 0), (255, 255, 255)
    return black if contrast(black, colour) >= contrast(white, colour) else white


def matrix_svg(matrix: MatrixView, *, numbers: bool = True) -> str:
    """Return a heat map of the matrix; its digits stand in the cells where they fit, or nowhere if not `numbers`."""
    return _Drawing(matrix, numbers).svg()


class _Drawing:
    """The sizes of one picture, and its parts from top to bottom."""

    def __init__(self, matrix: MatrixView, numbers: bool) -> None:
        self.matrix = matrix
        self.height, self.width = (min(int(side), _MAX_SIDE) for side in matrix.value.shape)
        cells = [(i, j) for i in range(self.height) for j in range(self.width)]
        values = [float(matrix.value[cell]) for cell in cells if not matrix.digits.is_hidden(*cell)]
        self.scale = _scale([value for value in values if np.isfinite(value)])
        self.row_names = [label(matrix.row_name(i)) for i in range(self.height)]
        self.column_names = [label(matrix.column_name(j)) for j in range(self.width)]
        self.texts = self._digits(cells) if numbers else {}
        longest = max([cell_len(text) for text in self.texts.values()] or [0])
        self.cell_width = max(34.0, longest * _LETTER + 12) if self.texts else self._square()
        self.cell_height = _LINE if self.texts else self._square()
        names_fit = max(map(cell_len, self.column_names)) * _LETTER <= self.cell_width + 2
        self.is_upright = not names_fit  # names that are wider than their column are turned
        self.left = _GAP + max(map(cell_len, self.row_names)) * _LETTER + 6
        head = max(map(cell_len, self.column_names)) * _LETTER if self.is_upright else 14.0
        self.top = 30.0 + head + 6

    def _digits(self, cells: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return what is written in every cell; nothing at all where it does not fit."""
        if self.width * 30 > _WIDEST or self.height > 48:
            return {}
        digits = self.matrix.digits
        texts = {cell: "" if digits.is_hidden(*cell) else digits.text(*cell) for cell in cells}
        return texts if self.width * (max(map(len, texts.values())) * _LETTER + 12) <= _WIDEST else {}

    def _square(self) -> float:
        return max(4.0, min(_LINE, _WIDEST / self.width, 900 / self.height))

    def svg(self) -> str:
        right = self.left + self.width * self.cell_width
        bottom = self.top + self.height * self.cell_height
        title = f"{printable(self.matrix.symbol)} ({self.matrix.size})"
        note = self._note()
        legend_top = bottom + 14
        least = max(_GAP + cell_len(title) * 9, _GAP + cell_len(note) * 6.5, self.left + 230)
        total_width, total_height = max(right, least) + _GAP, legend_top + 34 + 18 * bool(note)
        body = [
            f'<rect width="{total_width:g}" height="{total_height:g}" fill="#ffffff"/>',
            _text(_GAP, 20, title, 'font-size="15" font-weight="bold"'),
            *self._names(),
            *self._cells(),
            f'<rect x="{self.left:g}" y="{self.top:g}" width="{right - self.left:g}" height="{bottom - self.top:g}" '
            'fill="none" stroke="#444444"/>',
            *self._legend(legend_top),
            *([_text(_GAP, legend_top + 46, note, 'font-size="11"')] if note else []),
        ]
        key = "c" + hashlib.sha256("".join(body).encode()).hexdigest()[:12]  # so that two pictures share a page
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width:g} {total_height:g}" '
                f'width="{total_width:g}" height="{total_height:g}" role="img" '
                f'aria-labelledby="{key}-title {key}-desc" {_FONT}>',
                f'<title id="{key}-title">{escape(title)}</title>',
                f'<desc id="{key}-desc">{escape(self._description())}</desc>',
                *self._definitions(key),
                *(_HERE.sub(rf'"url(#{key}-\1)"', part) for part in body),
                "</svg>\n",
            ]
        )

    def _names(self) -> list[str]:
        every_row = max(1, int(-(-14 // self.cell_height)))
        every_column = max(1, int(-(-14 // self.cell_width)))
        parts = []
        for i in range(0, self.height, every_row):
            y = self.top + (i + 0.5) * self.cell_height + 4
            parts.append(_text(self.left - 6, y, self.row_names[i], 'text-anchor="end"'))
        for j in range(0, self.width, every_column):
            x, y = self.left + (j + 0.5) * self.cell_width, self.top - 6
            turned = f'transform="rotate(-90 {x + 4:g} {y:g})"' if self.is_upright else 'text-anchor="middle"'
            parts.append(_text(x + 4 * self.is_upright, y, self.column_names[j], turned))
        return parts

    def _cells(self) -> list[str]:
        parts = ['<g shape-rendering="crispEdges">']
        size = f'width="{self.cell_width:g}" height="{self.cell_height:g}"'
        is_large = min(self.cell_height, self.cell_width) >= _SMALL
        edge = ' stroke="#ffffff"' if is_large else ""
        for i in range(self.height):
            for j in range(self.width):
                x, y = self.left + j * self.cell_width, self.top + i * self.cell_height
                value = float(self.matrix.value[i, j])
                ink: Colour = (0, 0, 0)
                if self.matrix.digits.is_hidden(i, j):
                    look = 'fill="#ffffff" stroke="#bbbbbb"'
                elif not np.isfinite(value):
                    look = f'fill="here:hatch"{edge}'
                else:
                    colour = self.scale.colour(value)
                    look, ink = f'fill="{_hex(colour)}"{edge}', ink_on(colour)
                parts.append(f'<rect x="{x:g}" y="{y:g}" {size} {look}/>')
                if text := self.texts.get((i, j)):
                    middle, line = x + self.cell_width / 2, y + self.cell_height / 2 + 4.3
                    parts.append(
                        _text(middle, line, text, 'text-anchor="middle"' if np.isfinite(value) else _HALO, ink)
                    )
        return [*parts, "</g>"]

    def _legend(self, top: float) -> list[str]:
        """Return a bar of the colours, with the numbers at its ends and in its middle."""
        wide, low, high = 200, self.scale.lowest, self.scale.highest
        parts = [f'<rect x="{self.left:g}" y="{top:g}" width="{wide}" height="10" fill="here:ramp"/>']
        for part in (0.0, 0.5, 1.0):
            number = f"{low * (1 - part) + high * part:.3g}"
            parts.append(_text(self.left + part * wide, top + 24, number, 'text-anchor="middle" font-size="11"'))
        return parts

    def _definitions(self, key: str) -> list[str]:
        last = len(self.scale.colours) - 1
        stops = (f'<stop offset="{n / last:g}" stop-color="{_hex(c)}"/>' for n, c in enumerate(self.scale.colours))
        return [
            f'<defs><linearGradient id="{key}-ramp">{"".join(stops)}</linearGradient>',
            f'<pattern id="{key}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="6" height="6" fill="#ffffff"/>'
            '<rect width="1.5" height="6" fill="#c4c4c4"/></pattern></defs>',
        ]

    def _note(self) -> str:
        if (self.height, self.width) == self.matrix.value.shape:
            return ""
        return f"The first {self.height} × {self.width} of {self.matrix.size} cells are shown."

    def _description(self) -> str:
        """Say the picture in words: every row of a small matrix, the range of a large one."""
        kind = "Heat map" + (", blue below 0 and orange above" if self.scale.lowest < 0 else ", darker for more")
        if self.height * self.width > 150:
            return f"{kind}. {self.matrix.size} cells between {self.scale.lowest:.4g} and {self.scale.highest:.4g}."
        digits = self.matrix.digits
        rows = []
        for i, name in enumerate(self.row_names):
            cells = (
                f"{column} {'left open' if digits.is_hidden(i, j) else digits.text(i, j)}"
                for j, column in enumerate(self.column_names)
            )
            rows.append(f"{name}: {', '.join(cells)}")
        return f"{kind}. {'; '.join(rows)}."


def escape(text: str) -> str:
    """Make a text safe inside XML."""
    return _escape(printable(text))


def _text(x: float, y: float, text: str, look: str, ink: Colour = (0, 0, 0)) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{_hex(ink)}" {look}>{escape(text)}</text>'


def _hex(colour: Colour) -> str:
    red, green, blue = colour
    return f"#{red:02x}{green:02x}{blue:02x}"
