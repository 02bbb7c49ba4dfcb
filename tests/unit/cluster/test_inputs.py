"""Inputs of a cluster: files, folders and columns of Parquet files, and what is refused."""

from pathlib import Path

import pytest

from clearhead.cluster.inputs import InputRequest, find_inputs, read_input
from clearhead.errors import ClearheadError
from tests.command import run


def test_a_folder_gives_each_of_its_files_an_output_of_its_name(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "b").mkdir(parents=True)
    for name in ("c.txt", "a.tsv", "b/x.jsonl.gz", ".hidden", "old.txt.part", "old.txt.part.json"):
        (source / name).write_bytes(b"")
    files = find_inputs(InputRequest(str(source), column=None), tmp_path / "out")
    assert [str(file.output and file.output.relative_to(tmp_path / "out")) for file in files] == [
        "a.tsv",
        "b/x.jsonl",
        "c.txt",
    ]
    assert [file.source.form for file in files] == ["tsv", "jsonl", "text"]


def test_the_text_itself_can_be_an_input() -> None:
    (file,) = find_inputs(InputRequest(None, text="One.\nTwo."), None)
    assert [line.text for line in read_input(file.source)] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("name", "output", "sentence"),
    [
        (None, "out", "standard input cannot be read on a cluster. Save it as a file, and name the file."),
        ("-", "out", "standard input cannot be read on a cluster. Save it as a file, and name the file."),
        ("folder", None, "folder is a folder, so the output must be a folder too. Name it."),
        ("folder", "a.txt", "a.txt is a file, but folder is a folder. Name a folder."),
        ("folder", "folder/out", "folder/out is in the folder of the input. Name another folder."),
        ("empty", "out", "empty contains no files. Give a folder with files of lines."),
        ("twice", "out", "twice/x and twice/x.gz would both be written to out/x. Rename one of them."),
        ("a.txt", "b.parquet", "b.parquet is the name of a Parquet file, which needs a Parquet file as input."),
    ],
)
def test_inputs_that_cannot_be_used_are_refused(
    name: str | None, output: str | None, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("a.txt", "folder/x", "twice/x", "twice/x.gz", "empty/.hidden"):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(b"")
    with pytest.raises(ClearheadError) as refusal:
        find_inputs(InputRequest(name), None if output is None else Path(output))
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--workers", "2"), "--workers is the number of workers of a Ray cluster. Give --ray too."),
        (
            ("--ray", "auto"),
            "standard input cannot be read on a cluster. Save it as a file, and name the file (--input).",
        ),
        (
            ("--ray", "auto", "--explain", "x.json"),
            "--explain writes one file from one process, so it cannot be used with --ray.",
        ),
        (
            ("--ray", "auto", "-i", "nowhere", "Hello."),
            "both a sentence and a file (--input) are given. Give only one of them.",
        ),
    ],
)
def test_options_that_contradict_a_cluster_are_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    done = run("translate", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"clearhead: {sentence}\n")
