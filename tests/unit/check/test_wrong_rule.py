"""The place of a misconception: the student's inputs there, and the records above."""

import numpy as np

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.wrong_rule import Site
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.test_rules import ATTENTION


def site_of(step: str) -> Site:
    graph = Graph(solve(parse_problem(ATTENTION), Rounding()))
    values = [record.value for record in graph.records]
    index = next(i for i, record in enumerate(graph.records) if record.step.name == step)
    return Site(graph, index, fetch_from(values, graph.givens))


def test_the_inputs_are_those_that_are_fetched():
    site = site_of("mix")
    changed = [record.value + 1.0 for record in site.graph.records]
    student = Site(site.graph, site.index, fetch_from(changed, site.graph.givens))
    assert np.array_equal(student.inputs["v"], site.inputs["v"] + 1.0)


def test_above_is_the_record_that_computed_an_input():
    softmax = site_of("mix").above("weights")
    assert softmax is not None
    assert softmax.step == "softmax"
    assert softmax.symbol == "A"


def test_what_the_question_gives_has_no_record_above_but_a_symbol():
    query = site_of("project")
    assert query.above("w") is None
    assert query.given_name("w") == "W_Q"
    assert site_of("mix").given_name("weights") == ""
