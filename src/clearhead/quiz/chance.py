"""Random integers that are the same on every platform and in every version of Python: SHA-256 in counter mode.

Only integers are drawn, and no floating-point number decides anything here.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
_BITS = 32


class Chance:
    """A stream of random integers that depends only on a text."""

    def __init__(self, key: str) -> None:
        self._key = key.encode("utf-8")
        self._counter = 0
        self._words: list[int] = []

    def _word(self) -> int:
        if not self._words:
            block = hashlib.sha256(self._key + b"|" + str(self._counter).encode("ascii")).digest()
            self._counter += 1
            self._words = [int.from_bytes(block[start : start + 4], "big") for start in range(0, len(block), 4)]
        return self._words.pop(0)

    def below(self, count: int) -> int:
        """Draw an integer from 0 to count − 1, all equally likely."""
        limit = 2**_BITS - 2**_BITS % count
        while (word := self._word()) >= limit:
            pass
        return word % count

    def between(self, least: int, most: int) -> int:
        """Draw an integer from `least` to `most`, both included."""
        return least + self.below(most - least + 1)

    def choose(self, items: Sequence[Item]) -> Item:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Draw `count` different items, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]
