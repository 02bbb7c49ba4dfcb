"""The elements of WordprocessingML that translating needs to know: names, runs, and their properties."""

import re
from copy import deepcopy
from typing import Any

from lxml import etree

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# Marks between runs need not be at a certain word, but their order matters: some go to the start of a text, some to
# its end. Those of a spelling checker are dropped.
STARTS = ("bookmarkStart", "commentRangeStart", "permStart")
ENDS = ("bookmarkEnd", "commentRangeEnd", "permEnd")
MARKS = (*STARTS, *ENDS, "proofErr")
_BREAKS = ("tab", "br", "cr", "ptab")  # inside a run; a sentence ends there
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSEEN = ("lang", "noProof")  # properties that differ between runs without being seen


def tag_of(name: str) -> str:
    """Return the full name of an element."""
    return f"{{{_WORD}}}{name}"


def name_of(element: Any) -> str:
    """Return the short name of an element; empty for a comment or an element of another vocabulary."""
    tag = element.tag
    return tag[len(_WORD) + 2 :] if isinstance(tag, str) and tag.startswith(f"{{{_WORD}}}") else ""


def properties_of(run: Any) -> Any:
    """Return the properties of a run; None if it has none."""
    return run.find(tag_of("rPr"))


def described(properties: Any) -> tuple[Any, ...]:
    """Return run properties as a value to compare, without those that are not seen."""
    if properties is None:
        return ()
    return tuple(
        etree.tostring(child, method="c14n", with_tail=False) for child in properties if name_of(child) not in _UNSEEN
    )


def style_of(element: Any, properties: str, style: str) -> str:
    """Return the identifier of the style of a paragraph or a run; empty if it has none."""
    entry = element.find(f"{tag_of(properties)}/{tag_of(style)}")
    return "" if entry is None else entry.get(tag_of("val"), "")


def is_no_proof(run: Any, unproofed: frozenset[str] = frozenset()) -> bool:
    """Return whether a run, or a style, is marked as not to be proofed, itself or by one of these styles."""
    mark = run.find(f"{tag_of('rPr')}/{tag_of('noProof')}")
    if mark is not None:
        return mark.get(tag_of("val")) not in ("0", "false", "off")
    return style_of(run, "rPr", "rStyle") in unproofed


def has_letters(paragraph: Any) -> bool:
    """Return whether there is a letter in a paragraph."""
    return any(map(str.isalpha, "".join(text.text or "" for text in paragraph.iter(tag_of("t")))))


def new_run(content: Any, properties: Any) -> Any:
    """Return a run with a copy of the properties of another."""
    run = etree.Element(tag_of("r"))
    if properties is not None:
        run.append(deepcopy(properties))
    run.append(content)
    return run


def new_text(text: str) -> Any:
    """Return a text whose white space counts, without characters that XML forbids."""
    element = etree.Element(tag_of("t"), {_SPACE: "preserve"})
    element.text = _FORBIDDEN.sub("", text)
    return element


def split_runs(parent: Any) -> None:
    """Split the runs of a paragraph or a link, so that each has one element besides its properties."""
    for child in list(parent):
        if name_of(child) == "hyperlink":
            split_runs(child)
        elif name_of(child) == "r":
            contents = [part for part in child if name_of(part) != "rPr"]
            for content in reversed(contents[1:]):
                child.addnext(new_run(content, properties_of(child)))


def is_break(run: Any) -> bool:
    """Return whether a run is a tab or a line break."""
    return any(name_of(part) in _BREAKS for part in run)
