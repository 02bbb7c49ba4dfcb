"""`clearhead translate -i FILE.md`: documents by their extension, errors in one sentence, and nothing half written."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docx
import pytest

from clearhead.cli import translate_document
from clearhead.decoding.annotation import SentenceAligner
from tests.command import run

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("garden.md", "El jardín está **abierto todos los días**."),
        ("garden.html", "Puedes <b>caminar <i>en el jardín</i></b> con tu familia"),
        ("garden.srt", "00:00:01,000 --> 00:00:03,500\nNunca he visto un\nárbol tan <i>grande</i>.\n"),
    ],
)
def test_a_document_is_translated_to_a_file_and_to_standard_output(name: str, expected: str, folder: Path) -> None:
    done = run("translate", "-i", name, "-o", f"new.{name}", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert expected in (folder / f"new.{name}").read_text(encoding="utf-8")
    printed = run("translate", "-i", name, "--quiet", cwd=folder)
    assert printed.stdout == (folder / f"new.{name}").read_text(encoding="utf-8")


def test_a_word_document_keeps_its_formatting(folder: Path) -> None:
    done = run("translate", "-i", "garden.docx", "-o", "new.docx", cwd=folder)
    assert done.returncode == 0, done.stderr
    paragraph = docx.Document(str(folder / "new.docx")).paragraphs[1]
    assert [(part.text, part.bold) for part in paragraph.runs[:2]] == [("Tenemos ", None), ("flores rojas", True)]
    assert [(link.address, link.text) for link in paragraph.hyperlinks] == [
        ("https://example.org/tickets", "comprar un boleto")
    ]


def test_lines_and_documents_can_be_chosen(folder: Path) -> None:
    (folder / "a.txt").write_text("Where is it?\n")
    (folder / "a.md").write_text("Where is it?\n")
    for arguments in (("a.txt",), ("a.txt", "--document"), ("a.md", "--no-document")):
        assert run("translate", "-i", *arguments, cwd=folder).stdout == "¿Dónde está?\n"
    assert '"translation"' in run("translate", "-i", "a.md", "--no-document", "--json", cwd=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "binary.md"], "binary.md: line 1 is not UTF-8 text. Save the document as UTF-8."),
        (["-i", "empty.md"], "empty.md is empty. Give a document with text."),
        (["-i", "garden.dox", "--document"], "'garden.dox' has no extension of a document: .txt, .md, .markdown, .html, .htm, .srt, "
         ".vtt, .docx. Rename it, or remove --document to translate its lines."),
        (["-i", "paper.pdf"], "paper.pdf: PDF is not supported. Formats: .txt, .md, .markdown, .html, .htm, .srt, .vtt, .docx. "
         "Convert the document to one of them."),
        (["-i", "damaged.docx", "-o", "new.docx"], "damaged.docx: it is damaged, or not a Word document: its ZIP file cannot be read. "
         "Save it again with Word or LibreOffice."),
        (["-i", "gardn.md"], "gardn.md does not exist. Did you mean 'garden.md'?"),
        (["-i", "garden.md", "-o", "none/new.md"], "the folder of none/new.md does not exist. Create it first (--output)."),
        (["-i", "garden.md", "-o", "garden.md"], "garden.md is read, and the output would overwrite it. Choose another name for the output (--output)."),
        (["-i", "garden.md", "-o", "new.docx"], "the output new.docx is named as a Word document, but the translation keeps the format of "
         "garden.md. Use the extension .md."),
        (["-i", "garden.md", "--scores"], "--scores only applies to lines, but garden.md is translated as a document. Remove --scores, or add "
         "--no-document to translate the lines of the file."),
        (["--document", "Hello"], "--document needs a file, whose extension states its format. Name it with --input FILE."),
        (["-i", "folder.md"], "folder.md cannot be read: Is a directory."),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_writes_nothing(arguments: list[str], message: str, folder: Path) -> None:
    (folder / "binary.md").write_bytes(b"\xff\x00\x01")
    (folder / "empty.md").touch()
    (folder / "folder.md").mkdir()
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7\n\0")
    (folder / "garden.dox").write_text("x")
    (folder / "damaged.docx").write_bytes((EXAMPLES / "garden.docx").read_bytes()[:700])
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run("translate", *arguments, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"clearhead: {message}\n")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_an_interrupted_document_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(aligner: SentenceAligner, sentences: Sequence[str]) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(SentenceAligner, "__call__", interrupt)
    before = sorted(folder.iterdir())
    assert run("translate", "-i", "garden.md", "-o", "new.md", cwd=folder).returncode == 130
    assert sorted(folder.iterdir()) == before


def test_a_library_that_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lxml", None)
    monkeypatch.delitem(__import__("sys").modules, "clearhead.documents.docx", raising=False)
    done = run("translate", "-i", "garden.docx", "-o", "new.docx", cwd=folder)
    expected = "clearhead: translating a Word document needs lxml, which is not installed. Run pip install '.[documents]' in a clone of clearhead.\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_extensions_are_recognised_in_any_case() -> None:
    flags = translate_document.DocumentFlags()
    assert flags.is_document("A.DOCX")
    assert not flags.is_document("a.txt")
    assert not flags.is_document(None)
