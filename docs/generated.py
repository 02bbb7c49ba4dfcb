"""The pages of the documentation that are generated when it is built, and are not in the repository.

`make docs` builds them: MkDocs calls `on_files`. A page is computed from the code or drawn from a file of data in
`inside/`.
"""

import json
import runpy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead import Worksheet
from clearhead.explain import explanation_page
from clearhead.worksheet.rounding import Rounding

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

DOCS = Path(__file__).parent
REFERENCE = ("config", "fields", "misconceptions", "names", "workings")


def reference_page(name: str) -> str:
    """Return a page of the reference, which docs/make_NAME.py computes from the code."""
    page: str = runpy.run_path(str(DOCS / f"make_{name}.py"))["page"]()
    return page


def head_page(path: Path) -> str:
    """Return the worksheet of a head as a web page, with three decimals as on the page of its sentence."""
    sheet = Worksheet.from_json(path.read_text(encoding="utf-8"))
    return replace(sheet, rounding=Rounding(decimals=3)).to_html("matrices")


def page_of_explanation(path: Path) -> str:
    """Return the page that shows an explanation."""
    return explanation_page(json.loads(path.read_text(encoding="utf-8")))


def pages() -> dict[str, Callable[[], str]]:
    """Return for each generated page, relative to docs/, the function that returns its text."""
    makers = {f"guide/{name}.md": partial(reference_page, name) for name in REFERENCE}
    for path in sorted((DOCS / "inside").glob("*-head.json")):
        makers[f"inside/{path.stem}.html"] = partial(head_page, path)
    for path in sorted((DOCS / "inside").glob("explanation*.json")):
        makers[f"inside/{path.stem}.html"] = partial(page_of_explanation, path)
    return makers


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the generated pages to those that MkDocs builds; one that is also in the folder is replaced."""
    from mkdocs.structure.files import File

    for name, page in pages().items():
        stale = files.get_file_from_path(name)
        if stale is not None:
            files.remove(stale)
        files.append(File.generated(config, name, content=page()))
    return files
