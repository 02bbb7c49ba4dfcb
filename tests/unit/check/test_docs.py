"""The pages about the marker are complete: the generated ones, and the lists that are written by hand."""

import re
from pathlib import Path

import pytest

from clearhead import Worksheet
from clearhead.check import (
    Scheme,
    Verdict,
    check,
    misconceptions,
    norm_misconceptions,
    part_misconceptions,
    position_misconceptions,
)
from clearhead.check.graph import Graph, fetch_from
from clearhead.check.line_words import MEANINGS
from clearhead.check.marks import LineScheme
from clearhead.check.misconceptions import MISCONCEPTIONS, variants
from clearhead.check.names import find_records
from clearhead.check.story import REMEDIES
from clearhead.check.wrong_rule import Site
from clearhead.exercises.check.read.fields import KEYS
from clearhead.exercises.check.read.reading import SUFFIXES
from clearhead.exercises.check.read.workings import shipped_workings
from clearhead.worksheet.reading import read_data
from tests.generated_pages import generated_page

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = DOCS / "guide"


@pytest.fixture(scope="module")
def check_page() -> str:
    return (GUIDE / "check.md").read_text(encoding="utf-8")


def test_the_page_of_workings_has_the_report_on_every_shipped_working() -> None:
    page = generated_page("guide/workings.md")
    assert len(shipped_workings()) >= 10
    for name in shipped_workings():
        reports = check(name)
        overview = re.findall(rf"^\| \[{name}\]\(#{name}\) (?:\| \d+ ){{3}}\| (\d+) \|", page, re.MULTILINE)
        assert overview == [str(len(report.findings)) for report in reports]
        sections = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        assert [len(re.findall(r"^\d+\. \*\*", section, re.MULTILINE)) for section in sections] == [
            len(report.findings) for report in reports
        ]


def test_every_word_on_the_page_of_names_names_that_line_on_a_shipped_sheet(all_sheets: dict[str, Worksheet]) -> None:
    """The page is written from the table, and the table is what `find_records` uses: each word finds its line."""
    graphs = [Graph(sheet) for sheet in all_sheets.values()]
    page = generated_page("guide/names.md")
    for meaning in MEANINGS:
        nodes = [(graph, {i for i, record in enumerate(graph.records) if meaning.tests[0](record)}) for graph in graphs]
        for word in meaning.words.split(", "):
            assert f"`{word}`" in page
            found_on = [graph for graph, meant in nodes if meant & set(find_records(graph, word, "").nodes)]
            assert found_on, f"{word} does not name the {meaning.title} on any shipped sheet"


def listed_names() -> dict[str, list[str]]:
    """Return the names on the page by step, without escapes."""
    page = generated_page("guide/misconceptions.md")
    names_by_step: dict[str, list[str]] = {}
    for section in page.split("\n## ")[1:]:
        rows = re.findall(r"^\| (.+?) \| ", section, re.MULTILINE)
        step = re.findall(r"^Step `(\w+)`: ", section, re.MULTILINE)[0]
        names_by_step[step] = [re.sub(r"\\([_*\[|])", r"\1", row) for row in rows[1:]]
    return names_by_step


def test_every_plain_name_in_the_source_is_on_the_page() -> None:
    modules = (misconceptions, norm_misconceptions, part_misconceptions, position_misconceptions)
    source = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in modules)
    plain = set(re.findall(r'(?:Variant|worked|worked_down_columns|worked_over_all|changed)\(\s*"([^"]+)"', source))
    listed = {name for names in listed_names().values() for name in names}
    assert len(plain) > 40, "the pattern finds hardly any names"
    assert plain <= listed, f"not on the page: {plain - listed}"


def test_every_misconception_that_applies_to_a_shipped_sheet_is_on_the_page(all_sheets: dict[str, Worksheet]) -> None:
    patterns = {step: [re.escape(name).replace("…", ".+") for name in names] for step, names in listed_names().items()}
    assert set(patterns) == set(MISCONCEPTIONS)
    met: set[str] = set()
    for sheet in all_sheets.values():
        graph = Graph(sheet)
        fetch = fetch_from([record.value for record in graph.records], graph.givens)
        for index, record in enumerate(graph.records):
            for variant in variants(Site(graph, index, fetch), record.value.shape):
                met.add(variant.name)
                assert any(re.fullmatch(pattern, variant.name) for pattern in patterns[record.step.name]), (
                    f"{variant.name} ({record.step.name}) is not on the page"
                )
    assert len(met) > 60, "the shipped sheets meet hardly any wrong rule"


def test_every_remedy_belongs_to_a_misconception() -> None:
    listed = {name for names in listed_names().values() for name in names}
    assert not [name for name in REMEDIES if not any(listed_name.startswith(name) for listed_name in listed)]


def test_the_guide_names_every_key_of_a_working(check_page: str) -> None:
    for key in KEYS:
        assert f"| `{key}` |" in check_page, f"the key {key} is not in the table"


def test_the_guide_names_every_field_of_a_scheme(check_page: str) -> None:
    for key, field in {**Scheme.model_fields, **LineScheme.model_fields}.items():
        assert f"| `{key}` |" in check_page, f"the field {key} is not in the table"
        assert field.description, f"{key} has no description"


def test_the_guide_shows_every_verdict_with_its_symbol(check_page: str) -> None:
    for verdict in Verdict:
        kind = "yes" if verdict.is_error else "no"
        row = rf"^\| {re.escape(verdict.symbol)} \| {re.escape(verdict.in_words)} \| .+ \| {kind}\b"
        assert re.search(row, check_page, re.MULTILINE), f"{verdict.in_words} is not in the table"
        assert verdict.value == verdict.in_words or f"`{verdict.value}`" in check_page, "the name in the JSON"


def test_the_guide_names_every_kind_of_file(check_page: str) -> None:
    for suffix in SUFFIXES:
        assert f"`{suffix}`" in check_page, f"{suffix} is not named"


def test_the_working_in_the_guide_can_be_marked(check_page: str) -> None:
    example = re.search(r"```yaml\n(problem: exam.*?)```", check_page, re.DOTALL)
    assert example, "the page has lost its working"
    (report,) = check(read_data(example[1].encode()))
    assert not report.findings
    assert sum(report.counts.values()) == 15
    assert report.student == "Noor"
