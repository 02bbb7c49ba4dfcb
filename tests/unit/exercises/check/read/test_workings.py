"""Workings from files and data: precision is kept, every mistake is reported, and hostile files are rejected."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clearhead import solve
from clearhead.check.working import Working, WrittenLine
from clearhead.errors import ProblemError
from clearhead.exercises.check.read import workings
from clearhead.exercises.check.read.workings import load_workings
from clearhead.worksheet.reading import read_data
from clearhead.worksheet.worksheet import Worksheet


def working(tmp_path: Path, text: str, name: str = "w.yaml", problem: object = None) -> Working:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (loaded,) = load_workings(path, problem)  # type: ignore[arg-type]
    assert isinstance(loaded, Working)
    return loaded


def written(tmp_path: Path, text: str) -> tuple[WrittenLine, ...]:
    below = "".join(f"  {line}\n" for line in text.splitlines())
    return working(tmp_path, f"problem: bank\nwritten:\n{below}").lines


def mistakes(tmp_path: Path, text: str, problem: object = None) -> str:
    with pytest.raises(ProblemError) as error:
        working(tmp_path, text, problem=problem)
    return str(error.value)


def test_yaml_numbers_keep_every_digit_that_was_written(tmp_path):
    (line,) = written(tmp_path, "Q: [[0.50, 1.20, -0.00], [1e-3, 007, 12:30], [no, ~, '0.10'], [.5, 1_000, −∞]]")
    assert line.cells == (
        ("0.50", "1.20", "-0.00"),
        ("1e-3", "007", "12:30"),
        ("no", "", "0.10"),
        (".5", "1_000", "−∞"),
    )


def test_json_numbers_keep_every_digit_that_was_written(tmp_path):
    text = '{"problem": "bank", "written": {"Q": [[0.50, 1], [1.20e-3, null], [true, -Infinity]], "n": 0.10}}'
    lines = working(tmp_path, text, "w.json").lines
    assert [line.cells for line in lines] == [
        (("0.50", "1"), ("1.20e-3", ""), ("true", "-Infinity")),
        (("0.10",),),
    ]


def test_the_problem_itself_is_read_as_numbers_even_where_an_alias_shares_its_matrix(tmp_path):
    loaded = working(tmp_path, "kind: x\nX: &m [[1.50, 2]]\nwritten: {Y: *m}\n")
    assert loaded.problem == {"kind": "x", "X": [[1.5, 2]]}
    assert loaded.lines[0].cells == (("1.50", "2"),)


def test_a_number_a_row_a_matrix_and_a_ragged_matrix(tmp_path):
    lines = written(tmp_path, "a: 0.10\nb: [1, 2]\nc: [[1], [2]]\nd: [[1, 2], [3]]")
    assert [line.cells for line in lines] == [
        (("0.10",),),
        (("1", "2"),),
        (("1",), ("2",)),
        (("1", "2"), ("3",)),
    ]
    assert lines[0] == WrittenLine("a", (("0.10",),), place="written: a")


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a: 0.26 0.33 0.41", (("0.26", "0.33", "0.41"),)),
        ("a: 0.26; 0.33; -0.41", (("0.26", "0.33", "-0.41"),)),
        ("a: |\n  0.1 0.2\n  0.3 ?", (("0.1", "0.2"), ("0.3", "?"))),
        ("a: ['0.1 0.2', '0.3 0.4']", (("0.1", "0.2"), ("0.3", "0.4"))),
        ("a: 1 0 0", (("1", "0", "0"),)),
        ("a: 1 - 1/3", (("1 - 1/3",),)),
        ("a: 1 1/2", (("1 1/2",),)),
        ("a: 1 234", (("1 234",),)),
        ("a: '[0.26, 0.33]'", (("[0.26, 0.33]",),)),
        ("a: 0.26 maybe", (("0.26 maybe",),)),
        ("a: ['0.1 0.2', 0.3]", (("0.1 0.2", "0.3"),)),
    ],
)
def test_a_text_is_split_only_where_it_clearly_is_a_row(tmp_path, text, cells):
    assert written(tmp_path, text)[0].cells == cells


def test_a_mapping_is_a_place_and_order_is_kept(tmp_path):
    lines = written(tmp_path, "Q: 1\ncross: {Q: 2, head 2: {K: 3}}\nA: 4")
    assert [(line.name, line.where, line.place) for line in lines] == [
        ("Q", "", "written: Q"),
        ("Q", "cross", "written: cross: Q"),
        ("K", "cross.head 2", "written: cross: head 2: K"),
        ("A", "", "written: A"),
    ]


def test_operands_say_which_line_they_were_copied_into(tmp_path):
    text = "operands: {Q_copied_into_scores: 1, K into scores: 2, O: {A: 3}}\ncross: {copies: {S: {Q: 4}}}"
    assert [(line.name, line.copied_into, line.where) for line in written(tmp_path, text)] == [
        ("Q", "scores", ""),
        ("K", "scores", ""),
        ("A", "O", ""),
        ("Q", "S", "cross"),
    ]


def test_a_name_without_a_value_is_not_a_line_and_is_reported(tmp_path):
    loaded = working(tmp_path, "problem: bank\nwritten: {Q: , K: 1}\n")
    assert [line.name for line in loaded.lines] == ["K"]
    assert [(note.kind, note.sentence) for note in loaded.notes] == [("read", "written: Q: Q is empty.")]


def test_student_title_rounded_and_decimal_comma(tmp_path):
    loaded = working(
        tmp_path,
        "problem: bank\nstudent: 0042\ntitle: Sheet 3\nrounded: [W_Q, W_K]\ndecimal: comma\nwritten: {Q: '0,5'}\n",
    )
    assert (loaded.student, loaded.title, loaded.rounded, loaded.has_decimal_comma) == (
        "0042",
        "Sheet 3",
        ("W_Q", "W_K"),
        True,
    )


def test_a_problem_is_a_gallery_id_a_neighbouring_file_or_the_keys_themselves(tmp_path):
    (tmp_path / "p.yaml").write_text("kind: here\n")
    assert working(tmp_path, "problem: exam-self-attention\nwritten: {Q: 1}\n").problem["kind"] == "self-attention"
    assert working(tmp_path, "problem: p.yaml\nwritten: {Q: 1}\n").problem == {"kind": "here"}
    assert working(tmp_path, "problem: {kind: inner}\nwritten: {Q: 1}\n").problem == {"kind": "inner"}
    loaded = working(tmp_path, "kind: beside\ntitle: T\nstudent: A\nwritten: {Q: 1}\n")
    assert loaded.problem == {"kind": "beside", "title": "T"}, "the title is the problem's too, the student is not"


def test_a_given_problem_is_used_if_none_is_named_and_a_conflict_is_reported(tmp_path):
    loaded = working(tmp_path, "written: {Q: 1}\n", problem="exam-self-attention")
    assert loaded.problem["kind"] == "self-attention"
    assert loaded.notes == ()
    same = working(tmp_path, "problem: bank\nwritten: {Q: 1}\n", problem="bank")
    assert same.notes == (), "no conflict"
    other = working(tmp_path, "problem: leak\nwritten: {Q: 1}\n", problem={"kind": "x"})
    assert other.problem == {"kind": "x"}
    assert [note.kind for note in other.notes] == ["warning"]


def test_all_mistakes_are_reported_together(tmp_path):
    sentences = mistakes(
        tmp_path,
        "problem: bonk\nstudnet: Ada\nrounded: {a: 1}\ndecimal: coma\nwritten:\n  Q: []\n  K: [[1], 2]\n"
        "  V: [[[1]]]\n  operands: {Q: 1}\n",
    )
    for part in (
        "problem 'bonk': there is no such problem file and no gallery problem with that name. Did you mean 'bank'?",
        "'studnet' is not a key beside problem and written. Did you mean 'student'?",
        "rounded = {'a': 1} is not a list of names",
        "decimal = 'coma' must be comma or point. Did you mean 'comma'?",
        "written: Q is an empty list",
        "written: K mixes rows and single numbers",
        "written: V is nested too deep",
        "written: operands: Q does not name the line that Q was copied into",
    ):
        assert part in sentences, part
    assert all("w.yaml: " in line for line in sentences.splitlines()), "each names the file"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("problem: bank\n", "written is missing"),
        (
            "problem: bank\nwriten: {Q: 1}\n",
            "'writen' is not a key beside problem and written. Did you mean 'written'?",
        ),
        ("problem: bank\nwritten: [1, 2]\n", "contains no lines"),
        ("problem: bank\nwritten:\n", "contains no lines"),
        ("written: {Q: 1}\n", "problem is missing"),
        ("X: [[1]]\nwritten: {Q: 1}\n", "'X' is not a key of a working, and the key 'kind' of a problem is missing"),
        ("problem: 3\nwritten: {Q: 1}\n", "problem = 3 is not a problem"),
        ("problem: [1]\nwritten: {Q: 1}\n", "problem = [1] is not a problem"),
        ("1: 2\nproblem: bank\nwritten: {Q: 1}\n", "'1' is not a key"),
        ("problem: bank\nwritten: {'': 1}\n", "a line has no name"),
        ("problem: bank\nwritten: {[a]: 1}\n", "cannot be a key"),
        ("problem: bank\nwritten: {Q: 1, Q: 2}\n", "the key 'Q' is given twice"),
        ("problem: bank\nstudent: [a]\nwritten: {Q: 1}\n", "student = ['a'] is not text"),
        ("problem: w.yaml/x\nwritten: {Q: 1}\n", "no such problem file"),
        ("problem: /dev/zero\nwritten: {Q: 1}\n", "problem '/dev/zero' is outside the folder of the working"),
        ("!!int : 1\n", "a YAML tag"),
        ("!!float : 1\n", "a YAML tag"),
        ("", "is empty"),
        ("# nothing\n", "only comments"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(tmp_path, text, sentence):
    assert sentence in mistakes(tmp_path, text)


def test_a_worksheet_that_solve_wrote_is_read_back(tmp_path):
    path = tmp_path / "s.json"
    sheet = solve("bank")
    sheet.save(path)
    (loaded,) = load_workings(path)
    assert isinstance(loaded, Worksheet)
    assert loaded.to_json() == sheet.to_json()
    for broken in (b'{"clearhead": 1}', b'{"clearhead": 99}', b'{"kind": 1, "clearhead": []}', b'{"clearhead":'):
        path.write_bytes(broken)
        with pytest.raises(ProblemError, match=r"s\.json: "):
            load_workings(path)


def test_plain_data_is_a_working_too():
    (loaded,) = load_workings({"problem": "bank", "written": {"Q": [[0.5, 1], ("1.20", None)]}})
    assert isinstance(loaded, Working)
    assert loaded.lines[0].cells == (("0.5", "1"), ("1.20", ""))


def test_standard_input_is_read_by_its_content(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"problem: bank\nwritten: {Q: 0.50}\n")))
    (loaded,) = load_workings("-")
    assert isinstance(loaded, Working)
    assert loaded.lines[0].cells == (("0.50",),)
    assert loaded.notes[0].sentence == "The file name does not show the format, so the file was read as a working file."


def test_a_shipped_working_is_found_by_its_id_unless_a_file_has_that_name(tmp_path, monkeypatch):
    shipped = tmp_path / "shipped.yaml"
    shipped.write_text("problem: bank\nwritten: {Q: 1}\n")
    monkeypatch.setattr(workings, "shipped_workings", lambda: {"ada": shipped})
    monkeypatch.chdir(tmp_path)
    (loaded,) = load_workings("ada")
    assert isinstance(loaded, Working)
    assert loaded.notes == (), "its kind is known"
    (tmp_path / "ada").write_text("problem: bank\nwritten: {K: 1}\n")
    (loaded,) = load_workings("ada")
    assert isinstance(loaded, Working)
    assert loaded.lines[0].name == "K"


def test_every_shipped_working_can_be_read():
    for name in workings.shipped_workings():
        assert load_workings(name), name


def test_a_table_is_a_working(tmp_path):
    loaded = working(tmp_path, "problem;bank\nstudent;Ada\nrounded;W_Q W_K\nQ;0,50;1,2\n", "w.csv")
    assert (loaded.student, loaded.rounded) == ("Ada", ("W_Q", "W_K"))
    assert loaded.lines == (WrittenLine("Q", (("0.50", "1.2"),), place="row 4"),)
    assert "commas were read as decimal separators" in loaded.notes[0].sentence
    unnamed = working(tmp_path, "1,2\n", "w.csv")
    assert (unnamed.problem, unnamed.lines) == ({}, ())
    assert [note.sentence for note in unnamed.notes] == [
        "not marked: 1 2 (no line is named here)",
        "the problem could not be determined from this page: no given matrices were found. Give the problem separately",
    ]
    with pytest.raises(ProblemError, match="decimal = 'coma' must be comma or point"):
        working(tmp_path, "problem,bank\ndecimal,coma\nQ,1\n", "w.csv")


def test_a_folder_a_missing_file_and_an_empty_name_are_reported(tmp_path):
    (tmp_path / "ada.yaml").write_text("x: 1\n")
    with pytest.raises(
        ProblemError,
        match=r"is a folder\. Name one file in it; clearhead\.check\.classroom\.mark_class marks a class\.$",
    ):
        load_workings(tmp_path)
    with pytest.raises(ProblemError, match=r"there is no such file.*Did you mean 'ada.yaml'\?"):
        load_workings(tmp_path / "adda.yaml")
    for name in ("", "a\0b"):
        with pytest.raises(ProblemError, match="is not the name of a working"):
            load_workings(name)


@pytest.mark.parametrize("name", ["w.yaml", "w.json", "w.csv", "w.xlsx", "w.md", "w"])
def test_a_file_of_a_hundred_megabytes_is_refused_unread(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(ProblemError, match="has 100 MiB; the limit is 32 MiB"):
        load_workings(path)
    with pytest.raises(ProblemError, match="has 100 MiB"):
        load_workings({"problem": name, "written": {"Q": 1}})


def test_aliases_that_expand_without_end_are_rejected(tmp_path):
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    assert "aliases expand" in mistakes(tmp_path, f"problem: bank\nwritten:\n  {bomb}")
    rows = "r: &r [" + "1, " * 1000 + "1]\n  m: &m [" + "*r, " * 1000 + "*r]\n  n: *m\n  o: *m\n"
    assert "written contains more than 10,000 cells" in mistakes(tmp_path, f"problem: bank\nwritten:\n  {rows}")


def test_an_alias_to_itself_and_deep_nesting_are_refused(tmp_path):
    assert "nested more than 40 deep" in mistakes(tmp_path, "problem: bank\nwritten: &a {Q: *a}\n")
    assert "nested more than 40 deep" in mistakes(tmp_path, "written: {Q: " + "[" * 5000 + "]" * 5000 + "}\n")
    deep = "{a: " * 30 + "1" + "}" * 30
    assert "places nested more than 20 deep" in mistakes(tmp_path, f"problem: bank\nwritten: {deep}\n")
    data: dict[str, object] = {"Q": 1}
    for _ in range(2000):
        data = {"a": data}
    with pytest.raises(ProblemError, match="places nested more than 20 deep"):
        load_workings({"problem": "bank", "written": data})


def test_text_in_a_file_is_never_executed_and_control_characters_are_escaped(tmp_path):
    lines = written(tmp_path, 'Q: [\'__import__("os")\', 1e999999, 9**9**9]\n<b>x</b>: 1\n"\\e[31mK": "\\e[2J1"')
    assert lines[0].cells == (('__import__("os")', "1e999999", "9**9**9"),), "the marker will say why it reads none"
    assert lines[1].name == "<b>x</b>", "a name is text; whoever shows it escapes it"
    assert lines[2] == WrittenLine("\\x1b[31mK", (("\\x1b[2J1",),), place="written: \\x1b[31mK")
    assert "constructor" in mistakes(tmp_path, "written: {Q: 1}\nx: !!python/object/apply:os.system [ls]\n")


def test_a_very_long_cell_or_name_is_shortened(tmp_path):
    (line,) = written(tmp_path, f"{'N' * 900}: {'1' * 5000}")
    assert len(line.cells[0][0]) == 201, "still too long to be read as a number"
    assert len(line.name) == 201


def test_thousands_of_digits_in_json_are_reported(tmp_path):
    with pytest.raises(ProblemError, match="thousands of digits"):
        working(tmp_path, json.dumps({"written": {}})[:-2] + '"Q": ' + "9" * 5000 + "}}", "w.json")


def test_only_the_raw_key_is_kept_as_text():
    assert read_data(b"a: 0.50\nb: [0.50, ~, {c: 1.0}]\n", "b") == {"a": 0.5, "b": ["0.50", None, {"c": "1.0"}]}
    assert read_data(b'{"a": 0.50, "b": 0.50}', "b") == {"a": 0.5, "b": "0.50"}
    assert read_data(b"a: 0.50\n", "b") == {"a": 0.5}
