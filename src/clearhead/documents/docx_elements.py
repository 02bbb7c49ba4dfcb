"""The elements of WordprocessingML that translating needs to know: names, runs, their properties, fields."""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from lxml import etree

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
CONTAINERS = ("hyperlink", "ins", "smartTag", "customXml", "moveTo")  # they have runs in them
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


def is_no_proof(properties: Any, unproofed: frozenset[str] = frozenset()) -> bool:
    """Return whether text with these properties is marked as not to be proofed, itself or by one of these styles."""
    if properties is None:
        return False
    mark = properties.find(tag_of("noProof"))
    if mark is not None:
        return mark.get(tag_of("val")) not in ("0", "false", "off")
    style = properties.find(tag_of("rStyle"))
    return style is not None and style.get(tag_of("val")) in unproofed


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


def runs_in(parent: Any) -> Iterator[Any]:
    """Yield the runs of a paragraph, also those in containers, but not those of text boxes inside runs."""
    for child in list(parent):
        if name_of(child) == "r":
            yield child
        elif name_of(child) in CONTAINERS:
            yield from runs_in(child)


def split_runs(parent: Any) -> None:
    """Split the runs of a paragraph, so that each has one element besides its properties."""
    for run in runs_in(parent):
        contents = [child for child in run if name_of(child) != "rPr"]
        place, owner, properties = run.getparent().index(run), run.getparent(), properties_of(run)
        for number, content in enumerate(contents[1:], 1):
            owner.insert(place + number, new_run(content, properties))


def is_break(run: Any) -> bool:
    """Return whether a run is a tab or a line break."""
    return any(name_of(part) in _BREAKS for part in run)


def has_breaks(container: Any) -> bool:
    """Return whether there is a tab or a line break in a container."""
    return any(map(is_break, runs_in(container)))


def field_depth(elements: Sequence[Any]) -> int:
    """Return how many fields, such as a page number, begin in elements and do not end there; -1 for the contrary."""
    depth = 0
    for element in elements:
        for mark in element.iter(tag_of("fldChar")):
            depth += {"begin": 1, "end": -1}.get(mark.get(tag_of("fldCharType"), ""), 0)
            if depth < 0:
                return -1
    return depth


def emptied(container: Any) -> Any:
    """Remove the runs of a container; its own properties stay."""
    for child in list(container):
        if not name_of(child).endswith("Pr"):
            container.remove(child)
    return container
