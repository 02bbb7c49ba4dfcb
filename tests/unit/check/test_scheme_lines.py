"""The lines that a scheme names: unknown names are reported once for a class, and a skipped line costs marks once."""

import pytest
import yaml

from clearhead.check import Scheme, check
from clearhead.check.classroom import mark_class
from clearhead.check.marks import LineScheme
from clearhead.check.scheme_lines import SchemeLineError, check_scheme
from tests.unit.check.desk import marked
from tests.unit.check.test_marks import ATTENTION, FAULTLESS

MASKED = {**ATTENTION, "W_Q": [[1, 3], [2, 2]], "W_V": [[1, 0], [0, 1]], "mask": "causal"}
MASKED_SCHEME = Scheme(only_these=True, lines={name: LineScheme(M=1, A=1) for name in ("S", "masked scores", "A", "Z")})


def scheme_of(*names: str) -> Scheme:
    return Scheme(lines={name: LineScheme() for name in names})


def test_an_unknown_line_is_reported_with_the_nearest_name_and_all_of_them_together():
    with pytest.raises(SchemeLineError) as wrong:
        check_scheme(scheme_of("Q", "weihgts", "self: scroes", "Ü"), ATTENTION)
    assert wrong.value.mistakes == (
        "lines: 'weihgts' is not a line of this exercise. Did you mean 'weights'? Its lines are Q, K, V, S, A, Z.",
        "lines: 'self: scroes' is not a line of this exercise. Did you mean 'scores'? Its lines are Q, K, V, S, A, Z.",
        "lines: 'Ü' is not a line of this exercise. Its lines are Q, K, V, S, A, Z.",
    )


def test_two_names_of_one_line_are_reported():
    """Its marks would count twice if it was not written."""
    with pytest.raises(SchemeLineError, match="'A' and 'weights' mean the same line, A. Remove one of them."):
        check_scheme(scheme_of("A", "weights"), ATTENTION)


def test_a_mistake_in_a_scheme_is_reported_once_for_a_class_and_not_for_every_student(tmp_path):
    for name in ("a", "b"):
        content = {"written": {"Q": [["1", "2"], ["3", "1"]]}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    scheme = scheme_of("weihgts")
    with pytest.raises(SchemeLineError, match="Did you mean 'weights'"):
        mark_class(tmp_path, scheme.model_copy(update={"problem": ATTENTION}))
    for name in ("a", "b"):  # every working brings the exercise itself
        content = {"problem": ATTENTION, "written": {"Q": [["1", "2"], ["3", "1"]]}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(SchemeLineError, match="Did you mean 'weights'"):
        mark_class(tmp_path, scheme)


def test_a_scheme_that_fits_one_of_two_exercises_is_no_mistake(tmp_path):
    for name, problem in (("a", ATTENTION), ("b", MASKED)):
        content = {"problem": problem, "written": {"S": [["1", "2"], ["3", "1"]]}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    plain, masked = mark_class(tmp_path, scheme_of("masked scores")).results
    assert "'masked scores' is not a line of this exercise" in plain.problem
    assert masked.reports


def test_the_scheme_is_at_fault_and_not_the_working(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump({"problem": ATTENTION, "written": FAULTLESS}), encoding="utf-8")
    with pytest.raises(SchemeLineError) as wrong:
        check(path, scheme=scheme_of("weihgts"))
    assert str(wrong.value).startswith("lines: 'weihgts'"), "the path of the working is not in the sentence"


def test_a_line_that_the_convention_of_a_working_does_not_have_is_not_required():
    """The exercise leaves the scale open; the lines of this working are not scaled, so it has no line S′."""
    problem = {key: value for key, value in ATTENTION.items() if key != "scale"}
    lines = {**FAULTLESS, "A": "0.269 0.731 / 0.881 0.119", "Z": "2.462 3.462 / 1.238 2.238"}
    report = marked(problem, lines, scheme_of("S′", "A"))
    assert any("no scaling" in note.sentence for note in report.notes)
    assert (report.earned, report.out_of) == (12, 12)


def marks_of(lines: dict[str, str], scheme: Scheme = MASKED_SCHEME) -> dict[str, tuple[float, float]]:
    report = marked(MASKED, lines, scheme)
    return {line.symbol: (line.marks.method, line.marks.accuracy) for line in report.lines}


def test_a_forgotten_mask_costs_marks_once():
    """S = [[1, 3], [2, 2]]; without the mask the first row of weights is 1/(1 + e²) = 0.12, 0.88."""
    lines = {"S": "1 3 / 2 2", "A": "0.12 0.88 / 0.50 0.50", "Z": "0.12 0.88 / 0.50 0.50"}
    report = marked(MASKED, lines, MASKED_SCHEME)
    assert [finding.name for finding in report.findings] == ["mask forgotten"]
    assert marks_of(lines) == {"S": (1, 1), "A": (1, 1), "Z": (1, 1), "S″": (0, 0)}
    weights = next(line.marks for line in report.lines if line.symbol == "A")
    assert weights.because == "the error costs marks only once, in the line that was not written"
    charged = MASKED_SCHEME.model_copy(update={"charge_repeats": True})
    assert marks_of(lines, charged)["A"] == (0, 0.5), "unless the teacher says so"
    default = Scheme()
    assert marks_of(lines, default) == {"S": (1, 1), "A": (0, 0.5), "Z": (1, 1)}, "nothing else costs its marks"


def test_a_slip_in_the_weights_does_not_cost_the_marks_of_the_mask_too():
    lines = {"S": "1 3 / 2 2", "A": "1 0 / 0.50 0.70", "Z": "1 0 / 0.50 0.70"}
    assert marks_of(lines) == {"S": (1, 1), "A": (1, 0.5), "Z": (1, 1), "S″": (1, 1)}


def test_wrong_weights_do_not_show_that_the_mask_was_applied():
    marks = marks_of({"S": "1 3 / 2 2", "A": "0.7 0.8 / 0.1 0.2", "Z": "0.7 0.8 / 0.1 0.2"})
    assert (marks["S″"], marks["A"]) == ((0, 0), (0, 0))
