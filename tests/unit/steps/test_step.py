"""A Step is read in both layouts, and writes only what was given."""

from clearhead.steps import Input, Step
from clearhead.steps.step import parse_inputs
from clearhead.steps.vocabulary import NORMALISE, PROJECT, SCORE


def test_optional_parts_fall_away_without_their_input() -> None:
    assert PROJECT.equation_in("rows", {"x": "X", "w": "W_Q"}) == "X W_Q"
    assert PROJECT.equation_in("rows", {"x": "X", "w": "W_Q", "b": "b_Q"}) == "X W_Q + b_Q"


def test_columns_have_their_own_notation() -> None:
    assert PROJECT.equation_in("columns", {"x": "X", "w": "W_Q"}) == "W_Q X"
    assert SCORE.equation_in("columns", {"q": "Q", "k": "K"}) == "Kᵀ Q"
    assert (SCORE.symbol_in("rows"), SCORE.symbol_in("columns")) == ("S", "Z")


def test_epsilon_is_inside_or_outside_the_root() -> None:
    names = {"x": "X", "mean": "μ", "variance": "σ²"}
    assert NORMALISE.equation_in("rows", names) == "(X - μ) / √σ²"
    assert NORMALISE.equation_in("rows", names | {"epsilon": "ε"}) == "(X - μ) / √(σ² + ε)"
    assert NORMALISE.equation_in("rows", names | {"epsilon_outside": "ε"}) == "(X - μ) / (√σ² + ε)"
    full = names | {"epsilon": "ε", "gain": "γ", "shift": "β"}
    assert NORMALISE.equation_in("rows", full) == "γ × (X - μ) / √(σ² + ε) + β"


def test_an_equation_shows_a_missing_input_by_its_declared_name() -> None:
    assert NORMALISE.equation_in("rows", {"x": "X"}) == "(X - mean) / √variance"


def test_inputs_are_read_from_their_declaration() -> None:
    assert parse_inputs("x:TD b?:E over") == (Input("x", "TD"), Input("b", "E", True), Input("over"))
    step = Step("s", "S", "{x}", parse_inputs("x:TD b?:E"), "TD", "A sentence.")
    assert step.required == {"x"}
    assert step.input("b").is_optional
