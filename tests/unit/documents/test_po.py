"""Catalogues of gettext: empty messages are filled, everything else stays, and placeholders are never lost."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents import DocumentOptions, translate_document
from clearhead.errors import DataError
from tests.unit.documents.translators import ALL, identity, reversal, uppercase

HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=3; plural=0;\\n"\n\n'
)
CATALOGUE = (
    HEADER
    + """#. for translators
#: a.c:1
#, c-format
msgctxt "menu"
msgid "Hello %s, you have <b>%(count)d</b> new {0} files.\\n"
msgstr ""

msgid "Done"
msgstr "Hecho"

#, fuzzy
msgid "Nearly"
msgstr "Casi"

msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] "%d archivos"
msgstr[2] ""

#~ msgid "Old one"
#~ msgstr ""
"""
)


def catalogue(text: str, translate: Any, **options: Any) -> polib.POFile:
    content = translate_document(text.encode(), "a.po", translate, options=DocumentOptions(**options))
    return polib.pofile("\n" + content.decode())


def test_empty_messages_are_filled_and_marked_as_fuzzy() -> None:
    greeting, done, nearly, files, old = catalogue(CATALOGUE, uppercase)
    assert greeting.msgstr == "HELLO %s, YOU HAVE <b>%(count)d</b> NEW {0} FILES.\n"
    assert greeting.flags == ["c-format", "fuzzy"]
    assert (greeting.msgctxt, greeting.comment, greeting.occurrences) == ("menu", "for translators", [("a.c", "1")])
    assert (done.msgstr, done.flags) == ("Hecho", [])
    assert nearly.msgstr == "Casi"
    assert files.msgstr_plural == {0: "ONE FILE", 1: "%d archivos", 2: "%d FILES"}
    assert (old.msgstr, old.obsolete) == ("", True)


def test_all_messages_are_translated_on_request() -> None:
    messages = catalogue(CATALOGUE, reversal, is_every_message=True)
    assert [entry.msgstr for entry in messages[1:3]] == ["Done", "Nearly"]
    assert messages[3].msgstr_plural == {0: "file One", 1: "files %d", 2: "files %d"}


def test_the_language_of_the_header_is_set_only_if_it_is_known_and_missing() -> None:
    assert "Language" not in catalogue(CATALOGUE, identity).metadata
    assert catalogue(CATALOGUE, identity, target_language="es").metadata["Language"] == "es"
    german = CATALOGUE.replace('"Plural', '"Language: de\\n"\n"Plural')
    assert catalogue(german, identity, target_language="es").metadata["Language"] == "de"


def test_a_language_with_one_form_gets_the_plural() -> None:
    messages = catalogue(
        HEADER.replace("nplurals=3", "nplurals=1") + 'msgid "a file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n',
        uppercase,
    )
    assert messages[0].msgstr_plural == {0: "%d FILES"}


PLACEHOLDER = re.compile(
    r"%%|%s|%\(name\)s|%1\$d|\{0\}|\{name\}|%1|%n|<b>|</b>|https://x\.org/\?a=b|:who|\{\{ u\.n \}\}|<%= y %>|\$\{z z\}|\$var|a_b|&"
)
PIECES = st.sampled_from(
    [
        "one",
        "Two.",
        "three,",
        "%s",
        "%(name)s",
        "%1$d",
        "{0}",
        "{name}",
        "%1",
        "%n",
        "<b>bold</b>",
        "https://x.org/?a=b",
        "100%%",
        "(%s)",
        "for :who,",
        "{{ u.n }}",
        "<%= y %>",
        "${z z}",
        "$var!",
        "a_b",
        "&",
        "&File",
    ]
)


@given(st.lists(PIECES, min_size=1, max_size=12), st.sampled_from(ALL))
def test_no_translation_loses_a_placeholder(pieces: list[str], translate: Any) -> None:
    message = " ".join(pieces)
    messages = catalogue(HEADER + f'msgid "{message}"\nmsgstr ""\n', translate)
    assert Counter(PLACEHOLDER.findall(messages[0].msgstr)) == Counter(PLACEHOLDER.findall(message))
    assert catalogue(HEADER + f'msgid "{message}"\nmsgstr ""\n', identity)[0].msgstr == message


def test_another_encoding_stays_and_must_be_able_to_hold_the_translation() -> None:
    text = (HEADER.replace("UTF-8", "ISO-8859-1") + 'msgid "café"\nmsgstr ""\n').encode("latin-1")
    assert 'msgstr "CAFÉ"'.encode("latin-1") in translate_document(text, "a.po", uppercase)
    hindi: Any = lambda sentences: [type(identity(["x"])[0])("चाय") for _ in sentences]  # noqa: E731
    with pytest.raises(
        DataError,
        match="a.po: ISO-8859-1 cannot represent the translation. Convert the catalogue to UTF-8, for example with msgconv.",
    ):
        translate_document(text, "a.po", hindi)


def test_long_lines_are_not_wrapped() -> None:
    message = "word " * 40 + "end"
    assert (
        f'msgid "{message}"'
        in translate_document((HEADER + f'msgid "{message}"\nmsgstr ""\n').encode(), "a.po", identity).decode()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "a.po: it has no msgid, so this is not a catalogue of gettext. Give a PO file."),
        ('msgid "a"\nmsgfoo "b"\n', "a.po: it is not a valid PO file at line 2. Check it with msgfmt."),
        ('msgid "a"\nmsgstr[x] ""\n', "a.po: it is not a valid PO file"),
        ('msgid "a', "a.po: it is not a valid PO file at line 1. Check it with msgfmt."),
        ('msgid "a"\n', "a.po: it is not a valid PO file at line 1."),
        ('msgid "a"\nmsgstr ""\n\nmsgid "b\nmsgstr ""\n', "a.po: it is not a valid PO file at line 4."),
        ('msgid "a"\nmsgstr "b\n', "a.po: it is not a valid PO file at line 2."),
        ('msgid "a"\nmsgstr ""\n"b\n', "a.po: it is not a valid PO file at line 3."),
        ('msgid "a\\"\nmsgstr ""\n', "a.po: it is not a valid PO file at line 1."),
        ('msgid "a"\n\nmsgid "b"\nmsgstr ""\n', "a.po: it is not a valid PO file at line 3."),
        (
            HEADER + 'msgid "a"\nmsgstr ""\n\nmsgid ""\nmsgstr "z"\n',
            'a.po: it has two headers (msgid ""). Remove one of them.',
        ),
    ],
)
def test_a_damaged_catalogue_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        catalogue(text, identity)
    assert str(refusal.value).startswith(message)


def test_a_document_that_is_the_name_of_a_file_does_not_open_that_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret msgid .po"
    secret.write_text(HEADER + 'msgid "secret"\nmsgstr ""\n')
    with pytest.raises(DataError):
        translate_document(f"{secret}".encode(), "a.po", identity)
