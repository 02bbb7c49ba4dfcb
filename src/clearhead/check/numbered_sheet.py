"""Mark a working of a practice sheet: what the sheet prints counts as written, and only the other lines earn marks."""

from dataclasses import replace

from clearhead.check.graph import Graph
from clearhead.check.line_words import symbol_key
from clearhead.check.marks import LineScheme, Scheme
from clearhead.check.scheme_lines import scheme_nodes
from clearhead.check.working import Working, WrittenLine

PRINTED = "printed on the sheet"  # the place of a line that the student did not write


def with_printed_lines(working: Working) -> Working:
    """Add the lines that the sheet prints, because the student works from them, and drop what only repeats them."""
    if working.sheet is None:
        return working
    printed = tuple(replace(line, place=PRINTED) for line in working.sheet.printed)
    own = [_without_repeats(line, printed) for line in working.lines]
    return replace(working, lines=(*printed, *(line for line in own if any(map(any, line.cells)))))


def _without_repeats(own: WrittenLine, printed: tuple[WrittenLine, ...]) -> WrittenLine:
    """Return a line without the cells that have the printed number; another number there is a copying error."""
    for line in printed:
        is_same = symbol_key(own.name) == symbol_key(line.name) and own.where in ("", line.where)
        if is_same and [len(row) for row in own.cells] == [len(row) for row in line.cells]:
            cells = tuple(
                tuple("" if text and _plain(text) == _plain(shown) else text for text, shown in zip(*rows, strict=True))
                for rows in zip(own.cells, line.cells, strict=True)
            )
            return replace(own, cells=cells)
    return own


def _plain(text: str) -> str:
    return text.strip().replace("−", "-")


def scheme_of_sheet(scheme: Scheme, working: Working, graph: Graph) -> Scheme:
    """Return the scheme for a working: on a practice sheet, only the lines with cells to fill in earn marks.

    Variants can ask for different lines. A line that the teacher's scheme does not name has the default marks, except
    if the scheme names other lines of this sheet and says that only these count.
    """
    if working.sheet is None or not working.sheet.blank_lines:
        return scheme
    blank_lines = {_node(graph, name): name for name in working.sheet.blank_lines}
    lines: dict[str, LineScheme] = {}
    for name, worth in scheme.lines.items():
        node = _node(graph, name)
        if node is None or node in blank_lines:  # an unknown name is reported by the scheme itself
            lines[name] = worth
            blank_lines.pop(node, None)
    if not (scheme.only_these and lines):
        lines |= dict.fromkeys(blank_lines.values(), scheme.default)
    return scheme.model_copy(update={"lines": lines, "only_these": True})


def _node(graph: Graph, name: str) -> int | None:
    return next(iter(scheme_nodes(graph, name)), None)
