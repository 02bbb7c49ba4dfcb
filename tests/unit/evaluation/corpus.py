"""Synthetic systems: a reference of invented words, with a share of them replaced."""

from random import Random

_WORDS = [f"w{number}" for number in range(53)]


def references(number: int = 211) -> list[str]:
    """Return sentences of 3 to 19 words."""
    random = Random(3)
    return [" ".join(random.choices(_WORDS, k=random.randint(3, 19))) for _ in range(number)]


def spoiled(lines: list[str], share: float, seed: int) -> list[str]:
    """Return the sentences with about that share of their words replaced."""
    random = Random(seed)
    return [
        " ".join(random.choice(_WORDS) if random.random() < share else word for word in line.split()) for line in lines
    ]
