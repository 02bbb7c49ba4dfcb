"""Plain text: lines, blank space and encodings stay."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents import translate_document
from clearhead.documents.encoding import decode
from clearhead.documents.plain_text import is_continued, plain_parts
from clearhead.errors import DataError
from tests.unit.documents.translators import by_table, identity, reversal, uppercase


@given(st.text(st.sampled_from("ab .!?\r\n\té{0}%s@:/\u00a0\u3000。x"), min_size=1, max_size=80))
def test_the_identity_gives_back_every_text_byte_for_byte(text: str) -> None:
    assert translate_document(text.encode(), "a.txt", identity) == text.encode()


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=40))
def test_the_identity_gives_back_any_unicode(text: str) -> None:
    content = text.encode()
    if not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        assert translate_document(content, "a.txt", identity) == content


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_the_encoding_stays(mark: bytes, encoding: str) -> None:
    content = mark + "One two.\r\n\r\n Three.\n".encode(encoding)
    expected = mark + "two. One\r\n\r\n Three.\n".encode(encoding)
    assert translate_document(content, "a.txt", reversal) == expected
    assert decode(content).encoding == encoding


def test_a_sentence_over_two_full_lines_is_translated_whole_and_broken_again() -> None:
    first, second = "This sentence is so long that it had to be", "broken once."
    table = by_table({f"{first} {second}": ("Esta frase es tan larga que hubo que partirla una sola vez.", "")})
    translated = translate_document(f"{first}\n{second}\nNew line".encode(), "a.txt", lambda sentences: [
        *(table([sentence])[0] if sentence.startswith("This") else uppercase([sentence])[0] for sentence in sentences)
    ])  # fmt: skip
    assert translated.decode() == "Esta frase es tan larga que hubo que partirla\nuna sola vez.\nNEW LINE"


def test_short_lines_are_separate_texts() -> None:
    assert not is_continued("milk", "and bread")
    assert len([part for part in plain_parts("milk\nand bread\n") if not isinstance(part, str)]) == 2


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.txt", "a.txt is empty. Give a document with text."),
        (b"one\n\xff\xfa", "a.txt", "a.txt: line 2 is not UTF-8 text. Save the document as UTF-8."),
        (b"one\ntwo\0", "a.txt", "a.txt: line 2 contains a NUL character, so this is not a text document."),
        (codecs.BOM_UTF16_LE + b"a", "a.txt", "a.txt: line 1 is not UTF-16 text. Save the document as UTF-8."),
        (codecs.BOM_UTF32_LE + b"aaaa", "a.txt", "a.txt: it is UTF-32 text. Save it as UTF-8."),
        (
            b"x",
            "../../a.docxx",
            "a.docxx: '.docxx' is not a format that is translated as a document. Did you mean '.docx'? Formats: .txt, ",
        ),
        (b"x", "a", "a: '' is not a format that is translated as a document. Formats: .txt, "),
        (b"x", "\x1b[2J.dat", "\\x1b[2J.dat: '.dat' is not a format"),
    ],
)
def test_what_is_no_document_is_refused_in_one_sentence(content: bytes, name: str, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        translate_document(content, name, identity)
    assert str(refusal.value).startswith(message)
