"""The array types of a worksheet."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]
