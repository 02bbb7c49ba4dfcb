"""Follow-through across parts: a slip in one part is carried forward into the parts that use its lines."""

from typing import Any

from clearhead import solve
from clearhead.check.graph import Graph, fetch_from
from clearhead.check.part_misconceptions import copy_rules
from clearhead.check.verdict import Verdict
from clearhead.check.wrong_rule import Site
from tests.unit.check.desk import marked, verdicts

LINKED: dict[str, Any] = {
    "parts": [
        {"kind": "dense-layer", "X": [[1, 2], [3, 0]], "W": [[1, 2], [0, 1]]},
        {"kind": "dense-layer", "X": "part.0.answer", "W": [[1], [-1]], "b": [5]},
        {"kind": "dense-layer", "X": "part.1.answer[2]", "W": [[2, 0.5]]},
    ]
}
# X W = [[1, 4], [3, 6]]; [[1 - 4 + 5], [3 - 6 + 5]] = [[2], [2]]; [4, 1]


def test_right_parts_are_right() -> None:
    report = marked(LINKED, {"part.0: Y": "1 4 / 3 6", "part.1: Y": "2 / 2", "part.2: Y": "4 1"})
    assert verdicts(report) == ["Y cc cc", "Y c c", "Y cc"]
    assert report.exit_code == 0


def test_a_slip_in_a_part_is_carried_into_the_parts_that_use_it() -> None:
    # with 7 for 6 the second part is 3 - 7 + 5 = 1, and the third 2, 0.5
    report = marked(LINKED, {"part.0: Y": "1 4 / 3 7", "part.1: Y": "2 / 1", "part.2: Y": "2 0.5"})
    assert [(finding.line, finding.cells) for finding in report.findings] == [(0, ((1, 1),))]
    assert verdicts(report)[1:] == ["Y c f", "Y ff"]
    assert [line.marks.accuracy for line in report.lines[1:]] == [1.0, 1.0]


def test_a_number_copied_wrongly_into_the_next_part_is_a_copying_error() -> None:
    report = marked(LINKED, {"part.0: Y": "1 4 / 3 6", "part.1: X": "1 4 / 3 9", "part.1: Y": "2 / -1"})
    assert [(finding.verdict, finding.line) for finding in report.findings] == [(Verdict.TRANSCRIPTION, 1)]
    assert verdicts(report)[1:] == ["X cc cT", "Y c f"]


def test_a_slip_in_a_later_part_is_its_own() -> None:
    report = marked(LINKED, {"part.0: Y": "1 4 / 3 6", "part.1: Y": "2 / 8", "part.2: Y": "16 4"})
    assert [(finding.line, finding.cells) for finding in report.findings] == [(1, ((1, 0),))]
    assert verdicts(report)[2] == "Y ff"


def test_another_line_or_token_of_the_earlier_part_is_named() -> None:
    hidden = {"kind": "dense-layer", "X": [[1, -2], [-3, 4]], "W": [[2, 1], [0, 3]], "activation": "relu"}
    # Z = [[2, -5], [-6, 9]], relu [[2, 0], [0, 9]]; the second part uses the first one's Z: [[-3], [3]]
    linked = {"parts": [hidden, {"kind": "dense-layer", "X": "part.0.answer", "W": [[1], [1]]}]}
    report = marked(linked, {"part.0: Z": "2 -5 / -6 9", "part.0: Y": "2 0 / 0 9", "part.1: Y": "-3 / 3"})
    assert [finding.name for finding in report.findings] == ["Z used instead of the line of the earlier part"]
    row = {"parts": [hidden, {"kind": "dense-layer", "X": "part.0.answer[2]", "W": [[1, 4], [1, 2]]}]}
    # the first token [2, 0] gives 2, 8, the second [0, 9] gives 9, 18
    report = marked(row, {"part.0: Y": "2 0 / 0 9", "part.1: Y": "2 8"})
    assert [finding.name for finding in report.findings] == ["another token of the earlier part"]


def test_the_rules_of_a_copied_line_are_other_lines_of_its_part() -> None:
    graph = Graph(solve(LINKED))
    fetch = fetch_from([record.value for record in graph.records], graph.givens)
    places = [index for index, record in enumerate(graph.records) if record.step.name == "copy"]
    names = [[variant.name for variant in copy_rules(Site(graph, index, fetch))] for index in places]
    # part.0 has one line; of part.1 the line X is another shape, and its answer another token
    assert names == [[], ["another token of the earlier part"]]
