"""A sheet as HTML: the page to work in, or the key as a worksheet with every calculation."""

import re
from dataclasses import replace

from clearhead.quiz.forms import introduction
from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.sheet import QuizSheet

_KEPT = re.compile(r"(<style.*?</style>|<script.*?</script>|<[^>]*>)", re.DOTALL)


def write(sheet: QuizSheet, is_key: bool, decimal: str) -> bytes:
    """Return the page to work in, or the key."""
    if not is_key:
        from clearhead.quiz.page import to_page

        return to_page(sheet, decimal="comma" if decimal == "comma" else "point").encode("utf-8")
    worksheet = replace(
        sheet.worksheet,
        title=f"{sheet.title} (solution)",
        warnings=(*sheet.worksheet.warnings, *introduction(sheet, is_key)),
    )
    return _with_decimal_sign(worksheet.to_html("products"), decimal).encode("utf-8")


def _with_decimal_sign(page: str, decimal: str) -> str:
    """Change the numbers of the text, but nothing inside a tag, a style or a script."""
    if decimal == "point":
        return page
    parts = _KEPT.split(page)
    return "".join(part if place % 2 else with_decimal_sign(part, decimal) for place, part in enumerate(parts))
