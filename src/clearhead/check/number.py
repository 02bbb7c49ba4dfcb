"""One written cell: its raw text, the value it stands for, and the unit of its last digit.

Nothing is executed: a small parser reads digits, fractions, roots and powers, within bounds.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """A number as it was written.

    `unit` is 10^-decimals (of the mantissa, in scientific notation), 0 for an exact expression such as 2/3 or √3.
    `is_whole` marks an integer, whose unit depends on what stands around it; `figures` counts significant digits as
    written (None where that has no meaning). `problem` says why it cannot be read (value is then nan).
    """

    text: str
    value: float
    unit: float = 0.0
    is_whole: bool = False
    figures: int | None = None
    problem: str = ""
