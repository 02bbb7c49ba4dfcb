"""The sentences of every error of clearhead, collected from its source with ast."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = "ClearheadError"
WORDS = re.compile(r"\w \w")
SENTENCE = re.compile(r"(?:[\w'`{}.-]+,? ){4}")  # at least five words


def sentences_of(source: Path) -> dict[str, list[str]]:
    """Return all sentences in the source, each with the error classes whose calls, raised or returned, contain it.

    An error is often put together from sentences that a function returns or a list collects: these have no class, like
    those of reports. A value in an f-string is written {}, so that renaming a variable changes no sentence.
    """
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))]
    classes = _error_classes(trees) | {"ValueError", "TypeError"}
    texts = (text for tree in trees for text in _strings(tree))
    sentences: dict[str, set[str]] = {text: set() for text in texts if SENTENCE.search(text)}
    for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = _name(call.func)
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)] if name in classes else []
        for text in (text for argument in arguments for text in _strings(argument) if WORDS.search(text)):
            sentences.setdefault(text, set()).add(name)
    return {f"sentence: {text}": sorted(names) for text, names in sorted(sentences.items())}


def _error_classes(trees: list[ast.Module]) -> set[str]:
    bases = {
        node.name: {_name(base) for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    classes, size = {ROOT}, 0
    while len(classes) > size:
        size = len(classes)
        classes |= {name for name, parents in bases.items() if parents & classes}
    return classes


def _name(node: ast.expr) -> str:
    """Return the last name of a dotted one, or that before .from_many and the like."""
    if isinstance(node, ast.Attribute):
        own = _name(node.value)
        return own if own[:1].isupper() and node.attr[:1].islower() else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.AST) -> Iterator[str]:
    """Yield the strings in a tree, without docstrings; a string inside an f-string is part of a value."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                yield from _strings(child)
