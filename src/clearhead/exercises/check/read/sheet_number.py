"""Where the exercise of a working can come from: given by the user, named by the working, or the number of a sheet.

The sheets are drawn by another package, which imports this one: whoever reads a working passes in the lookup.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearhead.check.working import NumberedSheet
from clearhead.errors import ClearheadError, ProblemError
from clearhead.exercises.check.read.number import visible
from clearhead.worksheet.problem import shorten

_MAX_NUMBER = 100  # characters
SheetLookup = Callable[[str], NumberedSheet]  # raises ClearheadError for a number that no sheet has


@dataclass(frozen=True)
class ProblemSources:
    """Where the problem of a working can come from, other than its own keys.

    `problem` takes precedence, unless it `is_default` and the working has the number of a sheet. A file that a working
    names must be in `folder` (None: no file). `sheets` finds a practice sheet by its number.
    """

    problem: Mapping[str, Any] | None = None
    folder: Path | None = None
    sheets: SheetLookup | None = None
    is_default: bool = False

    def sheet(self, number: Any) -> NumberedSheet:
        """Return the problem of the sheet with this number."""
        if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
            raise ProblemError(f"sheet = {shorten(number)} is not the number of a sheet. Copy it from the sheet.")
        if self.sheets is None:
            raise ProblemError(
                f"sheet {shorten(number)} cannot be looked up here. Give the problem of the sheet.",
                options=("problem",),
            )
        try:
            return self.sheets(str(number).strip()[:_MAX_NUMBER])
        except ClearheadError as wrong:
            raise ProblemError([visible(line) for line in str(wrong).split("\n")], options=wrong.options) from None
