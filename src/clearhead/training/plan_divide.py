"""Divide the text of a planned run: read it, hold out validation and test pairs, and write the three parts to files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from clearhead.data.hold_out import Split, TextPair, hold_out
from clearhead.errors import DataError
from clearhead.training.config import RunConfig
from clearhead.training.plan_input import read_pairs
from clearhead.training.plan_rule import usable_pairs
from clearhead.training.plan_text import text_warnings
from clearhead.training.run import TEXTS, RunFolder

_PARTS = ("train", "valid", "test")
_ENDINGS = ("source", "target")


@dataclass(frozen=True)
class DividedText:
    """The pairs of a text and their parts. `num_read` is the number of pairs before a sample of them was taken."""

    pairs: Sequence[TextPair]
    split: Split
    num_read: int
    warnings: tuple[str, ...]

    @property
    def is_sample(self) -> bool:
        """Whether the text has more pairs than can be used in the time."""
        return len(self.pairs) < self.num_read

    @property
    def train(self) -> list[TextPair]:
        """The training pairs."""
        return [self.pairs[index] for index in self.split.train]

    @property
    def characters_per_sentence(self) -> float:
        """The mean length of a sentence, on both sides."""
        return _num_characters(self.pairs) / (2 * len(self.pairs))

    def __str__(self) -> str:
        """Describe how many pairs each part has."""
        sample = f", of which {len(self.pairs):,} are used" if self.is_sample else ""
        return (
            f"{self.num_read:,} pairs{sample}: {len(self.split.train):,} for training, {len(self.split.valid):,} for "
            f"validation, {len(self.split.test):,} for the test."
        )

    def files(self, folder: RunFolder) -> dict[str, dict[str, str]]:
        """Return the source and target file of each part."""
        place = (folder.path / TEXTS).as_posix()
        return {name: {ending: f"{place}/{name}.{ending}" for ending in _ENDINGS} for name in _PARTS}

    def write(self, folder: RunFolder) -> None:
        """Write the parts to files."""
        for name in _PARTS:
            indices: Sequence[int] = getattr(self.split, name)
            for side, ending in enumerate(_ENDINGS):
                text = "".join(f"{self.pairs[index][side]}\n" for index in indices)
                folder.write(f"{TEXTS}/{name}.{ending}", text.encode())


def divide_text(config: RunConfig, seconds: float, device: str, *, is_strict: bool = False) -> DividedText:
    """Read the training text of a config, as much of it as can be used in the time, and hold out two parts.

    With `is_strict`, a text that certainly gives no translator is a DataError.
    """
    pairs = read_pairs(config.data.train[0], config.data)
    text_problems, num_read = list(text_warnings(pairs)), len(pairs)
    for problem in text_problems:
        if is_strict and problem.is_certain:
            raise DataError(f"{problem.sentence} To train on this text nevertheless, force it.", options=("force",))
    warnings = tuple(problem.sentence for problem in text_problems)
    limit = usable_pairs(num_read, _num_characters(pairs), seconds, device)
    if limit < num_read:
        indices = sorted(Random(config.training.seed).sample(range(num_read), limit))
        pairs = [pairs[index] for index in indices]
    return DividedText(pairs, hold_out(pairs, config.training.seed), num_read, warnings)


def corpora_of(files: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """Return the settings of `data` for the files of a divided text."""
    return {name: [dict(part)] if name == "train" else dict(part) for name, part in files.items()}


def _num_characters(pairs: Sequence[TextPair]) -> int:
    return sum(len(source) + len(target) for source, target in pairs)
