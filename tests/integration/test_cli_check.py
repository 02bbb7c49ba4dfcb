"""`clearhead check` as a student and as a teacher use it: real files, real exit codes, one clear sentence."""

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.exercises.check.read.workings import shipped_workings
from clearhead.worksheet.reading import gallery
from tests.command import run, run_process

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD = {
    "Q": [["-0.1", "1.3"], ["-0.1", "1.0"], ["1.2", "0.6"]],
    "K": [["1.1", "1.7"], ["0.3", "0.7"], ["0.5", "1.6"]],
    "V": [["3", "2"], ["1", "2"], ["2", "1"]],
    "scores": [["2.10", "0.88", "2.03"], ["1.59", "0.67", "1.55"], ["2.34", "0.78", "1.56"]],
    "scaled": [["1.48", "0.62", "1.44"], ["1.12", "0.47", "1.10"], ["1.65", "0.55", "1.10"]],
    "weights": [["0.42", "0.18", "0.40"], ["0.40", "0.21", "0.39"], ["0.52", "0.17", "0.30"]],
    "output": [["2.24", "1.60"], ["2.19", "1.61"], ["2.33", "1.68"]],
}  # of examples/self-attention.yaml, every line rounded
PROBLEM = EXAMPLES / "self-attention.yaml"
Lines = dict[str, list[list[str]]]


def changed(name: str, row: int, column: int, text: str) -> Lines:
    """Return the good working with one cell changed."""
    lines = {key: [list(cells) for cells in value] for key, value in GOOD.items()}
    lines[name][row][column] = text
    return lines


def write(path: Path, lines: Lines, **more: str) -> Path:
    path.write_text(json.dumps({"problem": str(PROBLEM), **more, "written": lines}), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "json"])
def test_every_format_has_the_same_marks_and_exit_code(form: str) -> None:
    done = run("check", "numerical-self-attention", "--format", form)
    assert done.returncode == 1, done.stderr
    assert ("10.666667" if form == "json" else "10⅔") in done.stdout


def test_a_separate_process_gives_the_same_output() -> None:
    here, apart = (call("check", "numerical-self-attention") for call in (run, run_process))
    assert (apart.returncode, apart.stdout, apart.stderr) == (1, here.stdout, "")


@pytest.mark.parametrize("name", sorted(gallery()))
def test_our_own_worksheet_gets_full_marks_and_one_with_a_changed_number_does_not(name: str) -> None:
    sheet = run("solve", name, "--json").stdout
    fine = run("check", "-", "--json", text=sheet.encode())
    marks = json.loads(fine.stdout)["marks"]
    assert (fine.returncode, marks["earned"]) == (0, marks["out_of"])
    data = json.loads(sheet)
    row = data["records"][-1]["value"][0]
    row[-1] = row[-1] * 1.07 + 0.3
    wrong = run("check", "-", "--json", text=json.dumps(data).encode())
    report = json.loads(wrong.stdout)
    assert wrong.returncode == 1
    assert [finding["line"] for finding in report["findings"]] == [len(data["records"]) - 1]


def test_a_csv_on_standard_input_is_taken_for_a_table() -> None:
    text = f"problem;{PROBLEM}\nK;1,1;1,7\n;0,3;0,7\n;0,5;1,6\n"
    done = run("check", "-", "--json", text=text.encode())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lines"][0]["symbol"] == "K"


