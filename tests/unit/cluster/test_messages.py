"""Windows, results and errors survive the way to a worker and back."""

import pytest

from clearhead.cluster.messages import LineWindow, WindowResult
from clearhead.errors import ClearheadError, ConfigError, DataError
from clearhead.files.line_input import InputLine
from clearhead.files.lines import Fault


def test_lines_of_every_form_survive() -> None:
    lines = (
        InputLine(3, "Grüße \u2028 \ud800", "text"),
        InputLine(4, "a\tb", "b", ("a", "b")),
        InputLine(5, '{"source": "x", "n": [1]}', "x", data={"source": "x", "n": [1]}),
        InputLine(6, "id\tsource", "", ("id", "source"), is_header=True),
        InputLine(7, "\0broken", "", fault=Fault("in.txt", 7, "invalid UTF-8", "broken")),
    )
    window = LineWindow(2, lines)
    assert window.to_json().isascii()
    assert LineWindow.from_json(window.to_json()) == window


@pytest.mark.parametrize(
    "error",
    [DataError("no", options={"on_fault": "skip"}), ConfigError(["one", "two"]), ClearheadError("no", options=("x",))],
)
def test_errors_keep_their_kind_message_and_options(error: ClearheadError) -> None:
    result = WindowResult(1, b"\0\xff", ("a",), {"num": 2}, error, True, ("node", 17), 3)
    copy = WindowResult.from_json(result.to_json(), result.content)
    assert copy.error is not None
    assert (type(copy.error), str(copy.error)) == (type(error), str(error))
    assert copy.error.options in (error.options, list(error.options))
    assert (copy.file, copy.content, copy.lines, copy.report) == (1, b"\0\xff", ("a",), {"num": 2})
    assert (copy.is_last, copy.worker, copy.num_attempts) == (True, ("node", 17), 3)


def test_a_name_that_is_not_an_error_of_ours_becomes_the_root() -> None:
    text = WindowResult(0, error=DataError("no")).to_json().replace('"DataError"', '"printable"')
    assert type(WindowResult.from_json(text, b"").error) is ClearheadError
