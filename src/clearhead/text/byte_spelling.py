"""Spell some characters of the training text as bytes, so that a model learns the byte pieces of its vocabulary.

Without this, byte pieces would occur only in text with characters that the training text does not have, and their
embeddings would still be random there. In a share of the pairs, chosen by a seed,
- rare characters are spelled as bytes on both sides, or
- a random character that may not occur anywhere in the text is added to both sides, so that the model learns to copy.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from clearhead.text.tokeniser import Tokeniser, split_tag

# Noncharacters of Unicode, which no text contains: they replace the chosen characters until the text is tokenised.
_PLACEHOLDERS = [chr(0xFDD0 + number) for number in range(8)]
_ADDED_SHARE = 0.25  # of the chosen pairs: a random character is added
_MAX_RARE, _MAX_ADDED = 2, 3  # characters in a pair
# The scripts and symbols that an added character comes from; together they have every byte that UTF-8 uses often.
_RANGES = (
    (0x1F300, 0x1FAFF), (0x1F300, 0x1F64F), (0x2600, 0x27BF),  # emoji and symbols
    (0x21, 0x7E), (0xA1, 0x17F), (0x2010, 0x203A), (0x20A0, 0x20BF), (0x2190, 0x22FF),  # Latin, signs, mathematics
    (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0x985, 0x9B9),
    (0x3041, 0x3096), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3),
)  # fmt: skip


@dataclass(frozen=True)
class MarkedTexts:
    """The texts of both sides with placeholders, and for each text that has some the characters they replace."""

    sides: tuple[list[str], ...]
    characters: Mapping[int, str] = field(default_factory=dict)  # row -> one character for each placeholder


class ByteSpelling:
    """Chooses characters of pairs of texts, and spells them as bytes in the ids of the texts."""

    def __init__(self, tokenisers: Sequence[Tokeniser], share: float) -> None:
        self.tokenisers = tokenisers
        self.share = share if all(map(_can_spell, tokenisers)) else 0.0

    def mark(self, sides: Sequence[Sequence[str]], seed: int) -> MarkedTexts:
        """Choose pairs and their characters, and return the texts with placeholders instead of these characters.

        The result depends only on the texts and the seed.
        """
        marked, characters = tuple(list(side) for side in sides), dict[int, str]()
        random = Random(seed)
        rows = [row for row in range(len(sides[0])) if random.random() < self.share] if self.share else []
        counts = Counter("".join(side[row] for side in sides for row in rows))
        for row in rows:
            tags, texts = self._normalised([side[row] for side in sides])
            if any(mark in text for text in texts for mark in _PLACEHOLDERS) or not all(texts):
                continue
            is_added = random.random() < _ADDED_SHARE
            chosen = _draw_unseen(random) if is_added else _draw_rare("".join(texts), counts, random)
            spelled = "".join(_PLACEHOLDERS[: len(chosen)])
            is_first = is_added and random.random() < 0.5
            for side, tag, text in zip(marked, tags, texts, strict=True):
                if is_added:
                    side[row] = f"{tag}{spelled} {text}" if is_first else f"{tag}{text} {spelled}"
                else:
                    side[row] = tag + text.translate(str.maketrans(chosen, spelled))
            characters[row] = chosen
        return MarkedTexts(marked, characters)

    def restore(self, rows: list[list[int]], texts: MarkedTexts, side: int) -> None:
        """Replace the bytes of placeholders in the ids of one side by those of the characters, in place."""
        byte_ids = self.tokenisers[side].byte_ids
        for row, characters in texts.characters.items():
            for character, placeholder in zip(characters, _PLACEHOLDERS, strict=False):
                old = [byte_ids[byte] for byte in placeholder.encode()]
                rows[row] = _replaced(rows[row], old, [byte_ids[byte] for byte in character.encode()])

    def _normalised(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the language tag and the normalised text of each side of a pair."""
        tags, normalised = [], []
        for tokeniser, text in zip(self.tokenisers, texts, strict=True):
            rest = split_tag(text)[1] if tokeniser.tags else text
            tags.append(text[: len(text) - len(rest)])
            normalised.append(tokeniser.normalised(rest))
        return tags, normalised


def _can_spell(tokeniser: Tokeniser) -> bool:
    return tokeniser.has_bytes and not any(map(tokeniser.has_piece, _PLACEHOLDERS))


def _draw_rare(text: str, counts: Mapping[str, int], random: Random) -> str:
    """Return up to two characters of a text; one that is ten times as rare is chosen ten times as often."""
    characters = sorted(set(text) - {" "})
    weights = [1 / max(1, counts[character]) for character in characters]
    return "".join(dict.fromkeys(random.choices(characters, weights, k=_MAX_RARE)))


def _draw_unseen(random: Random) -> str:
    """Return one to three random characters of one script."""
    low, high = random.choice(_RANGES)
    characters = (chr(random.randint(low, high)) for _ in range(random.randint(1, _MAX_ADDED)))
    return "".join(character if character.isprintable() else chr(low) for character in characters)


def _replaced(ids: list[int], old: list[int], new: list[int]) -> list[int]:
    """Return the ids with every occurrence of some ids in a row replaced by others."""
    result, start = [], 0
    while old[0] in ids[start:]:
        place = ids.index(old[0], start)
        is_match = ids[place : place + len(old)] == old
        result += [*ids[start:place], *new] if is_match else ids[start : place + 1]
        start = place + (len(old) if is_match else 1)
    return [*result, *ids[start:]]
