"""Every pair is in one batch, once, in its own place; few shapes, little padding, and an order determined by a seed."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from clearhead.data.layout import (
    MAX_SHAPES,
    BucketedLayout,
    Counts,
    Layout,
    PackedLayout,
    Plan,
    Shape,
    best_bounds,
    padding_waste,
)

Kind = Callable[[Counts, Counts, int], Layout]
KINDS = pytest.mark.parametrize("kind", [PackedLayout, BucketedLayout])


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def realistic(number: int, seed: int = 0, longest: int = 128) -> tuple[Counts, Counts]:
    """Return realistic sentence lengths: log-normal, about 20 tokens, both sides similar but not equal."""
    draw = random(seed)
    source = np.clip(draw.lognormal(2.9, 0.6, number), 2, longest).astype(np.int64)
    target = np.clip(source * draw.normal(1.1, 0.15, number), 2, longest).astype(np.int64)
    return source, target


def odd(seed: int) -> tuple[Counts, Counts]:
    """Return independent lengths of both sides."""
    draw = random(seed)
    return draw.integers(1, 113, 331), draw.integers(1, 113, 331)


def check(layout: Layout, plans: list[Plan], source: Counts, target: Counts) -> None:
    """Check that every pair is in one plan, and that pairs in one row are side by side in the order of their numbers."""
    assert sorted(np.concatenate([plan.pairs for plan in plans]).tolist()) == list(range(len(source)))
    for plan in plans:
        assert plan.shape in layout.shapes
        assert len(plan.pairs) > 0
        assert ((plan.rows >= 0) & (plan.rows < plan.shape.rows)).all()
        for row in set(plan.rows.tolist()):
            here = np.flatnonzero(plan.rows == row)
            assert plan.sentences[here].tolist() == list(range(1, len(here) + 1))
            assert layout.is_packed or len(here) == 1
            for starts, lengths, width in (
                (plan.source_starts, source, plan.shape.source),
                (plan.target_starts, target, plan.shape.target),
            ):
                own = lengths[plan.pairs[here]]
                assert starts[here].tolist() == (np.cumsum(own) - own).tolist()
                assert own.sum() <= width


@KINDS
@pytest.mark.parametrize("batch_tokens", [16, 257, 4096])
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_has_one_place(kind: Kind, batch_tokens: int, seed: int) -> None:
    for source, target in (realistic(997, seed), odd(seed)):
        layout = kind(source, target, batch_tokens)
        check(layout, layout.plan(source, target, random(seed)), source, target)


@KINDS
def test_a_text_without_a_source_has_batches_of_targets_alone(kind: Kind) -> None:
    _, target = realistic(499)
    source = np.zeros_like(target)
    layout = kind(source, target, 512)
    assert {shape.source for shape in layout.shapes} == {0}
    check(layout, layout.plan(source, target, random()), source, target)


def test_labels_take_no_places_beside_the_source() -> None:
    source, _ = realistic(499)
    target = np.zeros_like(source)
    layout = BucketedLayout(source, target, 512)
    assert all(shape.rows * shape.source <= 512 for shape in layout.shapes)
    check(layout, layout.plan(source, target, random()), source, target)


@KINDS
def test_there_are_at_most_eight_shapes_for_any_lengths(kind: Kind) -> None:
    long_tail = np.concatenate((np.full(5000, 500), [3, 3]))
    other = np.concatenate(
        (np.full(5000, 3), [499, 2])
    )  # one target as long as the sources, which are 150 times longer
    for source, target in ((long_tail, other), (other, long_tail), realistic(5000, longest=1000), odd(1)):
        layout = kind(source, target, 4096)
        assert len(layout.shapes) <= MAX_SHAPES
        check(layout, layout.plan(source, target, random()), source, target)


def test_one_unusual_pair_does_not_cause_huge_rows() -> None:
    # 5,000 sources are 150 times as long as their targets; one target is as long as the sources.
    source, target = np.append(np.full(5000, 500), 3), np.append(np.full(5000, 3), 499)
    layout = PackedLayout(source, target, 4096)
    assert max(max(shape.source, shape.target) for shape in layout.shapes) <= 1024


@KINDS
def test_whatever_fits_a_shape_fits_every_wider_shape(kind: Kind) -> None:
    layout = kind(*odd(2), 512)
    for narrow, wide in zip(layout.shapes, layout.shapes[1:], strict=False):
        assert narrow.source <= wide.source
        assert narrow.target <= wide.target


def test_pairs_that_fit_no_wider_bucket_are_not_lost() -> None:
    # Each is the longest of its bucket on one side only: no shape with the lengths of one bucket fits another.
    source, target = np.array([90, 20, 10, 1, 2, 3, 4, 5, 6]), np.array([20, 80, 100, 1, 2, 3, 4, 5, 6])
    layout = BucketedLayout(source, target, 400)
    check(layout, layout.plan(source, target, random()), source, target)


@KINDS
def test_lengths_that_change_after_the_layout_was_built_still_fit(kind: Kind) -> None:
    # Sampled tokenisations lengthen some sentences: any pair up to the longest length must fit.
    source, target = odd(3)
    layout = kind(source, target, 512)
    swapped = target.copy(), source.copy()
    longest = source.max(), target.max()
    source, target = np.minimum(swapped[0], longest[0]), np.minimum(swapped[1], longest[1])
    check(layout, layout.plan(source, target, random()), source, target)


@pytest.mark.parametrize("seed", range(3))
def test_packed_rows_waste_less_than_a_twentieth(seed: int) -> None:
    source, target = realistic(20_011, seed)
    layout = PackedLayout(source, target, 4096)
    waste = padding_waste(layout.plan(source, target, random(seed)), source, target)
    assert 0 <= waste < 0.05, f"{100 * waste:.1f} % padding"


def test_large_batches_waste_less_than_a_twentieth_too() -> None:
    # Few pairs need the widest rows: the rest of their batches is filled with others.
    source, target = realistic(65_536)
    layout = PackedLayout(source, target, 25_000)
    assert len(layout.shapes) > 1
    plans = layout.plan(source, target, random())
    assert padding_waste(plans, source, target) < 0.05
    for shape in layout.shapes[1:]:
        assert all(len(set(plan.rows.tolist())) == shape.rows for plan in plans if plan.shape == shape)


def test_buckets_waste_less_than_one_batch_for_all() -> None:
    source, target = realistic(20_011)
    layout = BucketedLayout(source, target, 4096)
    waste = padding_waste(layout.plan(source, target, random()), source, target)
    assert waste < 0.25
    alone = 1 - (source + target).sum() / (len(source) * (source.max() + target.max()))
    assert waste < alone / 2


def test_waste_is_the_share_of_tokens_that_are_padding() -> None:
    shape = Shape(2, 5, 7)
    zeros = np.zeros(1, dtype=np.int64)
    plan = Plan(shape, zeros, zeros, zeros, zeros, zeros + 1)
    # 2 × (5 + 7) = 24 places, of which 3 + 3 hold a token
    assert padding_waste([plan], np.array([3]), np.array([3])) == pytest.approx(18 / 24)
    assert padding_waste([], np.array([3]), np.array([3])) == 0.0


@KINDS
def test_a_seed_determines_the_order_and_another_seed_gives_another_one(kind: Kind) -> None:
    source, target = realistic(997)
    layout = kind(source, target, 256)
    first, again, other = (layout.plan(source, target, random(seed)) for seed in (1, 1, 2))
    pair_lists = [[plan.pairs.tolist() for plan in plans] for plans in (first, again, other)]
    assert pair_lists[0] == pair_lists[1] != pair_lists[2]


@KINDS
def test_a_sentence_longer_than_a_batch_gets_a_separate_batch(kind: Kind) -> None:
    source, target = np.array([97, 3]), np.array([101, 3])
    layout = kind(source, target, 16)
    plans = layout.plan(source, target, random())
    check(layout, plans, source, target)
    assert max(plan.shape.rows for plan in plans if 0 in plan.pairs) == 1


@KINDS
def test_one_pair_gives_one_batch(kind: Kind) -> None:
    one = np.array([5])
    layout = kind(one, one, 2**24)
    (plan,) = layout.plan(one, one, random())
    assert plan.pairs.tolist() == [0]
    assert plan.shape.rows == 1, "a batch has no more rows than there are pairs"


def test_a_batch_has_about_the_requested_number_of_target_tokens() -> None:
    for kind in (PackedLayout, BucketedLayout):
        layout = kind(*realistic(5003), 2048)
        for shape in layout.shapes:
            assert 2048 - shape.target < shape.rows * shape.target <= 2048
            assert str(shape) == f"{shape.rows} × ({shape.source} + {shape.target})"


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_the_chosen_bounds_give_the_least_padding(number: int) -> None:
    lengths = np.array([2, 2, 2, 3, 5, 5, 7, 11, 11, 13])
    values = sorted(set(lengths.tolist()))

    def cost(bounds: tuple[int, ...]) -> int:
        return sum(min(bound for bound in bounds if bound >= length) for length in lengths.tolist())

    best = min(cost((*chosen, 13)) for chosen in combinations(values[:-1], min(number, len(values)) - 1))
    bounds = tuple(best_bounds(lengths, number).tolist())
    assert len(bounds) == number
    assert cost(bounds) == best


def test_there_are_no_more_bounds_than_lengths() -> None:
    assert best_bounds(np.array([3, 3, 5]), 8).tolist() == [3, 5]
