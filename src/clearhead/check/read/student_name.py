"""Find the name of the student on a page: `Student: Ada`, `**Name:** Ada` or `\\author{Ada}`."""

import re

_NAME = re.compile(
    r"^[ \t>#*_|-]{0,9}(?:student(?:'s)?(?: name)?|name(?: of student)?|full name|author|nombre|alumno)[ \t*_]{0,4}"
    r"[:=][ \t*_|]{0,9}"
    r"(?P<name>[^\n]{1,200})$|\\author\{(?P<author>[^{}\n]{1,200})\}",
    re.IGNORECASE | re.MULTILINE,
)
_END = re.compile(
    r"\s{3,}|\t|[,;|(]\s{0,3}(?=[^,;|]{0,40}(?:\d|:))|\s(?=(?:date|class|group|id|no|page|question)\b\.?\s?[:#\d])",
    re.IGNORECASE,
)
_MAX_START = 20_000  # characters at the start of a page in which a name is searched


def student_on_page(text: str) -> str:
    """Return the first name that a page gives, or an empty text."""
    match = _NAME.search(text[:_MAX_START])
    if match is None:
        return ""
    name = _END.split(match["name"] or match["author"], maxsplit=1)[0]
    name = " ".join(name.strip(" *_`|.\\").split())
    return name[:100] if re.search(r"[^\W\d_]", name) and "=" not in name else ""
