"""No verb writes a file under a false name: the format follows the suffix, and an unknown one is an error before any work."""

from pathlib import Path

import pytest

from tests.command import run, run_process
from tests.unit.explain.logs import validated_run

EXAMPLES = Path(__file__).parents[2] / "examples" / "workings"
# The verb, the formats that its message lists, and a suffix of each format with how such a file starts.
VERBS: dict[str, tuple[tuple[str, ...], str, dict[str, bytes]]] = {
    "solve": (
        ("solve", "leak", "-o"), ".txt, .md, .html, .tex, .json, .csv, .xlsx or .ipynb",
        {".txt": b"Why the decoder", ".md": b"# Why", ".HTML": b"<!DOCTYPE html>", ".tex": b"\\documentclass", ".json": b"{",
         ".csv": b"problem,leak\n", ".xlsx": b"PK", ".ipynb": b"{"},
    ),
    "solve --picture": (("solve", "exam-self-attention", "--picture", "A", "-o"), ".svg", {".svg": b"<svg"}),
    "check": (
        ("check", "working.yaml", "-o"), ".txt, .md, .html or .json",
        {".txt": b"", ".md": b"# ", ".html": b"<!DOCTYPE html>", ".json": b"{"},
    ),
    "check --csv": (("check", "class", "--csv"), ".csv", {".csv": b"file,"}),
    "check --xlsx": (("check", "class", "--xlsx"), ".xlsx", {".xlsx": b"PK"}),
    "quiz": (
        ("quiz", "softmax", "-o"), ".md, .tex, .html, .json, .ipynb or .xml",
        {".md": b"# ", ".tex": b"\\documentclass", ".html": b"<!DOCTYPE html>", ".json": b"{", ".ipynb": b"{",
         ".xml": b"<?xml"},
    ),
    "quiz --number": (("quiz", "--number", "nonsense", "-o"), ".md, .tex, .html, .json, .ipynb or .xml", {}),
    "plot": (("plot", "run", "-o"), ".svg or .png", {".svg": b"<?xml"}),
    "experiment": (("experiment", "norms", "--picture"), ".svg or .png", {}),
    "study": (("experiment", "readers", "--picture"), ".svg or .png", {}),
    # These need a model; that the names are refused before it is looked for is what is tested here.
    "explain": (("explain", "-m", "none", "a", "-o"), ".html or .json", {}),
    "explain --npz": (("explain", "-m", "none", "a", "--npz"), ".npz", {}),
    "heads": (("heads", "-m", "none", "source", "target", "-o"), ".html, .json, .csv or .md", {}),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    for path in (tmp_path / "working.yaml", tmp_path / "class" / "ada.yaml"):
        path.write_bytes((EXAMPLES / "two-slips.yaml").read_bytes())
    validated_run(tmp_path / "run")
    return tmp_path


def all_files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("suffix", [".pdf", ".docx", ".v2", ".yaml"])
@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_suffix_is_an_error_that_lists_the_formats(folder: Path, verb: str, suffix: str) -> None:
    arguments, formats, _ = VERBS[verb]
    before = all_files(folder)
    done = run(*arguments, f"out{suffix}", cwd=folder)
    option = arguments[-1] if arguments[-1].startswith("--") else "--output"
    assert (done.returncode, done.stdout) == (2, "")
    sentence = f"clearhead: out{suffix}: {suffix} is not the suffix of a format that can be written here. Use a name that ends in {formats}"
    assert done.stderr.startswith(sentence)
    assert done.stderr.removesuffix("\n").endswith(f" ({option}).")
    assert done.stderr.count("\n") == 1
    assert all_files(folder) == before


FILES = [(verb, suffix) for verb, (_, _, starts) in VERBS.items() for suffix in starts]


@pytest.mark.parametrize(("verb", "suffix"), FILES)
def test_the_format_follows_the_suffix(folder: Path, verb: str, suffix: str) -> None:
    arguments, _, starts = VERBS[verb]
    done = run(*arguments, f"out{suffix}", cwd=folder)
    assert done.returncode in (0, 1), done.stderr  # 1: the working has an error
    content = (folder / f"out{suffix}").read_bytes()
    assert content.startswith(starts[suffix])
    assert content


CONTRADICTIONS = {
    "solve": ("solve", "leak", "--format", "html", "-o", "out.json"),
    "solve --json": ("solve", "leak", "--json", "-o", "out.md"),
    "check": ("check", "working.yaml", "--format", "markdown", "-o", "out.tex"),
    "quiz": ("quiz", "softmax", "--format", "moodle", "-o", "out.html"),
    "heads": ("heads", "-m", "none", "source", "target", "--format", "markdown", "-o", "out.csv"),
}


@pytest.mark.parametrize("verb", CONTRADICTIONS)
def test_a_format_that_contradicts_the_suffix_is_an_error_that_names_both(folder: Path, verb: str) -> None:
    arguments = CONTRADICTIONS[verb]
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "json"
    before = all_files(folder)
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearhead: the format {form} contradicts the name {arguments[-1]}, which ends in ")
    assert all_files(folder) == before


def test_a_format_is_written_under_a_suffix_that_says_nothing(folder: Path) -> None:
    assert run("solve", "leak", "--format", "html", "-o", "out.v2", cwd=folder).returncode == 0
    assert (folder / "out.v2").read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("arguments", [("solve", "leak"), ("check", "working.yaml"), ("quiz", "softmax")])
def test_a_dash_is_standard_output(folder: Path, arguments: tuple[str, ...]) -> None:
    before = all_files(folder)
    done = run_process(*arguments, "-o", "-", cwd=folder)
    assert done.returncode in (0, 1)
    assert len(done.stdout) > 100
    assert all_files(folder) == before


def test_a_name_without_a_suffix_has_the_format_of_its_verb(folder: Path) -> None:
    assert run("solve", "leak", "-o", "sheet", cwd=folder).returncode == 0
    assert (folder / "sheet").read_text(encoding="utf-8").startswith("Why the decoder is masked")
    assert run("quiz", "softmax", "-o", "sheets", cwd=folder).returncode == 0
    assert (folder / "sheets").is_dir()


def test_lines_of_text_are_written_under_any_name(folder: Path) -> None:
    done = run("translate", "Where is the hotel?", "-o", "lines.pdf", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "lines.pdf").read_text(encoding="utf-8").count("\n") == 1


def test_the_steps_of_a_search_are_written_as_json(folder: Path) -> None:
    before = all_files(folder)
    done = run("translate", "Where is the hotel?", "--explain", "steps.html", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Use a name that ends in .json (--explain).\n")
    assert all_files(folder) == before
