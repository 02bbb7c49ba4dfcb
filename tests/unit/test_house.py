"""Guards of the house: every Step reaches every consumer, public names are tested, names say what they hold."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import clearhead
from clearhead import steps
from clearhead.steps import AXES, STEPS, Record
from clearhead.steps.vocabulary import PLACES, POSITION_FORMULAS
from clearhead.worksheet.fields import describe_kinds
from clearhead.worksheet.kinds import KINDS
from clearhead.worksheet.parents import PARENTS
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.reading import gallery
from clearhead.worksheet.reference import REFERENCE, replay
from clearhead.worksheet.working import WORKINGS
from tests.generated_pages import generated_page

ROOT = Path(__file__).parents[2]
HOME = ROOT / "src" / "clearhead"
SOURCES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(HOME.rglob("*.py"))}
# Participles and pronouns that do not say what a variable contains.
VAGUE_NAMES = {
    *("made", "found", "told", "given", "each", "several", "whole", "begun", "asked"),
    *("left", "kept", "known", "said", "written", "read", "taken", "seen"),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_oracle_knows_every_step_with_its_very_inputs(name: str) -> None:
    parameters = inspect.signature(REFERENCE[name]).parameters
    assert set(parameters) == {argument.name for argument in STEPS[name].inputs}
    optional = {argument.name for argument in STEPS[name].inputs if argument.is_optional}
    assert {p.name for p in parameters.values() if p.default is not p.empty} == optional


def test_no_consumer_knows_a_step_that_is_not_declared() -> None:
    assert set(REFERENCE) == set(STEPS)
    assert set(WORKINGS) == set(STEPS)
    assert set(PARENTS) == set(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_declared_in_full(name: str) -> None:
    step = STEPS[name]
    assert step.name == name
    assert step.sentence.endswith(".")
    assert set(step.axes) <= set(AXES)
    assert step.symbol
    for layout in ("rows", "columns"):
        text = step.equation_in(layout, {argument.name: argument.name for argument in step.inputs})
        assert "{" not in text
        assert "[?" not in text


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_used_by_some_gallery_problem_or_example(
    name: str, all_sheets: dict[str, clearhead.Worksheet]
) -> None:
    used = {record.step.name for sheet in all_sheets.values() for record in sheet.trace}
    assert name in used


def test_every_kind_has_an_example() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.*"))
    kinds = set(re.findall(r'"?kind"?: "?([\w-]+)', text)) | {"parts"}
    assert kinds == set(KINDS)
    assert "\nparts:" in text


def test_every_position_formula_is_written_out() -> None:
    formulas = {"sinusoidal", "sinusoidal-odd-exponent", "one-hot", "count"}
    assert set(POSITION_FORMULAS) == formulas


def test_every_place_in_a_trace_has_a_name_or_is_a_role(all_sheets: dict[str, clearhead.Worksheet]) -> None:
    roles = {"query", "key", "value", "embedding", "position", "cached", "attention", "context", "masked"}
    roles |= {"first", "second", "from_input", "from_state", "kept", "new", "reset"}
    for sheet in all_sheets.values():
        for record in sheet.trace:
            words = {word for word in record.where.split(".") if word and not word.isdigit()}
            assert words <= set(PLACES) | roles


FLAG = re.compile(r"(?:^|[\s\"'`(])--[a-z]")
# Options of git, and those that clearhead no longer has.
MAY_NAME_FLAGS = {"training/environment.py", "retired.py"}


@pytest.mark.parametrize(
    ("text", "is_flag"),
    [("with --run.", True), ("(--run)", True), ("--set x", True), ("a--b", False), ("<!-- x", False), ("--", False)],
)
def test_a_flag_is_distinguished_from_a_dash(text: str, is_flag: bool) -> None:
    assert bool(FLAG.search(text)) == is_flag


def test_only_the_command_line_names_flags() -> None:
    home = ROOT / "src" / "clearhead"
    named = []
    for path in home.rglob("*.py"):
        name = path.relative_to(home).as_posix()
        if name.startswith("cli/") or name in MAY_NAME_FLAGS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and FLAG.search(node.value):
                named.append(f"{name}:{node.lineno}")
    assert named == [], "a message names parameters (options=…), and the command line adds their flags"


def test_public_names_are_tested() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name in {*clearhead.__all__, *steps.__all__}:
        assert re.search(rf"\b{name}\b", tests), f"{name} is public and in no test"


def test_public_names_are_there() -> None:
    for name in clearhead.__all__:
        assert getattr(clearhead, name) is not None
    assert set(clearhead.__all__) == set(dir(clearhead))
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = clearhead.sovle


def test_contributing_names_every_room() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in HOME.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)) == rooms


def test_every_file_says_what_it_is_for() -> None:
    silent = [str(path) for path, tree in SOURCES.items() if tree.body and not ast.get_docstring(tree)]
    assert not silent


def test_the_gallery_and_examples_hold_nothing_else() -> None:
    entries = {path.suffix or path.name for path in (ROOT / "examples").iterdir()}
    assert entries == {".yaml", ".json", "documents", "workings", "models"}
    assert len(gallery()) >= 14


def test_a_replayed_record_needs_nothing_but_its_inputs() -> None:
    record = Record(STEPS["add"], "", {"a": np.ones((2, 3)), "b": np.ones((1, 3))}, None, "X")
    assert replay(record).tolist() == [[2.0] * 3] * 2


def test_the_page_of_keys_has_every_kind_with_its_keys() -> None:
    page = generated_page("guide/fields.md")
    assert page.endswith(describe_kinds())
    for name, kind in KINDS.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for key in set(kind.model_fields) - set(Problem.model_fields):
            assert f"\n- `{key}`" in section, f"{key} of {name} is not on the page"


def test_the_readme_fits_its_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_goes_by_its_own_name(name: str) -> None:
    assert KINDS[name].model_fields["kind"].default == name
    assert KINDS[name].summary


def has_code(path: Path) -> bool:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom)) for node in body)


def names_in_tests() -> set[str]:
    """Every dotted name below clearhead that a test file holds, `from a import b` as a.b, with all that it begins with."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    names = set(re.findall(r"\bclearhead(?:\.\w+)+", text))
    for package, imported in re.findall(r"^from (clearhead[\w.]*) import (\([^)]*\)|.*)$", text, re.MULTILINE):
        names |= {f"{package}.{name}" for name in re.findall(r"\w+", imported)}
    return {".".join(parts[:end]) for parts in (name.split(".") for name in names) for end in range(2, len(parts) + 1)}


def test_every_module_is_imported_by_a_test() -> None:
    modules = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "__init__.py" and has_code(path)
    }
    untested = sorted(modules - names_in_tests())
    assert not untested, f"no test imports {', '.join(untested)}: write one"


def test_every_folder_of_unit_tests_is_one_of_the_source() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    strangers = sorted(str(folder) for folder in folders if not (ROOT / "src" / "clearhead" / folder).is_dir())
    assert not strangers, f"tests/unit mirrors src/clearhead, which has no folder {', '.join(strangers)}"


def test_a_class_name_occurs_once_in_the_package() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in SOURCES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(HOME)))
    repeated = {name: files for name, files in places.items() if len(files) > 1}
    assert not repeated, f"class names that several files define: {repeated}"


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every variable that is bound, with its line: assignments, loops, parameters, `with`, `except`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_variables_are_nouns_that_say_what_they_hold() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path, tree in SOURCES.items()
        for name, line in bound_names(tree)
        if name in VAGUE_NAMES
    ]
    assert not places, f"name what they hold: {places}"
