"""Subtitles: everything but the text of cues stays, and sentences are translated whole."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.documents import translate_document
from clearhead.documents.inline_translator import InlineTranslator
from clearhead.documents.subtitles import tagged_parts, translate_srt
from clearhead.errors import DataError
from clearhead.text.aligned import AlignedTranslation
from tests.unit.documents.translators import ALL, by_table, identity, reversal, uppercase

SRT = """1
00:00:01,000 --> 00:00:02,500
Hello <i>my big
friend</i>. {\\an8}

2
00:00:03,000 --> 00:00:04,000 X1:10 X2:20
{\\an8}<i>- One two.
- Three four.</i>
"""
VTT = """WEBVTT - the title

NOTE a comment
00:01.000 --> 00:02.000

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start line:0
<v Ann>Hello &amp; <c.x>good</c> bye</v>

00:00:03.000 --> 00:00:04.000
<v Bob>One <00:00:03.200>two <00:00:03.500>three
four.
"""


def translated(text: str, name: str, translate: Any) -> str:
    return translate_document(text.encode(), name, translate).decode()


@pytest.mark.parametrize(("text", "name"), [(SRT, "a.srt"), (SRT.replace("\n", "\r\n"), "a.srt"), (VTT, "a.vtt")])
def test_the_identity_gives_back_a_file_byte_for_byte(text: str, name: str) -> None:
    assert translated(text, name, identity) == text


@pytest.mark.parametrize("translate", ALL)
@pytest.mark.parametrize(("text", "name"), [(SRT, "a.srt"), (VTT, "a.vtt")])
def test_times_numbers_settings_and_tags_stay(text: str, name: str, translate: Any) -> None:
    result = translated(text, name, translate)
    kept = re.compile(r"(?m)^.*-->.*$|^\d+$|^(?:WEBVTT|NOTE|STYLE|::cue|intro).*$|<[^>]*>|\{[^}]*\}|^- ")
    assert sorted(kept.findall(result)) == sorted(kept.findall(text))
    times = [line for line in text.splitlines() if "-->" in line]
    assert [line for line in result.splitlines() if "-->" in line] == times


def test_a_cue_may_end_with_the_file() -> None:
    cue = b"00:00:01,000 --> 00:00:02,500\nOne"
    assert translate_srt(cue, InlineTranslator(uppercase)) == cue.replace(b"One", b"ONE")


def test_the_text_of_cues_is_translated() -> None:
    assert "HELLO <i>MY BIG\nFRIEND</i>. {\\an8}\n" in translated(SRT, "a.srt", uppercase)
    assert "{\\an8}<i>- two. One\n- four. Three</i>\n" in translated(SRT, "a.srt", reversal)
    result = translated(VTT, "a.vtt", reversal)
    assert "<v Ann>bye <c.x>good</c> &amp; Hello</v>" in result
    assert "<v Bob>One <00:00:03.200>two <00:00:03.500>four.\nthree" in result


def test_a_sentence_over_two_lines_is_translated_whole_and_broken_near_the_same_place() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,500\nI have never seen\nsuch a big house.\n"
    table = by_table({"I have never seen such a big house.": ("Nunca he visto una casa tan grande.", "")})
    assert translated(cue, "a.srt", table) == "1\n00:00:01,000 --> 00:00:02,500\nNunca he visto una\ncasa tan grande.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[MUSIC] JOHN: I love you.", "[MUSIC] JOHN: you. love I"),
        ("JOHN: I see.\nMRS. O'NEIL: You do", "JOHN: see. I\nMRS. O'NEIL: do You"),
        ("- MARY (V.O.): I see.\n- [sighs] You do", "- MARY (V.O.): see. I\n- [sighs] do You"),
        ("<i>JOHN: one two</i>", "<i>JOHN: two one</i>"),
        ("<i>JOHN:</i> one two", "<i>JOHN:</i> two one"),
        ("[sighs] one two", "[sighs] two one"),
        ("- one two\n- [sighs]\n-", "- two one\n- [sighs]\n-"),
        ("[music playing]", "[music playing]"),
        ("(LAUGHS)\n<b>[door opens]</b>", "(LAUGHS)\n<b>[door opens]</b>"),
        ("(door opens) one", "one (door opens)"),
        ("It is 9:30: one", "one 9:30: is It"),
        ("I: one two", "two one I:"),
    ],
)
def test_speakers_and_sounds_are_not_translated(text: str, expected: str) -> None:
    table = {"(door opens) one": "one (door opens)"}
    translate = lambda sentences: [  # noqa: E731
        AlignedTranslation(table[sentence]) if sentence in table else reversal([sentence])[0] for sentence in sentences
    ]
    start = "1\n00:00:01,000 --> 00:00:02,500\n"
    assert translated(f"{start}{text}\n", "a.srt", translate) == f"{start}{expected}\n"
    web = "WEBVTT\n\n00:01.000 --> 00:02.000\n"
    assert translated(f"{web}{text}\n", "a.vtt", translate) == f"{web}{expected}\n"


LINES = st.sampled_from(
    [
        "1",
        "00:00:01,000 --> 00:00:02,500",
        "",
        "One <i>two</i> three.",
        "- a",
        "<b>x",
        "{\\an1}y </b>",
        "NOTE z",
        "&amp; {",
        "[MUSIC] JOHN:",
        "JOHN: (LAUGHS) [x] y",
        "  ",
    ]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_the_identity_gives_back_any_lines(lines: list[str], end: str) -> None:
    text = end.join(["00:00:01,000 --> 00:00:02,500", *lines])
    assert translated(text, "a.srt", identity) == text
    web = "WEBVTT\n\n" + text.replace(",000", ".000").replace(",500", ".500")
    assert translated(web, "a.vtt", identity) == web


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("hello\n", "a.srt", "a.srt: it has no line with times such as 00:00:01,000 --> 00:00:02,500. Give an SRT file."),
        ("hello\n", "a.vtt", "a.vtt: its first line is not WEBVTT. Give a WebVTT file."),
    ],
)  # fmt: skip
def test_another_file_is_refused(content: str, name: str, message: str) -> None:
    with pytest.raises(DataError) as refusal:
        translated(content, name, identity)
    assert str(refusal.value) == message


def test_single_tags_at_the_edges_are_outside_the_block() -> None:
    before, block, after = tagged_parts("{\\an8}<i>one</i> two</b>")
    assert (before, after) == ("{\\an8}", "</b>")
    assert not isinstance(block, str)
    assert block.inline.text == "one two"
