"""The one table of tolerances, by dtype."""

import numpy as np
import numpy.typing as npt

ABSOLUTE = {"float64": 1e-12}
RELATIVE = {"float64": 1e-12}


def assert_close(actual: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Fail, showing the largest difference, where two arrays are not the same to tolerance."""
    a, b = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert a.shape == b.shape, f"{a.shape} is not {b.shape}"
    np.testing.assert_allclose(a, b, rtol=RELATIVE["float64"], atol=ABSOLUTE["float64"])
