"""Generate the diagram of the packages and the file tree in CONTRIBUTING.md from the source code.

`python docs/make_house.py --figures` prints statistics of the code instead: functions, parameters, names and files.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "clearhead"
# Participles and pronouns that do not say what a variable contains.
VAGUE_NAMES = frozenset(
    {
        *("made", "found", "told", "given", "each", "several", "whole", "begun", "asked"),
        *("left", "kept", "known", "said", "written", "read", "taken", "seen"),
    }
)
FLOOR = ("files", "settings", "errors")  # every package can import these


@dataclass(frozen=True)
class SourceFile:
    """A parsed Python file of clearhead."""

    path: Path
    tree: ast.Module

    @property
    def room(self) -> str:
        """The top-level package that the file is in, or the name of a top-level module."""
        return room_of(self.path)


def room_of(path: Path) -> str:
    """Return the top-level package or module that a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def source_files(source: Path = SOURCE) -> list[SourceFile]:
    """Return every Python file of clearhead."""
    return [SourceFile(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(source.rglob("*.py"))]


def bound_names(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every node that binds a variable: assignments, loops, comprehensions, parameters, `with`, `except`."""
    for node in ast.walk(tree):
        is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        is_caught = isinstance(node, ast.ExceptHandler) and node.name
        if is_stored or is_caught or isinstance(node, ast.arg):
            yield node


def name_of(node: ast.AST) -> str:
    """Return the name that a node binds."""
    if isinstance(node, ast.Name):
        return node.id
    return node.arg if isinstance(node, ast.arg) else str(getattr(node, "name", ""))


def public_classes(files: list[SourceFile]) -> dict[str, list[str]]:
    """Return the names of top-level classes without a leading underscore, each with the files that define it."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(file.path.relative_to(SOURCE)))
    return places


def repeated_classes(files: list[SourceFile]) -> dict[str, list[str]]:
    """Return the public class names that several files define."""
    return {name: places for name, places in sorted(public_classes(files).items()) if len(places) > 1}


def num_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of parameters of a function, without self and cls."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def imported_rooms(file: SourceFile) -> set[str]:
    """Return the other packages that a file imports, at any level of nesting."""
    rooms = set()
    for node in ast.walk(file.tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "clearhead" and len(parts) > 1:
                rooms.add(parts[1])
    return rooms - {file.room}


def arrows(files: list[SourceFile]) -> dict[str, set[str]]:
    """Return the packages that each package imports; `__init__` and `__main__` of clearhead are not counted."""
    graph: dict[str, set[str]] = defaultdict(set)
    for file in files:
        if file.room not in ("__init__", "__main__"):
            graph[file.room] |= imported_rooms(file)
    return dict(graph)


def figures(files: list[SourceFile]) -> str:
    """Return statistics of the code, one per line."""
    functions = [
        node
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]
    parameters = [num_parameters(node) for node in functions]
    names = [name_of(node) for file in files for node in bound_names(file.tree)]
    vague = Counter(name for name in names if name in VAGUE_NAMES)
    rooms = Counter(
        file.room for file in files if file.path.name != "__init__.py" and file.room not in ("__init__", "__main__")
    )
    repeated = repeated_classes(files)
    lines = [
        f"files: {len(files)}",
        f"functions: {len(functions)}, median {median(lengths):g} lines, longest {max(lengths)}, "
        f"over 60 lines: {sum(length > 60 for length in lengths)}",
        f"parameters: median {median(parameters):g}, most {max(parameters)}, "
        f"functions with more than 6: {sum(number > 6 for number in parameters)}",
        f"public class names in several files: {len(repeated)} ({', '.join(repeated) or 'none'})",
        f"bound variables: {len(names):,}, vague: {vague.total():,} = {vague.total() / len(names):.2%}",
        f"  {', '.join(f'{name} {count}' for name, count in vague.most_common())}",
        "files by package: " + ", ".join(f"{room} {count}" for room, count in rooms.most_common()),
    ]
    return "\n".join(lines)


def depths(graph: dict[str, set[str]]) -> dict[str, int]:
    """Return the level of each package: 0 if it imports no other, else one above the highest level that it imports."""

    def depth(room: str, above: tuple[str, ...] = ()) -> int:
        if room in above:
            raise SystemExit(f"packages import each other: {' -> '.join((*above, room))}")
        return 1 + max((depth(other, (*above, room)) for other in graph.get(room, ())), default=-1)

    return {room: depth(room) for room in graph}


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without arrows that follow from a longer path."""

    def reachable(room: str) -> set[str]:
        return {far for near in graph.get(room, ()) for far in ({near} | reachable(near))}

    return {room: others - {far for near in others for far in reachable(near)} for room, others in graph.items()}


def drawing(files: list[SourceFile]) -> str:
    """Return the packages as a Mermaid diagram, the highest level first; arrows point to the imported package."""
    graph = {room: others - set(FLOOR) for room, others in arrows(files).items() if room not in FLOOR}
    floors = depths(graph)
    lines = ["```mermaid", "flowchart TD"]
    for room in sorted(graph, key=lambda name: (-floors[name], name)):
        lines += [f"  {room} --> {other}" for other in sorted(reduced(graph)[room])] or [f"  {room}"]
    return "\n".join([*lines, "```"])


def summary(path: Path) -> str:
    """Return the first sentence of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.partition(". ")[0].removesuffix(".")


def tree(root: Path = ROOT) -> str:
    """Return the list of all files of clearhead and all benchmarks, each with its first sentence."""
    lines = ["```"]
    for top, pattern in (("src/clearhead", "**/*.py"), ("benchmarks", "*.py")):
        lines.append(f"{top}/")
        for path in sorted((root / top).glob(pattern), key=lambda path: (path.parent.parts, path.name)):
            name = path.relative_to(root / top)
            if path.stat().st_size and (path.name != "__init__.py" or len(name.parts) < 3):
                lines.append(f"  {name!s:<34} {summary(path)}")
    return "\n".join([*lines, "```"])


def contributing(text: str) -> str:
    """Return the text of CONTRIBUTING.md with a new diagram and a new file tree."""
    for title, content in (("Packages and their imports", drawing(source_files())), ("The file tree", tree())):
        before, heading, after = text.partition(f"## {title}\n")
        opening, _, rest = after.partition("```")
        text = before + heading + opening + content + rest.partition("```")[2]
    return text


def main() -> None:
    """Write CONTRIBUTING.md, or print the statistics."""
    if "--figures" in sys.argv:
        print(figures(source_files()))
        return
    page = ROOT / "CONTRIBUTING.md"
    page.write_text(contributing(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
