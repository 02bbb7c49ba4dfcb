"""Word documents: formatting, links, notes and pictures stay, and a hostile file is refused in one sentence."""

import struct
import zipfile
from io import BytesIO
from typing import Any

import docx
import docx.enum.style
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from clearhead.documents import docx_package, translate_document
from clearhead.documents.docx import paragraph_segments
from clearhead.documents.docx_elements import described, tag_of
from clearhead.documents.docx_package import read_package
from clearhead.documents.docx_segment import DocxSegment
from clearhead.errors import DataError
from tests.unit.documents.translators import ALL, by_table, identity, reversal, uppercase

XML = "word/document.xml"


def saved(document: Any) -> bytes:
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def translated(content: bytes, translate: Any) -> Any:
    return docx.Document(BytesIO(translate_document(content, "a.docx", translate)))


def runs(paragraph: Any) -> list[tuple[str, bool, bool]]:
    return [(run.text, bool(run.bold), bool(run.italic)) for run in paragraph.runs]


def with_body(paragraphs: str) -> bytes:
    """A document whose body is given as XML."""
    document = docx.Document()
    for element in parse_xml(f"<w:body {nsdecls('w', 'r')}>{paragraphs}</w:body>"):
        document.element.body.insert(0, element)
    return saved(document)


def test_bold_words_in_a_sentence_stay_bold() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("I like ")
    paragraph.add_run("red").bold = True
    paragraph.add_run(" apples.")
    table = by_table({"I like red apples.": ("Me gustan las manzanas rojas.", "0-0 1-1 3-2 3-3 2-4")})
    result = translated(saved(document), table)
    expected = [("Me gustan las manzanas ", False, False), ("rojas", True, False), (".", False, False)]
    assert runs(result.paragraphs[0]) == expected


def test_tables_headers_footers_and_headings_are_translated() -> None:
    document = docx.Document()
    document.add_heading("One two", 1)
    document.add_table(1, 2).cell(0, 1).text = "three four"
    document.sections[0].header.paragraphs[0].text = "five six"
    document.sections[0].footer.paragraphs[0].text = "seven\teight nine"
    document.add_paragraph("ten eleven", style="List Bullet")
    result = translated(saved(document), reversal)
    assert result.paragraphs[0].text == "two One"
    assert result.paragraphs[0].style.name == "Heading 1"
    assert result.tables[0].cell(0, 1).text == "four three"
    assert result.sections[0].header.paragraphs[0].text == "six five"
    assert result.sections[0].footer.paragraphs[0].text == "seven\tnine eight"
    assert (result.paragraphs[1].text, result.paragraphs[1].style.name) == ("eleven ten", "List Bullet")


def test_text_that_is_marked_as_no_proof_stays() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Please run ")
    paragraph.add_run(" make all ").font.no_proof = True
    paragraph.add_run("at once").font.no_proof = False
    paragraph.add_run(" or later")
    document.add_paragraph().add_run("make").font.no_proof = True
    styles = docx.enum.style.WD_STYLE_TYPE
    document.styles.add_style("Code", styles.PARAGRAPH).font.no_proof = True
    document.styles.add_style("Name", styles.CHARACTER).font.no_proof = True
    document.add_paragraph("int main", style="Code")
    document.add_paragraph("the file ").add_run("make", style="Name")
    result = translated(saved(document), uppercase).paragraphs
    assert [paragraph.text for paragraph in result] == [
        *("PLEASE RUN  make all AT ONCE OR LATER", "make", "int main", "THE FILE make")
    ]


