"""A matrix as a picture: a heat map with its names and digits, as a self-contained SVG.

Colours go from blue through white to orange with 0 in the middle, or from white to purple for weights between 0 and 1.
Both scales keep their order in grey and for the colour-blind. A blank has no colour, and the scale ignores its value.
On a screen in dark mode, a style sheet inside the picture replaces every colour; on paper it is always light.
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
# From ColorBrewer's schemes for the colour-blind: five colours at equal distances, with linear interpolation.
DIVERGING: tuple[Colour, ...] = ((33, 102, 172), (146, 197, 222), (247, 247, 247), (253, 184, 99), (179, 88, 6))
SEQUENTIAL: tuple[Colour, ...] = ((252, 251, 253), (203, 201, 226), (158, 154, 200), (117, 107, 177), (84, 39, 143))
# The same for dark mode: the middle of the one and the start of the other are close to the background.
DARK_DIVERGING: tuple[Colour, ...] = ((116, 182, 255), (40, 92, 150), (38, 42, 50), (148, 84, 24), (255, 180, 84))
DARK_SEQUENTIAL: tuple[Colour, ...] = ((38, 42, 50), (72, 58, 108), (112, 88, 168), (160, 130, 220), (222, 200, 255))
_NUM_LEVELS = 33  # colours of a scale in dark mode, a rule of the style sheet for each
_LETTER, _LINE, _GAP = 7.2, 24.0, 10.0  # the width of a letter of 12 px, the height of a row, and a margin
_WIDEST = 1100.0  # where digits would need more than this, cells become small squares without digits
_SMALL = 10.0
_MAX_SIDE = 256  # rows or columns; of a larger matrix the first ones are drawn, with a note
_HERE = re.compile('"here:(hatch|ramp)"')  # a fill that the picture itself defines; no escaped name has the quotes
_HALO = 'text-anchor="middle" paint-order="stroke" stroke="#ffffff" stroke-width="4"'
# Colours of the other parts in dark mode, by class.
_DARK = {
    "paper": "fill:#14171c",
    "ink": "fill:#e9ecf0",
    "edge": "stroke:#14171c",
    "frame": "stroke:#a9b2be",
    "open": "fill:#14171c;stroke:#8b94a0",
    "halo": "fill:#ffffff;stroke:#14171c",
    "stripe": "fill:#5b6470",
}
_FONT = "font-family=\"'Noto Sans', 'DejaVu Sans', Arial, sans-serif\" font-size=\"12\""


@dataclass(frozen=True)
class _Scale:
    """What the colours mean: `lowest` and `highest` are the numbers at the ends of `colours` and of `dark`."""

    lowest: float
    highest: float
    colours: tuple[Colour, ...]
    dark: tuple[Colour, ...] = DARK_DIVERGING

    def colour(self, value: float) -> Colour:
        """Return the colour of a number."""
        return _blend(self.colours, self._share(value))

    def level(self, value: float) -> int:
        """Return the number of the dark colour of a number."""
        return round(min(max(self._share(value), 0.0), 1.0) * (_NUM_LEVELS - 1))

    def dark_colour(self, level: int) -> Colour:
        """Return a dark colour by its number."""
        return _blend(self.dark, level / (_NUM_LEVELS - 1))

    def _share(self, value: float) -> float:
        low, high = self.lowest / 2, self.highest / 2  # the difference of the largest floats would overflow
        return (value / 2 - low) / (high - low)


def _blend(colours: tuple[Colour, ...], share: float) -> Colour:
    """Return the colour at a share, from 0 to 1, of the way from the first colour to the last."""
    along = share * (len(colours) - 1)
    at = min(int(max(along, 0.0)), len(colours) - 2)
    start, end, part = colours[at], colours[at + 1], min(max(along - at, 0.0), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(start, end, strict=True))
    return red, green, blue


def _scale(values: list[float]) -> _Scale:
    if values and min(values) >= 0.0 and max(values) <= 1.0:
        return _Scale(0.0, 1.0, SEQUENTIAL, DARK_SEQUENTIAL)
    furthest = max((abs(value) for value in values), default=1.0)
    return _Scale(-furthest, furthest, DIVERGING)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours by the Web Content Accessibility Guidelines, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: Colour) -> Colour:
    """Return black or white, whichever is easier to read on this colour."""
    black, white = (0, 0, 0), (255, 255, 255)
    return black if contrast(black, colour) >= contrast(white, colour) else white


def matrix_svg(matrix: MatrixView, *, numbers: bool = True) -> str:
    """Return a heat map of the matrix, with digits in the cells if they fit and `numbers` is set."""
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
        self.is_upright = not names_fit  # names that are wider than their column are rotated
        self.left = _GAP + max(map(cell_len, self.row_names)) * _LETTER + 6
        head = max(map(cell_len, self.column_names)) * _LETTER if self.is_upright else 14.0
        self.top = 30.0 + head + 6

    def _digits(self, cells: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return the text of every cell; nothing if the digits do not fit."""
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
            f'<rect width="{total_width:g}" height="{total_height:g}" fill="#ffffff" class="paper"/>',
            _text(_GAP, 20, title, 'font-size="15" font-weight="bold"'),
            *self._names(),
            *self._cells(),
            f'<rect x="{self.left:g}" y="{self.top:g}" width="{right - self.left:g}" height="{bottom - self.top:g}" '
            'fill="none" stroke="#444444" class="frame"/>',
            *self._legend(legend_top),
            *([_text(_GAP, legend_top + 46, note, 'font-size="11"')] if note else []),
        ]
        key = (
            "c" + hashlib.sha256("".join(body).encode()).hexdigest()[:12]
        )  # unique, so that a page can contain several pictures
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" id="{key}" viewBox="0 0 {total_width:g} {total_height:g}" '
                f'width="{total_width:g}" height="{total_height:g}" role="img" '
                f'aria-labelledby="{key}-title {key}-desc" {_FONT}>',
                f'<title id="{key}-title">{escape(title)}</title>',
                f'<desc id="{key}-desc">{escape(self._description())}</desc>',
                self._style(key, "".join(body)),
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
        edge, edge_class = (' stroke="#ffffff"', " edge") if is_large else ("", "")
        for i in range(self.height):
            for j in range(self.width):
                x, y = self.left + j * self.cell_width, self.top + i * self.cell_height
                value = float(self.matrix.value[i, j])
                ink: Colour = (0, 0, 0)
                anchor, name = _HALO, "halo"
                if self.matrix.digits.is_hidden(i, j):
                    look = 'fill="#ffffff" stroke="#bbbbbb" class="open"'
                elif not np.isfinite(value):
                    look = f'fill="here:hatch"{edge}' + ' class="edge"' * bool(edge)
                else:
                    colour, level = self.scale.colour(value), self.scale.level(value)
                    look, ink = f'fill="{_hex(colour)}"{edge} class="c{level}{edge_class}"', ink_on(colour)
                    anchor, name = 'text-anchor="middle"', f"t{level}"
                parts.append(f'<rect x="{x:g}" y="{y:g}" {size} {look}/>')
                if text := self.texts.get((i, j)):
                    middle, line = x + self.cell_width / 2, y + self.cell_height / 2 + 4.3
                    parts.append(_text(middle, line, text, f'{anchor} class="{name}"', ink))
        return [*parts, "</g>"]

    def _legend(self, top: float) -> list[str]:
        """Return a colour bar, with the numbers at its ends and in its middle."""
        wide, low, high = 200, self.scale.lowest, self.scale.highest
        parts = [f'<rect x="{self.left:g}" y="{top:g}" width="{wide}" height="10" fill="here:ramp"/>']
        for part in (0.0, 0.5, 1.0):
            number = f"{low * (1 - part) + high * part:.3g}"
            parts.append(_text(self.left + part * wide, top + 24, number, 'text-anchor="middle" font-size="11"'))
        return parts

    def _definitions(self, key: str) -> list[str]:
        last = len(self.scale.colours) - 1
        stops = (
            f'<stop offset="{n / last:g}" stop-color="{_hex(c)}" class="s{n}"/>'
            for n, c in enumerate(self.scale.colours)
        )
        return [
            f'<defs><linearGradient id="{key}-ramp">{"".join(stops)}</linearGradient>',
            f'<pattern id="{key}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="6" height="6" fill="#ffffff" class="paper"/>'
            '<rect width="1.5" height="6" fill="#c4c4c4" class="stripe"/></pattern></defs>',
        ]

    def _style(self, key: str, body: str) -> str:
        """Return the colours for dark mode, only of the classes that the picture has; paper keeps the light ones."""
        rules = dict(_DARK) | {f"s{n}": f"stop-color:{_hex(c)}" for n, c in enumerate(self.scale.dark)}
        for level in range(_NUM_LEVELS):
            colour = self.scale.dark_colour(level)
            rules |= {f"c{level}": f"fill:{_hex(colour)}", f"t{level}": f"fill:{_hex(ink_on(colour))}"}
        used = {*re.findall(r"(?<=[\" ])(?:[ct]\d+|ink|edge|frame|open|halo)(?=[\" ])", body), "paper", "stripe"}
        used |= {f"s{n}" for n in range(len(self.scale.dark))}
        text = "".join(f"#{key} .{name}{{{rule}}}" for name, rule in rules.items() if name in used)
        return f"<style>@media screen and (prefers-color-scheme:dark){{{text}}}</style>"

    def _note(self) -> str:
        if (self.height, self.width) == self.matrix.value.shape:
            return ""
        return f"The first {self.height} × {self.width} of {self.matrix.size} cells are shown."

    def _description(self) -> str:
        """Describe the picture in words: every row of a small matrix, the range of a large one."""
        kind = "Heat map" + (", blue below 0 and orange above" if self.scale.lowest < 0 else ", stronger for more")
        if self.height * self.width > 150:
            return f"{kind}. {self.matrix.size} cells between {self.scale.lowest:.4g} and {self.scale.highest:.4g}."
        digits = self.matrix.digits
        rows = []
        for i, name in enumerate(self.row_names):
            cells = (
                f"{column} {'blank' if digits.is_hidden(i, j) else digits.text(i, j)}"
                for j, column in enumerate(self.column_names)
            )
            rows.append(f"{name}: {', '.join(cells)}")
        return f"{kind}. {'; '.join(rows)}."


def escape(text: str) -> str:
    """Make a text safe inside XML."""
    return _escape(printable(text))


def _text(x: float, y: float, text: str, look: str, ink: Colour = (0, 0, 0)) -> str:
    look = look if "class=" in look else f'{look} class="ink"'
    return f'<text x="{x:g}" y="{y:g}" fill="{_hex(ink)}" {look}>{escape(text)}</text>'


def _hex(colour: Colour) -> str:
    red, green, blue = colour
    return f"#{red:02x}{green:02x}{blue:02x}"
