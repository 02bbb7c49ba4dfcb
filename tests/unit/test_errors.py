"""Errors keep what the reader can change, and close matches are found once."""

import pickle

import pytest

from clearhead.errors import (
    CheckpointError,
    ClearheadError,
    ConfigError,
    DataError,
    ProblemError,
    RunError,
    TraceError,
    closest_match,
    did_you_mean,
)

KINDS = (ClearheadError, CheckpointError, ConfigError, DataError, ProblemError, RunError, TraceError)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_keeps_the_parameters_that_can_be_changed(kind: type[ClearheadError]) -> None:
    error = kind("Choose another folder.", options=["run", "resume"])
    assert (str(error), error.options) == ("Choose another folder.", ("run", "resume"))
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.options) == ("Choose another folder.", ("run", "resume"))
    assert kind("Choose another folder.").options == ()
    assert kind("Resume it.", options={"run": "runs/my", "resume": ""}).options == {"run": "runs/my", "resume": ""}


@pytest.mark.parametrize("kind", [ConfigError, ProblemError])
def test_a_located_error_keeps_them_too(kind: type[ConfigError]) -> None:
    error = kind(["One.", "Two."], options=("run",)).located("a.yaml")
    assert (error.mistakes, error.options) == (("a.yaml: One.", "a.yaml: Two."), ("run",))


def test_the_closest_match_is_a_name() -> None:
    assert closest_match("Sofmax", ["scale", "softmax"]) == "softmax"
    assert closest_match("sofmax", ["SoftMax"]) == "SoftMax"
    assert closest_match("zebra", ["softmax"]) is None
    assert did_you_mean("Sofmax", ["scale", "it's softmax", "softmax"]) == " Did you mean 'softmax'?"