REFUSED = {
    "empty.yaml": (b"", "is empty"),
    "noise.yaml": (bytes(range(128, 256)), "is not UTF-8"),
    "noise.xlsx": (bytes(range(256)), "is not an .xlsx file"),
    "words.txt": (b"nothing here", "no exercise with numbers"),
    "none.yaml": (b"problem: exam-self-attention\nwritten: {}\n", "contains no lines"),
    "twice.yaml": (b"problem: exam-self-attention\nwritten: {Q: [[1]], Q: [[2]]}\n", "the key 'Q' is given twice"),
    "other.yaml": (b"problem: seq2seq-dot\nwritten: {Q: [[1, 2]], W_K: [[1]]}\n", "Q, W_K are not in this problem"),
    "nowhere.yaml": (b"problem: nothing-here\nwritten: {Q: [[1]]}\n", "no gallery problem with that name"),
    "lines.yaml": (
        b"problem: exam-self-attention\nwritten:\n" + b"".join(b"  Q%d: [1]\n" % i for i in range(2001)),
        "contains more than 1,000 lines",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_unusable_file_is_rejected_in_one_sentence_that_names_it_once(name: str, tmp_path: Path) -> None:
    content, sentence = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    done = run("check", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.startswith(f"clearhead: {name}: ")
    assert done.stderr.count(name) == 1, done.stderr
    assert done.stderr.count("\n") == 1, "one line"


def test_an_empty_name_is_not_taken_as_the_current_folder(tmp_path: Path) -> None:
    write(tmp_path / "ada.json", GOOD)
    done = run("check", "", cwd=tmp_path)
    assert done.returncode == 2
    assert "check needs a working" in done.stderr
    assert not (tmp_path / "reports").exists()


SHEETS = {
    "shape": lambda data: data["records"][3].update(value=[[1, 2], [3, 4]]),
    "inputs": lambda data: data["records"][3].update(inputs={}),
    "nothing": lambda data: data["records"][0].update(value=None),
    "given": lambda data: data["given"][0].update(value=[[1]]),
    "records": lambda data: data.update(records=[]),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_broken_worksheet_is_an_input_error_and_not_an_internal_one(name: str) -> None:
    data = json.loads(run("solve", "exam-self-attention", "--json").stdout)
    SHEETS[name](data)
    done = run("check", "-", text=json.dumps(data).encode())
    assert done.returncode == 2, done.stderr
    assert "standard input: " in done.stderr
    assert "Solve the problem again and save it as JSON." in done.stderr


def test_a_worksheet_of_another_problem_earns_nothing() -> None:
    sheet = run("solve", "exam-self-attention", "--json").stdout.encode()
    assert run("check", "-", "--problem", "exam-self-attention", text=sheet).returncode == 0
    done = run("check", "-", "--problem", str(PROBLEM), text=sheet)
    assert done.returncode == 2
    assert "a different problem" in done.stderr


def test_a_report_never_overwrites_the_working(tmp_path: Path) -> None:
    path = write(tmp_path / "ada.json", GOOD)
    before = path.read_bytes()
    (tmp_path / "link.json").hardlink_to(path)
    for name in ("./ada.json", "link.json", "../" + tmp_path.name + "/ada.json"):
        done = run("check", "ada.json", "-o", name, cwd=tmp_path)
        assert done.returncode == 2
        assert (
            "read, and the output would overwrite it. Choose another name for the output (--output).\n" in done.stderr
        )
        assert path.read_bytes() == before


def test_grades_and_reports_never_overwrite_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    path = write(tmp_path / "class" / "ada.json", GOOD)
    (tmp_path / "reports").mkdir()
    for name, option in (("grades.csv", "csv"), ("reports/ada.json.html", "reports")):
        (tmp_path / name).hardlink_to(path)
        done = run("check", "class", "--csv", "grades.csv", "--reports", "reports", cwd=tmp_path)
        assert done.returncode == 2
        assert f"{name} is the same file as class/ada.json, which is read" in done.stderr
        assert f"(--{option})" in done.stderr
        (tmp_path / name).unlink()
    problem = tmp_path / "question.yaml"
    problem.write_text("kind: positions\n")
    write(tmp_path / "max.json", {**GOOD, "problem": "question.yaml"})
    done = run("check", "max.json", "-o", "./question.yaml", cwd=tmp_path)
    assert (done.returncode, problem.read_text()) == (2, "kind: positions\n")
    assert "question.yaml is read, and the output would overwrite it" in done.stderr
    scheme = tmp_path / "scheme.yaml"
    scheme.write_text("strict_rounding: true\n")
    done = run("check", "class/ada.json", "--scheme", "scheme.yaml", "-o", "scheme.yaml", cwd=tmp_path)
    assert (done.returncode, scheme.read_text()) == (2, "strict_rounding: true\n")


def test_a_wrong_shape_is_reported_and_is_not_correct(tmp_path: Path) -> None:
    path = write(tmp_path / "max.json", {**GOOD, "weights": [row[:2] for row in GOOD["weights"]]})
    done = run("check", str(path), "--problem", str(PROBLEM))
    assert done.returncode == 2
    assert "No error in what could be marked." in done.stdout
    assert "1 line has a wrong shape" in " ".join(done.stdout.split())


NAMES = {
    "multi-head-attention.yaml": {
        "Q1": "Q₁", "K (head 1)": "K₁", "V head 1": "V₁", "head 2 Q": "Q₂", "K_head2": "K₂", "head 2: V": "V₂",
        "scores 1": "S₁", "weights_2": "A₂", "head1": "Z₁", "Concat(head1, head2)": "Z", "MultiHead": "O",
    },
    "self-attention.yaml": {
        "queries": "Q", "Key matrix": "K", "value vectors": "V", "scores (QK^T)": "S", "QK^T / sqrt(d_k)": "S′",
        "softmax scores": "A", "A V": "Z",
    },
    "lstm.yaml": {
        "t=1: forget gate": "f₁", "t=1: o": "o₁", "t=2: i": "i₂", "t=2: o": "o₂", "t=2: cell state": "c₂",
        "t=2: hidden state": "h₂", "t=1: candidate": "g₁", "h_1": "h₁",
    },
    "gru.yaml": {
        "t=1: reset gate": "r₁", "t=2: update gate": "z₂", "update gate 1": "z₁", "h~_2": "n₂", "candidate 1": "n₁",
        "1 - z_1": "(1 - z₁)", "t=2: z": "z₂", "h_2": "h₂",
    },
    "add-and-norm.yaml": {"X + Y": "R", "mean": "μ", "var": "σ²", "Add & Norm": "N"},
}  # fmt: skip


@pytest.mark.parametrize("example", NAMES)
def test_lines_are_recognised_by_the_names_that_people_use(example: str) -> None:
    from clearhead.worksheet.reading import load_problem
    from clearhead.worksheet.rounding import Rounding
    from clearhead.worksheet.solver import solve

    sheet = solve(load_problem(EXAMPLES / example), Rounding(lines="rounded", decimals=2))
    values = {record.symbol: record.value for record in sheet.trace}
    for name, symbol in NAMES[example].items():
        working = {name: [[f"{number:.2f}" for number in row] for row in values[symbol]]}
        (report,) = check({"problem": str(EXAMPLES / example), "written": working})
        assert [line.symbol for line in report.lines] == [symbol], (name, report.notes)
        assert report.exit_code == 0, name


def test_a_word_that_begins_with_a_symbol_is_not_a_row_of_it() -> None:
    (report,) = check({"problem": str(PROBLEM), "written": {**GOOD, "querying": [["1", "2"]]}})
    assert [note.place for note in report.notes if note.kind == "unplaced"] == ["written: querying"]
    assert report.num_misshapen == 0
    assert report.earned == report.out_of == 14


def test_positions_are_named_as_the_sheet_counts_them() -> None:
    rows = {"PE(0)": ["0", "1", "0", "1", "0", "1"], "PE[2]": ["0.91", "-0.42", "0.09", "1.00", "0.00", "1.00"]}
    (report,) = check({"problem": str(EXAMPLES / "positions.yaml"), "written": rows})
    assert report.exit_code == 0, report.findings
    assert {cell.row for line in report.lines for cell in line.marked} == {0, 2}


@pytest.mark.parametrize("names", [{}, {"scores": "S", "scaled": "S′", "weights": "A", "output": "Z"}])
def test_a_working_with_tokens_as_columns_is_read_as_the_transpose(names: dict[str, str]) -> None:
    turned = {names.get(name, name): [list(row) for row in zip(*rows, strict=True)] for name, rows in GOOD.items()}
    (report,) = check({"problem": str(PROBLEM), "written": turned})
    assert (report.earned, report.out_of) == (14, 14), report.notes
    assert any(note.kind == "convention" and "tokens as columns" in note.sentence for note in report.notes)


def test_the_infinity_of_yaml_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "problem: numerical-masked-self-attention\nwritten:\n  masked scores[1]: [20.06, -.inf, -.inf, -.inf]\n"
    )
    (report,) = check(tmp_path / "m.yaml")
    assert report.exit_code == 0
    assert report.earned == report.out_of


# A class


@pytest.fixture
def school(tmp_path: Path) -> Path:
    """Create a folder with workings and the scheme."""
    return make_school(tmp_path / "class")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A class that was graded once: its folder, and the output of the command."""
    folder = make_school(tmp_path_factory.mktemp("graded") / "class")
    return folder, run("check", ".", "--scheme", "scheme.yaml", "--csv", "grades.csv", cwd=folder)


def make_school(folder: Path) -> Path:
    folder.mkdir()
    write(folder / "ada.json", GOOD, student="Ada")
    for name in ("ben", "cy"):  # the same slip, and what follows from it
        lines = changed("K", 1, 1, "0.9")
        lines |= {"scores": [["2.10", "1.14", "2.03"], ["1.59", "0.87", "1.55"], ["2.34", "0.90", "1.56"]]}
        write(folder / f"{name}.json", {key: lines[key] for key in ("Q", "K", "V", "scores")}, student=name)
    write(folder / "di.json", changed("output", 2, 1, "2.68"), student="=HYPERLINK(1)")
    write(folder / "ed.json", {"weights": GOOD["weights"][:1]})
    write(folder / "flo.json", {**GOOD, "weights": [row[:2] for row in GOOD["weights"]]}, student="＝1+1")
    (folder / "gus.json").write_bytes(b"\xff\xfe\x00")
    (folder / "han.csv").write_bytes(b"")
    (folder / "ida.docx").write_bytes(b"a letter")
    (folder / "~$jo.xlsx").write_bytes(b"left by an editor")
    scheme = f"problem: {json.dumps(str(PROBLEM))}\nlines:\n  weights: {{M: 2, A: 3}}\n"
    (folder / "scheme.yaml").write_text(scheme, encoding="utf-8")
    return folder


def grades(folder: Path) -> dict[str, dict[str, str]]:
    rows = csv.DictReader(io.StringIO((folder / "grades.csv").read_text(encoding="utf-8")))
    return {row["file"]: row for row in rows}


def test_grading_a_class_twice_gives_the_same_with_scheme_and_grades_in_the_folder(
    graded: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    school, first = graded
    table = grades(school)
    again = run("check", ".", "--scheme", "scheme.yaml", "--csv", "grades.csv", cwd=school)
    assert (first.returncode, first.stdout) == (again.returncode, again.stdout) == (1, again.stdout), first.stderr
    assert grades(school) == table
    names = ["ada.json", "ben.json", "cy.json", "di.json", "ed.json", "flo.json", "gus.json", "han.csv", "ida.docx"]
    assert list(table) == names, "the scheme, the grades and what an editor left are nobody's working"
    assert "Word files are not read" in " ".join(first.stdout.split()), "a file that is not read says why"
    reports = sorted(report.name for report in (school / "reports").iterdir())
    assert reports == [*(f"{name}.html" for name in names[:6]), "index.html", "projected.html"]


def test_the_grades_of_a_class_are_right(graded: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    school, done = graded
    table = grades(school)
    assert (table["ada.json"]["marks"], table["ada.json"]["out of"]) == ("17", "17")
    assert table["ed.json"]["marks"] == "3", "M 2 and one row of three"
    assert (table["flo.json"]["marks"], table["flo.json"]["out of"]) == (
        "11.6667",
        "17",
    ), "12 without the weights; one row of the output follows from them alone, and cannot be checked"
    assert table["flo.json"]["not marked"] == "weights (wrong shape); output (2 cells not checked)"
    assert (table["gus.json"]["marks"], table["gus.json"]["out of"], table["gus.json"]["errors"]) == ("", "", "")
    assert "Not marked: weights (wrong shape), output (2 cells not checked)." in " ".join(done.stdout.split())
    assert "Wrote 6 reports to reports/ and the grades to grades.csv." in done.stdout
    assert table["gus.json"]["cannot be used"] == "line 1 is not UTF-8 text. Save the file as UTF-8."
    assert table["han.csv"]["cannot be used"].startswith("is empty")
    assert "ben and cy share " in done.stdout
    assert "2 × arithmetic slip in K" in done.stdout


def test_no_cell_of_the_grades_is_a_formula(graded: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    school, _ = graded
    table = grades(school)
    assert table["di.json"]["student"] == "'=HYPERLINK(1)"
    assert table["flo.json"]["student"] == "'＝1+1"
    cells = [cell for row in csv.reader(io.StringIO((school / "grades.csv").read_text("utf-8"))) for cell in row]
    assert len(cells) > 80
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@＝＋－＠")]


def test_no_cell_of_the_grades_is_taken_for_a_date(graded: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """A spreadsheet turns 2/2 into the second of February."""
    row = grades(graded[0])["ed.json"]
    name = "A (Self-attention)"
    assert (row[name], row[f"{name}, out of"]) == ("3", "5")
    assert not [cell for cell in row.values() if re.fullmatch(r"[\d.]+/[\d.]+", cell)]


@pytest.mark.parametrize("options", [(), ("--csv", "grades.csv")])
def test_reports_are_announced_only_if_they_were_written(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.json").write_text("{", encoding="utf-8")
    done = run("check", "class", *options, cwd=tmp_path)
    assert done.returncode == 2
    wrote_grades = " Wrote the grades to grades.csv." if options else ""
    assert done.stdout.endswith(f"No report was written, because no file could be used.{wrote_grades}\n")
    assert not (tmp_path / "reports").exists()


def test_a_mistake_in_the_scheme_is_one_sentence_with_its_path(school: Path) -> None:
    scheme = f"problem: {json.dumps(str(PROBLEM))}\nmarks: 34\nlines:\n  wieghts: {{M: 2, A: 3}}\n"
    (school / "scheme.yaml").write_text(scheme, encoding="utf-8")
    for working in (".", "ada.json"):
        done = run("check", working, "--scheme", "scheme.yaml", cwd=school)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(
            "clearhead: scheme.yaml: lines: 'wieghts' is not a line of this exercise. Did you"
        )
        assert done.stderr.count("wieghts") == 1


def test_the_table_of_a_class_says_that_the_marks_are_scaled(school: Path) -> None:
    with (school / "scheme.yaml").open("a", encoding="utf-8") as file:
        file.write("marks: 34\nonly_these: true\n")
    done = run("check", ".", "--scheme", "scheme.yaml", cwd=school)
    assert "The marks are scaled from 5 to 34." in done.stdout


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon", "1e9"])
def test_a_time_limit_that_makes_no_sense_is_reported_in_a_sentence(seconds: str) -> None:
    done = run("check", "exam-self-attention", "--time-limit", seconds)
    assert done.returncode == 2
    message = f"--time-limit {seconds} is not a number of seconds from 0.1 to 86400."
    assert message in " ".join(done.stderr.split())
    assert "nput should" not in done.stderr


TARGETS = [
    (("--csv", "ada.json"), "is in the folder of the workings"),
    (("--csv", "nowhere/grades.csv"), "cannot be written"),
    (("--csv", "."), "cannot be written"),
    (("--reports", "ada.json"), "is not a folder"),
    (("--reports", ".", "--format", "markdown"), "is the folder of the workings"),
    (("--output", "all.html"), "use --reports"),
]


@pytest.mark.parametrize(("options", "sentence"), TARGETS)
def test_grading_a_class_overwrites_no_working_and_leaves_no_partial_file(
    options: tuple[str, ...], sentence: str, school: Path
) -> None:
    before = {file.name: file.read_bytes() for file in school.iterdir()}
    done = run("check", ".", "--scheme", "scheme.yaml", *options, cwd=school)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert {file.name: file.read_bytes() for file in school.iterdir()} == before


def test_every_shipped_working_has_a_title_in_the_list() -> None:
    listed = {entry["id"]: entry["title"] for entry in json.loads(run("check", "--list", "--json").stdout)}
    assert set(listed) == set(shipped_workings())
    assert all(listed.values())


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("r.html", "<!DOCTYPE html>"),
        ("r.md", "# Rain on roof"),
        ("r.json", '{"clearhead_report"'),
        ("r.txt", "Rain on roof"),
    ],
)
def test_the_suffix_of_the_output_file_chooses_the_format(name: str, start: str, tmp_path: Path) -> None:
    done = run("check", str(EXAMPLES / "workings" / "two-slips.yaml"), "-o", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    done = run(
        "check", str(EXAMPLES / "workings" / "two-slips.yaml"), "-o", f"{name}.v2", "--format", "json", cwd=tmp_path
    )
    assert done.returncode == 1
    assert (tmp_path / f"{name}.v2").read_text(encoding="utf-8").startswith('{"clearhead_report"')
