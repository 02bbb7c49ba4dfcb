"""The progress output of a run, in a terminal and in files."""

import importlib.util
import json
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clearhead.errors import RunError
from clearhead.training import progress
from clearhead.training.progress import Reporter, short_number


def plain() -> tuple[Console, StringIO]:
    text = StringIO()
    return Console(file=text, highlight=False), text


def test_without_a_terminal_every_log_is_one_plain_line() -> None:
    console, text = plain()
    with Reporter(console=console) as reporter:
        reporter.begin(1300)
        reporter.advance(3)
        values = {"loss": 4.5678912, "rate": 0.00012, "gradient": 1.7, "epoch": 0, "tokens_per_second": 12345.6}
        reporter.log(700, values, phase="warm-up 700/900", seconds_left=540)
        reporter.log(700, {"valid/loss": 3.14159, "valid/bleu": 31.0})
        reporter.message("The data is [bold]ready[/bold]\x1b[2J.")
    assert text.getvalue() == (
        "update 700/1,300 · warm-up 700/900 · loss 4.568 · rate 0.00012 · 12,346 tokens/s · 9 min left\n"
        "update 700/1,300 · validation: loss 3.142 · bleu 31\n"
        "The data is [bold]ready[/bold]\\x1b[2J.\n"
    )


def test_a_long_line_is_not_broken_in_a_log() -> None:
    console, text = plain()
    Reporter(console=console).message("word " * 100)
    assert text.getvalue().count("\n") == 1


def test_progress_goes_to_standard_error() -> None:
    code = "from clearhead.training.progress import Reporter\nReporter().log(3, {'loss': 0.5})\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("", "update 3 · loss 0.5\n")


def test_a_terminal_gets_a_bar_with_values_and_the_time_left() -> None:
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=150, highlight=False)
    with Reporter(console=console) as reporter:
        reporter.begin(13, step=2)
        for step in range(3, 8):
            reporter.advance(step)
        reporter.log(7, {"loss": 0.5, "tokens_per_second": 4321.0, "gradient": 1.25}, phase="cosine 21 %")
        reporter.log(7, {"valid/bleu": 31.0})
        reporter.message("Validated.")
    shown = text.getvalue()
    assert "7/13" in shown
    assert "cosine 21 %" in shown
    assert "loss 0.5 · 4,321 tokens/s · valid/bleu 31" in shown
    assert "update 7/13 · validation: bleu 31" in shown
    assert "gradient" not in shown
    assert "Validated." in shown
    assert ":" in shown


def test_a_bar_without_an_end_only_counts() -> None:
    text = StringIO()
    with Reporter(console=Console(file=text, force_terminal=True, width=150)) as reporter:
        reporter.begin(None)
        reporter.advance(5)
        reporter.begin(11, step=7)
    assert "7/11" in text.getvalue()


def test_metrics_are_json_lines_without_nan(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    console, _ = plain()
    with Reporter(path, console=console) as reporter:
        reporter.log(3, {"loss": 0.5})
        path.write_text("")  # a resumed run drops what it will compute again
        reporter.log(5, {"loss": float("nan"), "rate": float("inf"), "bleu": 31.7})
    line = json.loads(path.read_text())
    assert {name: line[name] for name in ("step", "loss", "rate", "bleu")} == {
        **{"step": 5, "loss": None, "rate": None, "bleu": 31.7}
    }
    assert line["time"] > 1.7e9


def test_metrics_that_cannot_be_written_are_reported(tmp_path: Path) -> None:
    console, _ = plain()
    with pytest.raises(RunError, match=r"m.jsonl cannot be written: No such file or directory\."):
        Reporter(tmp_path / "nowhere" / "m.jsonl", console=console).log(3, {"loss": 0.5})


def test_curves_are_written_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is optional")
    # In a separate process: TensorBoard imports packages that warn.
    code = (
        "import sys\nfrom pathlib import Path\nfrom clearhead.training.progress import Reporter\n"
        "with Reporter(curves=Path(sys.argv[1])) as reporter:\n"
        "    reporter.log(3, {'loss': 0.5})\n    reporter.log(5, {'loss': 0.25})\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "events = EventAccumulator(sys.argv[1]).Reload()\n"
        "print([(event.step, event.value) for event in events.Scalars('loss')])\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "curves")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[(3, 0.5), (5, 0.25)]\n"


def test_missing_tensorboard_is_reported_in_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    console, text = plain()
    with Reporter(curves=tmp_path / "curves", console=console) as reporter:
        reporter.log(3, {"loss": 0.5})
        reporter.log(5, {"loss": 0.5})
    assert text.getvalue().count("TensorBoard is not installed") == 1
    assert not (tmp_path / "curves").exists()


def test_curves_on_a_full_disk_are_given_up_with_a_sentence(tmp_path: Path) -> None:
    console, text = plain()

    class Full:
        def add_scalar(self, *_: object) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            raise OSError(28, "No space left on device")

    with Reporter(tmp_path / "metrics.jsonl", tmp_path / "curves", console) as reporter:
        reporter._writer = Full()
        reporter.log(1, {"loss": 0.5})
        reporter.log(2, {"loss": 0.25})
    assert text.getvalue().count("The curves cannot be written ([Errno 28] No space left on device).") == 1
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_a_full_disk_before_the_first_curve_is_reported_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    console, text = plain()
    hook = threading.excepthook
    monkeypatch.setattr(progress, "_curve_writer", full)
    with Reporter(tmp_path / "metrics.jsonl", tmp_path / "curves", console) as reporter:
        reporter.log(1, {"loss": 0.5})
        reporter.log(2, {"loss": 0.25})
    assert text.getvalue().count("The curves cannot be written ([Errno 28] No space left on device).") == 1
    assert threading.excepthook is hook


@pytest.mark.parametrize(("module", "error", "count"), [
    ("tensorboard.summary", OSError, 0), ("tensorboard.summary", ValueError, 1), ("mine", OSError, 1),
])  # fmt: skip
def test_only_the_writer_of_curves_fails_without_a_traceback(module: str, error: type[Exception], count: int) -> None:
    reports: list[object] = []
    thread = type("Writer", (threading.Thread,), {"__module__": module})()
    hook = progress.without_writer_errors(reports.append)
    hook(threading.ExceptHookArgs((error, error(), None, thread)))
    assert len(reports) == count


def test_tensorboard_is_not_loaded_unless_curves_are_requested() -> None:
    assert importlib.util.find_spec("clearhead.training.progress") is not None
    code = (
        "import sys\nfrom clearhead.training.progress import Reporter\nReporter().log(3, {'loss': 0.5})\n"
        "sys.exit('torch' in sys.modules or 'tensorboard' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12,346"), (3.14159, "3.142"), (0.00012, "0.00012"), (float("nan"), "nan"), (-2000.0, "-2,000")],
)
def test_numbers_are_written_in_few_characters(value: float, text: str) -> None:
    assert short_number(value) == text