COMPLEX = """<w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:bookmarkStart w:id="1" w:name="m"/>
<w:r><w:t xml:space="preserve">One </w:t></w:r><w:proofErr w:type="spellStart"/><w:commentRangeStart w:id="5"/>
<w:hyperlink r:id="rId1"><w:r><w:rPr><w:b/></w:rPr><w:t>two</w:t></w:r><w:r><w:t xml:space="preserve"> three</w:t></w:r></w:hyperlink>
<w:commentRangeEnd w:id="5"/><w:r><w:commentReference w:id="5"/></w:r>
<w:r><w:footnoteReference w:id="2"/></w:r><w:bookmarkEnd w:id="1"/>
<w:r><w:t xml:space="preserve"> four </w:t><w:tab/><w:t>five six</w:t><w:br/></w:r>
<w:r><w:rPr><w:i/></w:rPr><w:t xml:space="preserve"> seven eight.</w:t></w:r>
<w:hyperlink r:id="rId2"><w:r><w:t>nine</w:t><w:br/><w:t>ten eleven</w:t></w:r></w:hyperlink></w:p>"""
FIELD = """<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>
<w:r><w:t>7</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>"""
OTHER = {
    "field": FIELD,
    "field in a link": f'<w:hyperlink r:id="rId1">{FIELD}</w:hyperlink>',
    "simple field": '<w:fldSimple w:instr="PAGE"><w:r><w:t>7</w:t></w:r></w:fldSimple>',
    "insertion": '<w:ins w:id="3" w:author="A"><w:r><w:t>nine ten</w:t></w:r></w:ins>',
    "deletion": '<w:del w:id="4" w:author="A"><w:r><w:delText>gone</w:delText></w:r></w:del>',
    "content control": "<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>in control</w:t></w:r></w:sdtContent></w:sdt>",
}


def elements(content: bytes) -> list[str]:
    """The names of all elements of the body in their order, except runs, texts and their properties."""
    tree = etree.fromstring(read_package(content).contents[XML])
    skipped = {tag_of(name) for name in ("r", "t", "rPr", "proofErr", "b", "i")}
    return [str(element.tag) for element in tree.iter() if element.tag not in skipped]


def texts(content: bytes) -> str:
    tree = etree.fromstring(read_package(content).contents[XML])
    return "".join(element.text or "" for element in tree.iter(tag_of("t")))


@pytest.mark.parametrize("translate", ALL)
def test_links_notes_and_marks_stay(translate: Any) -> None:
    content = with_body(COMPLEX)
    result = translate_document(content, "a.docx", translate)
    assert sorted(elements(result)) == sorted(elements(content))
    tree = etree.fromstring(read_package(result).contents[XML])
    names = [str(element.tag).partition("}")[2] for element in tree.iter()]
    assert names.index("bookmarkStart") < names.index("bookmarkEnd")


def test_the_identity_keeps_all_texts_and_formatting() -> None:
    content = with_body(COMPLEX)
    assert texts(translate_document(content, "a.docx", identity)) == texts(content)
    assert texts(translate_document(content, "a.docx", uppercase)) == texts(content).upper()


@pytest.mark.parametrize("part", OTHER.values(), ids=list(OTHER))
def test_a_paragraph_with_a_field_a_change_or_a_content_control_stays_and_is_counted(part: str) -> None:
    paragraph = f"<w:p><w:r><w:t>one</w:t></w:r>{part}</w:p>"
    content = with_body(f"{paragraph}{paragraph}<w:p>{FIELD}</w:p><w:p><w:r><w:t>three</w:t></w:r></w:p>")
    notes: list[str] = []
    result = translate_document(content, "a.docx", uppercase, note=notes.append)
    assert texts(result) == texts(content).replace("three", "THREE")
    assert elements(result) == elements(content)
    assert notes == [
        "paragraphs with a field, a tracked change or a content control, which were not translated: 2. Accept the "
        "changes, or replace the fields by their text, and translate the document again."
    ]


def test_everything_without_text_keeps_its_bytes() -> None:
    document = docx.Document()
    document.add_paragraph("one two")
    content = saved(document)
    before, after = read_package(content), read_package(translate_document(content, "a.docx", uppercase))
    assert list(before.contents) == list(after.contents)
    assert [name for name in before.contents if before.contents[name] != after.contents[name]] == [XML]


WORDS = st.sampled_from(["one", " ", "two.", "Three ", "four, ", "{0}", " é", "a b c "])
RUNS = st.lists(st.tuples(WORDS, st.booleans(), st.booleans()), min_size=1, max_size=7)


@settings(max_examples=25, deadline=None)  # a busy machine makes single examples slow
@given(RUNS, st.sampled_from(ALL))
def test_no_translation_loses_formatting_and_the_identity_loses_nothing(pieces: Any, translate: Any) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    for text, bold, italic in pieces:
        run = paragraph.add_run(text)
        run.bold, run.italic = bold or None, italic or None
    content = saved(document)
    same = translated(content, identity).paragraphs[0]
    characters = [
        (letter, bold, italic) for text, bold, italic in runs(same) for letter in text if not letter.isspace()
    ]
    assert characters == [
        (letter, bold, italic) for text, bold, italic in pieces for letter in text if not letter.isspace()
    ]
    assert same.text == paragraph.text
    assert translated(content, translate).paragraphs[0].text.count("{0}") == paragraph.text.count("{0}")


