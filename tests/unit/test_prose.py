"""Plain words: phrases that readers stumbled over do not come back (CONTRIBUTING.md, "Prose")."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# phrase -> what to write instead
ODD = {
    r"(?:is|are|was|were|be) told": "reported",
    r"so many (?:tokens|lines|times|validations|words|of them)": "this number of",
    r"goes on (?:with|from|as)": "continues, resumes",
    r"stands (?:in|for|below|beside|above)": "is in, means, is affected by",
    r"was begun": "was started",
    r"put(?:s|ting)? right": "correct",
    r"but for": "except",
    r"nothing of": "no part of",
    r"is asked for": "is requested",
    r"lest": "so that … not",
    r"cut short": "truncated",
    r"is let go": "is released",
}
FILES = [
    *(ROOT / "src").rglob("*.py"),
    *(path for path in (ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LOG.md", "Makefile", "mkdocs.yml")),
    *(ROOT / "configs").glob("*.yaml"),
]


@pytest.mark.parametrize("phrase", ODD)
def test_odd_phrases_do_not_come_back(phrase: str) -> None:
    pattern = re.compile(rf"\b{phrase}\b", re.IGNORECASE)
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not lines, f"write {ODD[phrase]!r} instead:\n" + "\n".join(lines)
