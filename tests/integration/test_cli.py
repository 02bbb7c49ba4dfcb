"""The command line as a user runs it: real files, real exit codes, and a real process where that makes a difference."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from clearhead import Worksheet, __version__, solve
from clearhead.cli.main import app
from tests.command import run, run_process

GOLDEN = Path(__file__).parents[1] / "golden" / "cli_surface.txt"


def surface() -> str:
    """Return every verb with its options, one per line."""
    command = typer.main.get_command(app)
    lines = []
    for name, verb in sorted(command.commands.items()):  # type: ignore[attr-defined]
        for option in sorted(verb.params, key=lambda parameter: parameter.name or ""):
            lines.append(f"{name} {'/'.join([*option.opts, *option.secondary_opts])}")
    return "\n".join(lines) + "\n"


def test_the_surface_of_the_command_line_is_frozen() -> None:
    assert surface() == GOLDEN.read_text(encoding="utf-8"), (
        "the options changed: if that is meant, say so in CHANGELOG.md"
    )


def test_help_and_version() -> None:
    assert "solve" in run_process("--help").stdout
    assert run_process("--version").stdout == f"clearhead {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [("--help",), ("solve", "lets-go-encoder"), ("solve", "--list"), ("experiment", "norms")]
)
def test_torch_is_never_loaded(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys, clearhead.cli.main as m\n"
        f"sys.argv = ['clearhead', *{list(arguments)!r}]\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "if '--help' in sys.argv: heavy |= {'numpy', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_gallery_problem_is_solved() -> None:
    done = run_process("solve", "lets-go-encoder", "--detail", "products")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("solve", "lets-go-encoder", "--detail", "products").stdout
    assert "-0.995 = 1.87×1.1 + 1.09×(-2.8)" in done.stdout


def test_json_from_the_command_line_is_the_worksheet_of_the_library() -> None:
    done = run("solve", "exam-self-attention", "--json")
    assert Worksheet.from_json(done.stdout) == solve("exam-self-attention")
    assert run("solve", "exam-self-attention", "--format", "json").stdout == done.stdout


def test_latex_is_a_complete_document_or_a_fragment() -> None:
    document = run("solve", "lets-go-encoder", "--format", "latex", "--detail", "products")
    assert (document.returncode, document.stderr) == (0, "")
    assert document.stdout == solve("lets-go-encoder").to_latex("products")
    fragment = run("solve", "lets-go-encoder", "--format", "latex-fragment", "--blank", "A[go, *]")
    assert fragment.stdout == solve("lets-go-encoder").to_latex(blanks=["A[go, *]"], fragment=True)


def test_a_matrix_is_drawn_as_an_svg_picture(tmp_path: Path) -> None:
    done = run("solve", "lets-go-encoder", "--picture", "A")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == solve("lets-go-encoder").picture("A")
    path = tmp_path / "a.svg"
    assert run("solve", "lets-go-decoder-vamos", "--picture", "*cross*:A", "-o", str(path)).stdout == ""
    assert path.read_text(encoding="utf-8") == solve("lets-go-decoder-vamos").picture("A", "*cross*")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--picture", "W_q"), "clearhead: 'W_q' is not a matrix of this sheet. Did you mean 'W_Q'? Matrices: E, X, P"),
        (("--picture", "x*:A"), "clearhead: 'x*:A' is not a matrix of this sheet."),
        (("--picture", "A", "--json"), "clearhead: --picture draws an SVG, which contradicts --format json."),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_reported_in_one_sentence(options: tuple[str, ...], sentence: str) -> None:
    done = run("solve", "lets-go-encoder", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


def test_an_unknown_problem_says_which_flag_lists_the_gallery() -> None:
    assert run("solve", "zzzzzz").stderr == (
        "clearhead: zzzzzz: there is no such file and no gallery exercise with this name. "
        "List the gallery to see the names (--list).\n"
    )
    assert run("solve", "-").stderr == (
        "clearhead: standard input: is empty. Write an exercise into it: the kind, and the keys of that kind "
        "(--fields all).\n"
    )


def test_the_gallery_is_listed() -> None:
    assert "lets-go-encoder" in run("solve", "--list").stdout
    listed = json.loads(run("solve", "--list", "--json").stdout)
    assert {"id": "leak", "kind": "parts", "title": "Why the decoder is masked"} in listed


def test_the_fields_of_a_kind_are_listed() -> None:
    done = run("solve", "--fields", "add-and-norm")
    assert "- `X` (required): the input of the layer" in done.stdout
    assert "Choices: layer, batch, all, rms, none." in done.stdout
    assert run("solve", "--fields", "nonsense").returncode == 2


def test_a_problem_can_be_read_from_standard_input() -> None:
    done = run_process("solve", "-", "--detail", "results", text="{kind: add-and-norm, X: [[1, 3]], epsilon: 0}")
    assert "[ -1  1 ]" in done.stdout
    empty = run("solve", "-")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert empty.stderr.startswith("clearhead: standard input: is empty.")


def test_rounding_options_override_the_file() -> None:
    done = run("solve", "seq2seq-dot", "--round-lines", "--decimals", "2")
    assert "Every step is rounded to 2 decimals (half-up)" in done.stdout
    assert "0.26  0.33  0.41" in done.stdout
    assert (
        "3 significant figures (half-even)"
        in run("solve", "seq2seq-dot", "--significant", "3", "--ties", "half-even").stdout
    )


def test_output_is_written_to_a_file_and_a_failure_creates_none(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    assert run("solve", "leak", "--format", "markdown", "-o", str(path)).stdout == ""
    assert path.read_text(encoding="utf-8").startswith("# Why the decoder is masked\n")
    text = tmp_path / "sheet.txt"
    run("solve", "leak", "--output", str(text))
    assert "Part 1" in text.read_text(encoding="utf-8")
    failed = run("solve", "leak", "-o", str(tmp_path / "nowhere" / "sheet.md"))
    assert failed.returncode == 2
    assert (
        f"the folder of {tmp_path / 'nowhere' / 'sheet.md'} does not exist. Create it first (--output)."
        in failed.stderr
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["sheet.md", "sheet.txt"]


def test_a_failed_problem_does_not_change_an_old_output(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text("old")
    assert run("solve", "-", "-o", str(path), text="kind: nonsense").returncode == 2
    assert path.read_text() == "old"


def test_mistakes_are_reported_one_per_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: self-attention\nX: [[1, 2], [3]]\nW_Q: [[.nan]]\nscal: none\n")
    done = run("solve", "bad.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert len(lines) == 4, "without W_V, the weights are the answer"
    assert all("bad.yaml: " in line for line in lines)
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback() -> None:
    done = run_process("--debug", "solve", "nothing-here")
    assert "Traceback" in done.stderr
    assert done.returncode == 1


def test_solve_without_a_problem_says_what_it_needs() -> None:
    done = run("solve")
    assert done.returncode == 2
    assert "solve needs an exercise" in done.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    command = (
        f"{sys.executable} -m clearhead.cli.main solve positions --detail products | head -1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("Sinusoidal positions")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_output_can_be_a_link_or_a_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target.md", tmp_path / "link.md", tmp_path / "pipe"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    assert run("solve", "leak", "--format", "markdown", "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("# Why")
    assert target.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert run("solve", "leak", "--format", "markdown", "-o", str(pipe)).returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith(b"# Why")
    assert pipe.is_fifo()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_of_the_terminal_works(encoding: str) -> None:
    command = [sys.executable, "-m", "clearhead.cli.main", "solve", "bank"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_and_a_closed_input_are_reported() -> None:
    command = f"{sys.executable} -m clearhead.cli.main solve"
    full = subprocess.run(["bash", "-c", f"{command} leak > /dev/full"], capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert "the output cannot be written: No space left on device." in full.stderr
    closed = subprocess.run(["bash", "-c", f"{command} - <&-"], capture_output=True, text=True, check=False)
    assert closed.returncode == 2
    assert "standard input is closed" in closed.stderr


def test_closed_output_streams_are_reported_and_harm_no_file(tmp_path: Path) -> None:
    command = f"{sys.executable} -m clearhead.cli.main solve leak"
    lost = subprocess.run(["bash", "-c", f"{command} >&-"], capture_output=True, text=True, check=False)
    assert (lost.returncode, lost.stderr) == (
        2,
        "clearhead: standard output is closed, so the result would be lost. Write it to a file (--output).\n",
    )
    closed = f"{command} --format markdown -o {tmp_path / 'sheet.md'} <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", closed], check=False).returncode == 0
    assert (tmp_path / "sheet.md").read_text(encoding="utf-8") == solve("leak").to_markdown("matrices")


@pytest.mark.parametrize("name", ["", "x" * 5000, "no\x1b[31m\x07such"])
def test_invalid_file_names_are_rejected_in_plain_text(name: str) -> None:
    done = run("solve", name)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr
    assert "Traceback" not in done.stderr


def test_control_characters_in_a_mistake_are_made_visible() -> None:
    done = run("solve", "-", text=b'{"kind": "positions", "\\u001b[31mevil\\u0007": 1}')
    assert done.returncode == 2
    assert "evil" in done.stderr
    assert not any(ord(letter) < 32 for letter in done.stderr.replace("\n", ""))


def test_control_c_stops_quietly() -> None:
    for seconds in (1, 3, 9):  # on a busy machine Python can still be starting, and is then ended by the signal
        process = subprocess.Popen(
            [sys.executable, "-m", "clearhead.cli.main", "solve", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        if process.returncode != -signal.SIGINT:
            break
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_an_internal_error_is_reported_as_one() -> None:
    code = (
        "import sys, clearhead.worksheet as w, clearhead.cli.main as m\n"
        "def broken(*a): raise RuntimeError('boom')\n"
        "w.solve = broken\n"
        "sys.argv = ['clearhead', 'solve', 'leak']\nm.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 3
    assert "this is a bug in clearhead, not a mistake of yours: RuntimeError: boom" in done.stderr


def test_too_little_memory_is_an_error_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("clearhead.worksheet.solve", without_memory)
    done = run("solve", "leak")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("clearhead: there is not enough memory for this. Close other programs, or use a ")


def test_a_page_is_written_to_a_file(tmp_path: Path) -> None:
    done = run("solve", "lets-go-encoder", "--format", "html", "--blank", "A", "-o", "sheet.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.count("class=blank") == 4