def test_run_properties_are_compared_by_what_is_seen() -> None:
    plain = parse_xml(f"<w:rPr {nsdecls('w')}><w:lang w:val='en-US'/></w:rPr>")
    assert described(plain) == described(None) == ()
    mark = parse_xml(f"<w:bookmarkStart {nsdecls('w')}/>")
    assert not DocxSegment([mark], frozenset()).has_letters
    assert not paragraph_segments(parse_xml(f"<w:p {nsdecls('w')}><w:r><w:t>12</w:t></w:r></w:p>"))


def packed(parts: dict[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


BODY = f"<w:document {nsdecls('w')}><w:body><w:p><w:r><w:t>one</w:t></w:r></w:p></w:body></w:document>".encode()
ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]>""" + BODY
DEEP = BODY.replace(b"<w:p>", b"<w:ins>" * 300).replace(b"</w:p>", b"</w:ins>" * 300)
DAMAGED = "a.docx: it is damaged, or not a Word document: its ZIP file cannot be read. Save it again with Word or LibreOffice."


def test_a_minimal_document_is_translated_and_characters_that_xml_forbids_are_dropped() -> None:
    assert texts(translate_document(packed({XML: BODY}), "a.docx", uppercase)) == "ONE"
    table = by_table({"one": ("u\0n\ud800o\x1b", "")})
    assert texts(translate_document(packed({XML: BODY}), "a.docx", table)) == "uno"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", DAMAGED),
        (packed({XML: BODY})[:-30], DAMAGED),
        (b"\xd0\xcf\x11\xe0\xa1", "a.docx: it is a document of Word 97-2003 or has a password. Save it as .docx without a password."),
        (packed({"a.txt": b"x"}), "a.docx: it is not a Word document. Save it as .docx with Word or LibreOffice."),
        (packed({XML: ENTITIES}), "a.docx: a part of it has a document type declaration, which Word never writes. Save it again"),
        (packed({XML: ENTITIES.decode().encode("utf-16")}), "a.docx: a part of it has a document type declaration"),
        (packed({XML: ENTITIES.replace(b"<!DOC", b"<!--" + b"x" * 5000 + b"--><!DOC")}), "a.docx: a part of it has a document type"),
        (packed({XML: BODY.replace(b"schemas.openxmlformats.org", b"purl.oclc.org")}), "a.docx: it is a Strict Open XML document."),
        (packed({XML: DEEP}), "a.docx: a part of it is not valid XML. Save it again with Word or LibreOffice."),
        (packed({XML: BODY[:-5]}), "a.docx: a part of it is not valid XML. Save it again with Word or LibreOffice."),
        (packed({XML: BODY, "../../evil": b"x"}), "a.docx: a part of it has a name outside the document. Save it again"),
        (packed({XML: BODY, "/etc/evil": b"x"}), "a.docx: a part of it has a name outside the document. Save it again"),
        (packed({XML: BODY, "word/media/a": bytes(3 * 2**20)}), "a.docx: a part of it unpacks to more than 200 times its size, as in a ZIP bomb."),
        (packed({XML: BODY, **{f"p{number}": b"" for number in range(4_000)}}), "a.docx: it has 4,001 parts; the limit is 4,000. Split the document."),
    ],
)  # fmt: skip
def test_a_hostile_or_damaged_file_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        translate_document(content, "a.docx", identity)
    assert str(refusal.value).startswith(message)


def test_the_unpacked_size_is_limited_before_anything_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_package, "MAX_UNPACKED", 2**20)
    with pytest.raises(DataError, match="a.docx: it unpacks to 2 MiB; the limit is 1 MiB. Remove pictures."):
        translate_document(packed({XML: BODY, "a": bytes(range(256)) * 2**13}), "a.docx", identity)


def test_a_part_that_is_larger_than_its_entry_states_is_refused() -> None:
    content = packed({XML: BODY + b" " * 5000})
    forged = content.replace(struct.pack("<L", len(BODY) + 5000), struct.pack("<L", 10))
    assert forged != content
    with pytest.raises(DataError, match="its ZIP file cannot be read"):
        translate_document(forged, "a.docx", identity)
