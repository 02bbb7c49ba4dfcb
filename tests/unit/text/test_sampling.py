"""Tokenisations drawn at random: by their probability or with dropped merges; they always spell the same text."""

from collections import Counter
from math import exp
from random import Random
from typing import Any

import pytest

from clearhead.text.normalise import SPACE_MARK
from clearhead.text.sampling import BpeDropoutSampler, UnigramSampler


class Pieces:
    """Replaces SentencePiece: a few pieces with scores, and every way to split a word into them."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores, self.names = scores, ["<unk>", *scores]

    def nbest_encode(self, word: str, nbest_size: int, out_type: type) -> list[list[str]]:
        cuts = sorted(self.cuts(SPACE_MARK + word), key=lambda cut: -sum(self.scores[piece] for piece in cut))
        return cuts[:nbest_size]

    def cuts(self, text: str) -> list[list[str]]:
        if not text:
            return [[]]
        starts = [piece for piece in self.scores if text.startswith(piece)]
        return [[piece, *rest] for piece in starts for rest in self.cuts(text[len(piece) :])]

    def piece_to_id(self, piece: str) -> int:
        return self.names.index(piece) if piece in self.names else 0

    def get_score(self, number: int) -> float:
        return self.scores[self.names[number]]

    def unk_id(self) -> int:
        return 0

    def is_control(self, number: int) -> bool:
        return False


UNIGRAM: Any = Pieces({f"{SPACE_MARK}ab": -1.0, f"{SPACE_MARK}a": -2.0, "b": -1.5, SPACE_MARK: -3.0, "a": -2.0})
# the later a merge is learned, the lower its score
MERGES: Any = Pieces({f"{SPACE_MARK}a": -1.0, "bc": -2.0, f"{SPACE_MARK}abc": -3.0})


def shares_of(sharpness: float) -> dict[tuple[int, ...], float]:
    sampler, random = UnigramSampler(UNIGRAM, UNIGRAM.piece_to_id, sharpness), Random(5)
    counts = Counter(tuple(sampler.sample_ids("ab", random)) for _ in range(20_000))
    return {cut: count / 20_000 for cut, count in counts.items()}


@pytest.mark.parametrize("sharpness", [1.0, 0.3])
def test_a_tokenisation_is_drawn_by_its_probability_to_the_power_of_the_sharpness(sharpness: float) -> None:
    scores = {(1,): -1.0, (2, 3): -3.5, (4, 5, 3): -6.5}  # ▁ab, ▁a b, ▁ a b
    total = sum(exp(sharpness * score) for score in scores.values())
    expected = {cut: exp(sharpness * score) / total for cut, score in scores.items()}
    assert shares_of(sharpness) == pytest.approx(expected, abs=0.015)


def test_a_seed_gives_the_same_tokenisation_after_any_other_text() -> None:
    fresh, used = (UnigramSampler(UNIGRAM, UNIGRAM.piece_to_id, 0.3) for _ in range(2))
    used.sample_ids("a b ab", Random(1))
    text = "ab a ab b ab"
    assert fresh.sample_ids(text, Random(7)) == used.sample_ids(text, Random(7))


def test_no_dropped_merge_gives_plain_bpe_and_all_dropped_give_letters() -> None:
    cuts = {dropped: BpeDropoutSampler(MERGES, lambda symbol: [symbol], dropped) for dropped in (0.0, 1.0)}  # type: ignore[list-item, misc]
    assert cuts[0.0].sample_ids("abc", Random(1)) == [f"{SPACE_MARK}abc"]
    assert cuts[1.0].sample_ids("abc", Random(1)) == [SPACE_MARK, "a", "b", "c"]


def test_merges_dropped_at_random_spell_the_same_text() -> None:
    sampler = BpeDropoutSampler(MERGES, lambda symbol: [symbol], 0.4)  # type: ignore[list-item]
    random = Random(3)
    cuts = {tuple(sampler.sample_ids("abc bc", random)) for _ in range(300)}
    assert len(cuts) > 5
    assert {"".join(map(str, cut)) for cut in cuts} == {f"{SPACE_MARK}abc{SPACE_MARK}bc"}
