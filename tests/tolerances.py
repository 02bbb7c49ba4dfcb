"""The one table of tolerances, by dtype."""

import numpy as np
import numpy.typing as npt

ABSOLUTE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 5e-2}
RELATIVE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 5e-2}


def assert_close(actual: npt.ArrayLike, expected: npt.ArrayLike, dtype: str = "float64", label: str = "") -> None:
    """Fail, showing the largest difference, if two arrays differ by more than the tolerance of a dtype."""
    a, b = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert a.shape == b.shape, f"{label}: {a.shape} is not {b.shape}"
    np.testing.assert_allclose(a, b, rtol=RELATIVE[dtype], atol=ABSOLUTE[dtype], err_msg=label)


def assert_close_gradients(actual: npt.ArrayLike, expected: npt.ArrayLike, largest: float, dtype: str) -> None:
    """Fail where two gradients differ by more than the tolerance times the largest gradient of the model.

    A gradient that should be 0 is a sum that cancels: its error is that of the terms, not of the sum.
    """
    a, b = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert a.shape == b.shape, f"{a.shape} is not {b.shape}"
    assert largest > 0, "every gradient is 0: nothing is compared"
    np.testing.assert_allclose(a / largest, b / largest, rtol=0, atol=RELATIVE[dtype])
