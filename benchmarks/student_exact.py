"""Problems whose scores are exact with one decimal: whole numbers everywhere, except on the side of the queries."""

import random
from typing import Any

Data = dict[str, Any]
QUERY_SIDE = frozenset({"Q", "W_Q", "s"})


def with_exact_scores(data: Data, chooser: random.Random) -> Data:
    """Return a problem of whole numbers with one decimal in the queries; half of them without a scale."""

    def fine(value: Any) -> Any:
        if isinstance(value, list):
            return [fine(part) for part in value]
        return round(value + chooser.randint(-9, 9) / 10, 1)

    def changed(value: Any, key: str) -> Any:
        if key in QUERY_SIDE and isinstance(value, list):
            return fine(value)
        if isinstance(value, dict):
            return {name: changed(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [changed(part, "") if isinstance(part, dict) else part for part in value]
        return value

    exact: Data = changed(data, "")
    if "scale" in exact and chooser.random() < 0.5:
        exact["scale"] = "none"
    return exact
