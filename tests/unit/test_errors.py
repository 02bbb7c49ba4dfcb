"""Errors keep what the reader can change, and close matches are found once."""

import pickle

import pytest

from clearhead import load_problem
from clearhead.errors import (
    CheckpointError,
    ClearheadError,
    ConfigError,
    DataError,
    Mistake,
    ProblemError,
    RunError,
    TraceError,
    closest_match,
    did_you_mean,
    is_out_of_memory,
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


def test_an_error_carries_the_paths_of_its_mistakes() -> None:
    error = ConfigError([Mistake(("training.rate",), "Too fast."), "No file."]).located("a.yaml")
    assert error.mistakes == ("a.yaml: Too fast.", "a.yaml: No file.")
    assert [mistake.path for mistake in error.details] == ["training.rate", ""]
    with pytest.raises(ProblemError) as problem:
        load_problem({"kind": "self-attention", "X": [[1, 0]], "W_Q": "two", "W_K": [[1], [2], [3]], "W_V": [[1], [2]]})
    assert [mistake.paths for mistake in problem.value.details] == [("W_Q",), ("X", "W_K")]


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 65536000 bytes."), True),
        (RuntimeError("mkl_malloc: failed to allocate memory"), True),
        (RuntimeError("could not create a primitive"), True),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (OSError(28, "No space left on device"), False),
        (ImportError("No module named 'torch'"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_a_lack_of_memory_is_recognised(error: Exception, is_so: bool) -> None:
    assert is_out_of_memory(error) is is_so
