"""Outputs that cannot overwrite inputs: names, links and descriptors of the same file, and places that cannot be written."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.errors import RunError
from clearhead.files.destination import Destination, Output, check_outputs, check_standard_output, find_destination


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is read, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("text")
    (tmp_path / "folder").mkdir()
    return tmp_path / "in.txt"


def same_name(path: Path) -> str:
    return "in.txt"


def other_path(path: Path) -> str:
    return f"folder/../{path.name}"


def symbolic_link(path: Path) -> str:
    Path("folder/link").symlink_to("../in.txt")
    Path("link").symlink_to("folder/link")
    return "link"


def hard_link(path: Path) -> str:
    Path("hard").hardlink_to("in.txt")
    return "hard"


@pytest.mark.parametrize("name_of", [same_name, other_path, symbolic_link, hard_link])
def test_an_input_is_not_an_output_under_any_of_its_names(text: Path, name_of: Callable[[Path], str]) -> None:
    name = name_of(text)
    with pytest.raises(RunError) as error:
        check_outputs([Output(name, "explain")], ["other.txt", "in.txt"])
    fact = "is read" if name == "in.txt" else "is the same file as in.txt, which is read"
    assert str(error.value) == (
        f"{name} {fact}, and the output would overwrite it. Choose another name for the output."
    )
    assert error.value.options == ("explain",)


def test_a_file_behind_standard_input_is_not_an_output(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with text.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(RunError, match=r"^in\.txt is the same file as standard input, which is read"):
            check_outputs([Output("in.txt")], ["-"])
    for closed in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdin", closed)
        check_outputs([Output("in.txt")], ["-"])


def test_a_file_that_is_written_next_to_the_output_is_not_an_input(text: Path) -> None:
    text.rename("out.part")
    check_outputs([Output("out")], ["out.part"])
    with pytest.raises(RunError, match=r"^out\.part is read, and the output would overwrite it\."):
        check_outputs([Output("out", companions=(".part",))], ["out.part"])


def test_a_device_is_read_and_written_at_once() -> None:
    check_outputs([Output(os.devnull), Output(os.devnull, "explain")], [os.devnull])


@pytest.mark.parametrize("second", ["out", "folder/../out", "out.part", "link"])
def test_two_outputs_are_not_the_same_file(text: Path, second: str) -> None:
    Path("link").symlink_to("out")
    with pytest.raises(RunError, match=r"is named for two outputs, and one would overwrite the other\.") as error:
        check_outputs([Output("out", companions=(".part",)), Output(second, "explain")])
    assert error.value.options == ("output", "explain")
    check_outputs([Output("out", companions=(".part",)), Output("other", "explain")])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "the name of the output is empty. Give the name of a file."),
        (".", ". is a folder. Give the name of a file."),
        ("folder/", "folder/ is a folder. Give the name of a file."),
        ("to-folder", "to-folder is a folder. Give the name of a file."),
        ("no/out", "the folder of no/out does not exist. Create it first."),
        ("in.txt/out", "the folder of in.txt/out does not exist. Create it first."),
        ("dangling", "the folder of dangling does not exist. Create it first."),
        ("circle", "circle cannot be written: Too many levels of symbolic links. Choose another place."),
        ("x" * 300, f"{'x' * 300} cannot be written: File name too long. Choose another place."),
        ("a\0b", "a\\x00b cannot be written: embedded null byte. Choose another place."),
        ("/dev/fd/987654", "/dev/fd/987654 is not open. Give the name of a file."),
    ],
)
def test_a_place_that_cannot_be_written_is_reported(text: Path, name: str, sentence: str) -> None:
    for link, target in (("to-folder", "folder"), ("dangling", "no/out"), ("circle", "circle")):
        Path(link).symlink_to(target)
    with pytest.raises(RunError) as error:
        find_destination(name, "picture")
    assert (str(error.value), error.value.options) == (sentence, ("picture",))


def test_a_folder_without_permission_is_reported(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(RunError, match=r"out cannot be written: its folder is not writable\. Choose another place\."):
        find_destination("out")
    assert find_destination(os.devnull).is_stream


def test_links_lead_to_a_file_that_need_not_exist(text: Path) -> None:
    Path("link").symlink_to("folder/new")
    assert Destination.of("link") == Destination(text.parent / "folder" / "new")
    assert Destination.of("new") == Destination(Path("new"))
    assert not Destination.of("link").is_stream


def test_an_open_descriptor_is_written_to_where_it_is(text: Path) -> None:
    with text.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        Path("link").symlink_to(f"/dev/fd/{file.fileno()}")
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}", "link"):
            destination = find_destination(name)
            assert (destination.descriptor, destination.is_stream) == (file.fileno(), True)
            with destination.open_stream() as stream:
                stream.write(b"+")
        assert not file.closed
    assert text.read_text() == "text+++"
    assert Destination.of("/dev/stdout").descriptor == 1
    with text.open("rb") as file, pytest.raises(RunError, match="is closed, or only open to be read"):
        find_destination(f"/dev/fd/{file.fileno()}")


def test_a_pipe_is_a_stream(text: Path) -> None:
    os.mkfifo("pipe")
    assert find_destination("pipe").is_stream
    with pytest.raises(RunError, match="pipe is read, and the output would overwrite it"):
        check_outputs([Output("pipe")], ["pipe"])


def test_standard_output_is_not_an_input(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_standard_output(["in.txt"])
    with text.open("a") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        check_standard_output(["other.txt"])
        with pytest.raises(RunError, match=r"^standard output is the same file as in\.txt, which is read\."):
            check_standard_output(["in.txt"])
    with pytest.raises(RunError, match="standard output is closed"):
        check_standard_output([])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    check_standard_output(["in.txt"])


@pytest.mark.parametrize("name", ["out.txt.part", "out.txt.part.json"])
def test_the_part_of_an_unfinished_output_is_not_overwritten(tmp_path: Path, name: str) -> None:
    check_outputs([Output(tmp_path / name)])
    for file in ("out.txt.part", "out.txt.part.json"):
        (tmp_path / file).touch()
    with pytest.raises(RunError, match=rf"{name} belongs to the output out\.txt, which is not finished"):
        check_outputs([Output(tmp_path / name)])


def test_a_hyphen_is_standard_output() -> None:
    assert Destination.of("-") == Destination.of(Path("-")) == Destination(Path("-"), 1)


def test_a_file_of_a_model_is_not_overwritten_under_any_name(tmp_path: Path) -> None:
    weights, link = tmp_path / "model.safetensors", tmp_path / "link"
    weights.write_bytes(b"")
    link.symlink_to(weights)
    with pytest.raises(RunError, match=r"model\.safetensors belongs to the model or its run, and the output would"):
        check_outputs([Output(weights)], model_files=[weights])
    with pytest.raises(RunError, match=r"link is the same file as .*model\.safetensors, which belongs to the model or"):
        check_outputs([Output(link)], model_files=[weights])
    check_outputs([Output(tmp_path / "other")], model_files=[weights])
