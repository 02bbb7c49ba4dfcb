"""Links between the pages of the documentation: their files exist below docs/, their headings exist, no page is missing."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.generated_pages import generated_page, makers

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = {DOCS / name: name for name in makers()}
PAGES = sorted({*DOCS.rglob("*.md"), *(path for path in GENERATED if path.suffix == ".md")})
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *(?:\{ *#([\w-]+) *\})?$", re.MULTILINE)


@cache
def prose(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    text = generated_page(GENERATED[page]) if page in GENERATED else page.read_text(encoding="utf-8")
    return _FENCE.sub("", text)


def slug(heading: str) -> str:
    """Return the anchor that Python-Markdown gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page; a repeated heading gets a number."""
    names: set[str] = set()
    for heading, name in _HEADING.findall(prose(page)):
        anchor, number = name or slug(heading), 0
        while anchor in names:
            number += 1
            anchor = f"{name or slug(heading)}_{number}"
        names.add(anchor)
    return names


def broken_links(page: Path, root: Path) -> Iterator[str]:
    """Yield every link of a page that leads nowhere in the documentation that is built from `root`."""
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        is_page = target.is_file() or target in GENERATED
        if not is_page or not target.is_relative_to(root.resolve()):
            yield f"{link} is not a file below {root.name}/"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert list(broken_links(page, DOCS)) == []


def test_the_pages_include_the_generated_ones() -> None:
    names = {str(page.relative_to(DOCS)) for page in PAGES}
    assert names >= {"index.md", "guide/config.md", "guide/fields.md", "guide/workings.md", "inside/sentence-2.md"}
    assert set(makers()) >= {"inside/sentence-1-head.html", "inside/sentence-2-head.html", "inside/explanation.html"}


def test_a_missing_file_an_outer_file_and_an_unknown_heading_are_found(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    (tmp_path / "outer.md").touch()
    page = root / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](none.md) [d](../outer.md)\n```\n[e](none.md)\n```\n", "utf-8")
    assert list(broken_links(page, root)) == [
        "#two has no such heading",
        "none.md is not a file below docs/",
        "../outer.md is not a file below docs/",
    ]


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [str(page.relative_to(DOCS)) for page in PAGES if str(page.relative_to(DOCS)) not in navigation]
    assert missing == []
