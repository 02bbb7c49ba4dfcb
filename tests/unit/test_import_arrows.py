"""Who may import whom. Every room that exists is listed, and every import in it is an arrow of this table."""

import ast
import sys
from pathlib import Path

import pytest

import clearhead

HOME = Path(clearhead.__file__).parent
EVERYTHING = "everything"
FLOOR = {"files", "settings", "errors", "retired", "plots"}  # every room above may import these
# room -> (rooms it may import besides the floor, packages from outside that it may import)
ARROWS: dict[str, tuple[set[str] | str, set[str] | str]] = {
    "steps": (set(), set()),
    "worksheet": ({"steps"}, {"numpy", "orjson", "pydantic", "pydantic_core", "rich"}),
    # exercises and check import each other in the modules of READER_OF_CHECK alone, until the judge has moved as well
    "exercises": ({"check", "worksheet", "steps"}, {"numpy", "openpyxl"}),
    "check": (
        {"exercises", "worksheet", "steps"},
        {"numpy", "openpyxl", "orjson", "pydantic", "rich"},
    ),
    "quiz": ({"check", "exercises", "worksheet", "steps"}, {"numpy", "orjson", "yaml"}),
    "text": (set(), {"numpy", "pydantic", "sentencepiece", "sentencex"}),
    "data": ({"text"}, {"numpy", "pydantic"}),
    "model": ({"steps"}, {"torch", "numpy", "pydantic"}),
    # clearhead itself: the version that is written beside the weights
    "formats": (
        {"clearhead", "model", "text", "steps"},
        {"numpy", "torch", "safetensors", "pydantic", "ctranslate2", "onnx", "google"},  # google.protobuf, of onnx
    ),
    "training": (
        {"clearhead", "formats", "model", "data", "decoding", "evaluation", "text", "steps"},
        {
            "numpy",
            "torch",
            "safetensors",
            "pydantic",
            "yaml",
            "rich",
            "triton",
        },  # triton: ADR 7, and only if it is installed
    ),
    "decoding": (
        {"formats", "model", "text", "steps"},
        {"torch", "numpy", "pydantic", "ctranslate2", "ray"},
    ),
    "export": (
        {"clearhead", "formats", "decoding", "evaluation", "data", "model", "text"},
        {"torch", "numpy", "onnxruntime", "pydantic"},
    ),
    "explain": (
        {
            *("training", "decoding", "formats", "model", "evaluation", "data", "text", "check", "worksheet", "steps"),
        },
        {"torch", "numpy", "pydantic", "matplotlib"},
    ),
    "evaluation": ({"text"}, {"sacrebleu", "numpy"}),
    "studies": (
        {
            *("training", "decoding", "formats", "model", "evaluation", "data", "text", "worksheet", "steps"),
            "explain",  # rollout
        },
        {"torch", "numpy", "matplotlib"},
    ),
    "documents": ({"text"}, {"lxml", "markdown_it"}),
    "serve": (
        {
            *("clearhead", "steps", "worksheet", "check", "text", "data", "model", "formats", "decoding", "evaluation"),
            *("training", "explain", "documents", "quiz", "exercises"),
        },
        {"fastapi", "starlette", "uvicorn", "prometheus_client", "lingua", "orjson", "pydantic", "markdown_it"},
    ),
    "cli": (EVERYTHING, {"typer", "rich"}),
    "models": (set(), set()),  # data: the built-in models
    # the floor itself
    "files": ({"errors"}, {"orjson", "yaml"}),
    "settings": ({"errors", "retired"}, {"pydantic", "pydantic_core"}),
    "retired": (set(), set()),
    "plots": ({"files"}, {"matplotlib"}),
    "errors": (set(), set()),
}

# The reader writes the lines that the judge in `check` marks, and takes from it only these modules: what a working is,
# its limits, and the words for lines. They move below the reader when the judge is rewritten for the Sheet.
READER_OF_CHECK = {
    f"clearhead.check.{module}" for module in ("working", "limits", "line_words", "names", "grid", "graph")
}


def rooms_under(room: str) -> set[str] | str:
    """Return the rooms that a room may import."""
    rooms, _ = ARROWS[room]
    return rooms if isinstance(rooms, str) or room in FLOOR else rooms | FLOOR


def imports_of(path: Path) -> set[str]:
    """Return the dotted names that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


def files_of(room: str) -> list[Path]:
    folder = HOME / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [HOME / f"{room}.py"]


def test_every_room_is_in_the_table() -> None:
    rooms = {path.name for path in HOME.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.stem for path in HOME.glob("*.py")} - {"__init__", "__main__"}
    assert rooms | files == set(ARROWS)


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_only_along_its_arrows(room: str) -> None:
    rooms, packages = rooms_under(room), ARROWS[room][1]
    for path in files_of(room):
        for name in imports_of(path):
            top, _, rest = name.partition(".")
            if top == "clearhead":
                other = rest.partition(".")[0] or "clearhead"
                is_allowed = rooms == EVERYTHING or other in rooms or other == room
                assert is_allowed, f"{path.relative_to(HOME)} imports {name}: {room} may import {sorted(rooms)}"
            elif top not in sys.stdlib_module_names:
                assert top in packages, f"{path.relative_to(HOME)} imports {name}: {room} may import {sorted(packages)}"


def test_the_reader_and_the_judge_meet_in_few_modules() -> None:
    """`exercises` knows the judge by the modules of READER_OF_CHECK, its sheets do not know it; the judge knows only the reader."""
    for path in files_of("exercises"):
        names = {name for name in imports_of(path) if f"{name}.".startswith("clearhead.check.")}
        is_reader = path.is_relative_to(HOME / "exercises" / "check" / "read")
        assert names <= (READER_OF_CHECK if is_reader else set()), path
    for path in files_of("check"):
        names = {name for name in imports_of(path) if name.startswith("clearhead.exercises")}
        assert all(name.startswith("clearhead.exercises.check.read.") for name in names), path


def test_the_command_line_loads_nothing_heavy_before_its_verb() -> None:
    heavy = {"numpy", "pydantic", "yaml", "orjson", "matplotlib", "torch"}
    for path in files_of("cli"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top_level = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in top_level:
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else {node.module or ""}
            assert not {name.partition(".")[0] for name in names} & heavy, path
            assert not any(
                name.startswith(
                    (
                        *("clearhead.worksheet", "clearhead.check", "clearhead.exercises"),
                        *("clearhead.model", "clearhead.formats", "clearhead.training", "clearhead.settings"),
                        *("clearhead.text", "clearhead.data", "clearhead.decoding", "clearhead.evaluation"),
                        *("clearhead.studies", "clearhead.documents"),
                    )
                )
                for name in names
            ), path


def test_matplotlib_is_imported_only_where_something_is_drawn() -> None:
    for path in (*files_of("plots"), *files_of("studies")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else {node.module or ""}
                assert not any(name.startswith("matplotlib") for name in names), path
