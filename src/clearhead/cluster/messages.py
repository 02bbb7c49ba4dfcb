"""What travels between the driver and the workers: windows of input lines, their results, and errors, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from clearhead import errors
from clearhead.errors import ClearheadError
from clearhead.files.line_input import InputLine
from clearhead.files.lines import Fault


@dataclass(frozen=True)
class LineWindow:
    """The next lines of one input, counted from 0; the last window of an input has no lines.

    If an input cannot be read any further, `error` says why, and no window follows.
    """

    file: int
    lines: tuple[InputLine, ...] = ()
    error: ClearheadError | None = None
    is_last: bool = False

    def to_json(self) -> str:
        """Return it as JSON in ASCII, which can also hold lone surrogates."""
        lines = [
            [line.number, line.line, line.text, line.cells, line.data is not None, line.is_header, _fault_data(line)]
            for line in self.lines
        ]
        return json.dumps([self.file, lines, _error_data(self.error), self.is_last])

    @staticmethod
    def from_json(text: str) -> "LineWindow":
        """Read a window that `to_json` wrote."""
        file, lines, error, is_last = json.loads(text)
        return LineWindow(file, tuple(map(_line, lines)), _error(error), is_last)


@dataclass(frozen=True)
class WindowResult:
    """The output of a window, its input lines for the journal, and what a worker reports about it.

    `worker` names the process (node, process id), and `num_attempts` counts how often the window was started.
    """

    file: int
    content: bytes = b""
    lines: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    error: ClearheadError | None = None
    is_last: bool = False
    worker: tuple[str, int] = ("", 0)
    num_attempts: int = 1

    def to_json(self) -> str:
        """Return everything except the content as JSON in ASCII."""
        error = _error_data(self.error)
        return json.dumps(
            [self.file, self.lines, self.report, error, self.is_last, self.worker, self.num_attempts],
        )

    @staticmethod
    def from_json(text: str, content: bytes) -> "WindowResult":
        """Read a result that `to_json` wrote."""
        file, lines, report, error, is_last, worker, num_attempts = json.loads(text)
        return WindowResult(
            file, content, tuple(lines), report, _error(error), is_last, (worker[0], worker[1]), num_attempts
        )


def _line(data: list[Any]) -> InputLine:
    number, line, text, cells, has_data, is_header, fault = data
    data_of_line = json.loads(line) if has_data else None
    own_fault = None if fault is None else Fault(**fault)
    return InputLine(number, line, text, tuple(cells), data_of_line, is_header, own_fault)


def _fault_data(line: InputLine) -> dict[str, Any] | None:
    return None if line.fault is None else asdict(line.fault)


def _error_data(error: ClearheadError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"kind": type(error).__name__, "message": str(error), "options": error.options}


def _error(data: Mapping[str, Any] | None) -> ClearheadError | None:
    """Rebuild an error of clearhead; a class that is not in the exception tree becomes its root."""
    if data is None:
        return None
    kind = getattr(errors, data["kind"], ClearheadError)
    if not (isinstance(kind, type) and issubclass(kind, ClearheadError)):
        kind = ClearheadError
    return kind(data["message"], options=data["options"])
