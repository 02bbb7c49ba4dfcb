"""The problem of a working: what a working may name, and what messages may repeat of it."""

import os

import pytest

from clearhead.check import check
from clearhead.check.classroom import grades_csv, mark_class
from clearhead.check.marks import Scheme
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.problem_source import is_problem_file, load_given_problem, load_named_problem
from clearhead.exercises.check.read.workings import load_workings, read_workings

PROBLEM = (
    "kind: self-attention\nX: [[1, 0], [0, 1]]\nW_Q: [[1, 2], [3, 1]]\nW_K: [[1, 0], [0, 1]]\nW_V: [[1, 2], [3, 4]]\n"
)
WRITTEN = "written: {Q: [[1, 2], [3, 1]]}\n"
SECRET = "hunter2-secret"
UNUSABLE = [  # files of the folder that are not problems; each message about such a file quotes it when it is solved
    f"{SECRET}\n",
    f"{SECRET}: &a [*b]\n",
    f"{SECRET}: 1\n{SECRET}: 2\n",
    f"kind: {SECRET}\n",
    f"kind: self-attention\n{SECRET}: 1\n",
    f"kind: self-attention\nX: [[{SECRET}]]\n",
    f"kind: self-attention\nX: [[1]]\nW_Q: [[1, 2], [3, 4]]\ntokens: [{SECRET}, b]\nW_K: [[1]]\nW_V: [[1]]\n",
    '{"' + SECRET + '": }',
    "\xff" + SECRET,
]


@pytest.fixture
def rooms(tmp_path):
    """A folder of workings with a problem in it, and a secret problem outside it."""
    folder = tmp_path / "class"
    (folder / "inner").mkdir(parents=True)
    for path in (folder / "q.yaml", folder / "inner" / "q.yaml", tmp_path / "secret.yaml"):
        path.write_text(PROBLEM)
    (folder / "way-out.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "beside.yaml").symlink_to("q.yaml")
    return folder


@pytest.mark.parametrize(
    "name", ["q.yaml", "./q.yaml", "inner/q.yaml", "beside.yaml", "exam-self-attention", "{folder}/q.yaml"]
)
def test_a_working_can_name_the_gallery_and_files_of_its_folder(rooms, name):
    assert load_named_problem(name.format(folder=rooms), rooms)["kind"]


@pytest.mark.parametrize(
    "name",
    [
        "{folder}/../secret.yaml", "../secret.yaml", "inner/../../secret.yaml", "inner/../q.yaml", "way-out.yaml",
        "outside/secret.yaml", "/etc/passwd", "/proc/self/environ", "/dev/zero", "../missing.yaml", "{folder}.yaml", "..",
    ],
)  # fmt: skip
def test_a_working_cannot_name_a_file_outside_its_folder(rooms, name):
    with pytest.raises(ProblemError, match="is outside the folder of the working") as error:
        load_named_problem(name.format(folder=rooms), rooms)
    assert error.value.options == ("problem",)


@pytest.mark.parametrize("suffix", ["yaml", "csv", "json"])
def test_every_kind_of_working_is_bound_to_its_folder(rooms, suffix):
    contents = {
        "yaml": f"problem: ../secret.yaml\n{WRITTEN}",
        "json": '{"problem": "../secret.yaml", "written": {"Q": [[1, 2], [3, 1]]}}',
        "csv": "problem,../secret.yaml\nQ,1,2\n,3,1\n",
    }
    (rooms / f"w.{suffix}").write_text(contents[suffix])
    with pytest.raises(ProblemError, match="is outside the folder of the working"):
        load_workings(rooms / f"w.{suffix}")


@pytest.mark.parametrize("name", ["q.yaml", "{folder}/q.yaml", "../secret.yaml", "/etc/passwd", "exam-self-atention"])
def test_a_working_that_is_no_file_can_name_only_the_gallery(rooms, monkeypatch, name):
    monkeypatch.chdir(rooms)
    shown = name.format(folder=rooms)
    for content, suffix in ((f"problem: {shown}\n{WRITTEN}", ".yaml"), (f"problem,{shown}\nQ,1,2\n,3,1\n", ".csv")):
        with pytest.raises(ProblemError, match="is not an exercise of the gallery"):
            read_workings(content.encode(), suffix)
    with pytest.raises(ProblemError, match="a working that is not a file cannot name one"):
        read_workings(WRITTEN.encode(), ".yaml", shown)
    (working,) = read_workings(f"problem: exam-self-attention\n{WRITTEN}".encode(), ".yaml")
    assert working.problem["kind"] == "self-attention"
    (working,) = read_workings(WRITTEN.encode(), ".yaml", "exam-self-attention")
    assert working.problem["kind"] == "self-attention"


def test_a_given_problem_can_be_anywhere_and_replaces_the_name_in_the_working(rooms):
    assert load_given_problem(rooms / ".." / "secret.yaml")["kind"] == "self-attention"
    (rooms / "w.yaml").write_text(f"problem: ../secret.yaml\n{WRITTEN}")
    (report,) = check(rooms / "w.yaml", rooms.parent / "secret.yaml")
    assert report.earned == report.out_of == 2
    assert any("is outside the folder of the working" in note.sentence for note in report.notes)


@pytest.mark.parametrize("content", UNUSABLE)
def test_the_content_of_a_problem_that_a_working_names_is_never_repeated(tmp_path, content):
    (tmp_path / "p.yaml").write_bytes(content.encode("latin-1"))
    (tmp_path / "w.csv").write_text("problem,p.yaml\nQ,1,2\n,3,1\n")
    (tmp_path / "v.yaml").write_text(f"problem: p.yaml\n{WRITTEN}")
    for name in ("w.csv", "v.yaml"):
        with pytest.raises(ProblemError) as error:
            check(tmp_path / name)
        assert SECRET not in str(error.value)
        assert "problem 'p.yaml' is not a usable problem file" in str(error.value)
    grades = grades_csv(mark_class(tmp_path, Scheme(), besides=[tmp_path / "p.yaml"]))
    assert SECRET not in grades
    assert grades.count("is not a usable problem file") == 2


def test_one_s_own_problem_is_quoted_and_a_class_does_not_start_with_a_broken_one(tmp_path):
    (tmp_path / "p.yaml").write_text(f"kind: {SECRET}\n")
    (tmp_path / "w.yaml").write_text(WRITTEN)
    with pytest.raises(ProblemError, match=f"kind = '{SECRET}' is not a kind"):
        check(tmp_path / "w.yaml", tmp_path / "p.yaml")
    with pytest.raises(ProblemError, match=f"kind = '{SECRET}' is not a kind"):
        mark_class(tmp_path, Scheme(), tmp_path / "p.yaml")


@pytest.mark.parametrize("name", ["", " ", "a\0b", 5, ["q.yaml"], None])
def test_a_name_that_is_not_text_is_refused(tmp_path, name):
    with pytest.raises(ProblemError, match="is not a problem. Give a gallery id"):
        load_named_problem(name, tmp_path)


def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "q.yaml")
    with pytest.raises(ProblemError, match="no such problem file"):
        load_named_problem("q.yaml", tmp_path)


def test_a_gallery_name_is_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_problem_file("exam-self-attention")
    assert not is_problem_file({"kind": "self-attention"})
    assert is_problem_file("q.yaml")
