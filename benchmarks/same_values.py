"""What of an output must not change: everything but times, memory, versions and the bytes of HTML and Office files."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

# Keys of JSON whose values depend on the clock, the machine or the version, p-values, which depend on a library, and
# keys that are about to be deleted.
LEFT_OUT = re.compile(
    r"(^|_)(seconds|times?|memory|eta|waiting|speed|started|finished|date|created|versions?|machine|commit|p|p_value)(_|$)"
    r"|per_second|^(continuations|coverage_penalty|by_length)$"
)
MEASUREMENT = re.compile(r"(?<= in )\d+\.\d s\b|[\d,.]+ → [\d,.]+ sentences/s[^|\n]*")
MEASURED = ("cost", "length-cost", "teacher-forcing")  # experiments that measure time or memory


def value_of(text: str) -> Any:
    """Return the value of JSON, or of lines of JSON, without what is left out; otherwise the text."""
    try:
        return _stable(json.loads(text))
    except ValueError:
        pass
    try:
        return [_stable(json.loads(line)) for line in text.splitlines()] or text
    except ValueError:
        return MEASUREMENT.sub("…", text)


def value_of_file(path: Path) -> Any:
    """Return what must not change of a file, or of every file of a folder."""
    if path.is_dir():
        return {str(file.relative_to(path)): value_of_file(file) for file in sorted(path.rglob("*")) if file.is_file()}
    if not path.exists():
        return None
    if path.suffix in (".docx", ".xlsx"):
        return _office_text(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        parser = _Text()
        parser.feed(text)
        return parser.words
    return value_of(text)


def run_values(run: Path) -> Iterator[tuple[str, Any]]:
    """Yield the metrics of a run, and a hash of every tensor of its best model."""
    from safetensors.numpy import load_file

    for number, line in enumerate((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()):
        yield f"metrics {number}", value_of(line)
    for key, tensor in sorted(load_file(run / "best" / "model.safetensors").items()):
        yield f"weights {key}", hashlib.sha256(tensor.tobytes()).hexdigest()[:16]


def _stable(value: Any) -> Any:
    if isinstance(value, list):
        return [_stable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("experiment") in MEASURED:
        value = _unmeasured(value)
    return {key: _stable(item) for key, item in value.items() if not LEFT_OUT.search(key)}


def _unmeasured(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return of every table only the first column and losses."""
    tables = []
    for table in experiment["tables"]:
        numbers = [number for number, name in enumerate(table["columns"]) if number == 0 or "loss" in name]
        rows = [[row[number] for number in numbers] for row in table["rows"]]
        tables.append({"title": table["title"], "columns": table["columns"], "rows": rows})
    return {"title": experiment["title"], "claim": experiment["claim"], "tables": tables}


def _office_text(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".xml"))
        parts = [archive.read(name).decode("utf-8") for name in names if "docProps" not in name]
    return [text for part in parts for text in re.findall(r"<(?:w:)?[tv](?: [^>]*)?>([^<]+)", part)]


class _Text(HTMLParser):
    """The text of a page without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words += data.split()
