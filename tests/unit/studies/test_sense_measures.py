"""Reading senses: exact numbers for static vectors, and golden ones for a few points in the plane."""

import numpy as np
import pytest

from clearhead.studies.sense_measures import (
    linear_senses,
    nearest_senses,
    read_by_others,
    read_linearly_by_others,
    sense_cosines,
)


def equal_vectors(number: int) -> np.ndarray:
    """Return the same float32 vector many times, with digits that are not exact in binary."""
    return np.tile(np.array([0.1, -1 / 3, 1e-3, 7.7], dtype=np.float32), (number, 1))


@pytest.mark.parametrize("num_senses", [2, 3])
def test_equal_vectors_give_exactly_the_share_of_a_guess_and_cosines_of_1(num_senses: int) -> None:
    senses = [sense for sense in range(num_senses) for _ in range(13)]
    vectors = equal_vectors(len(senses))
    assert read_by_others(vectors, senses) == pytest.approx(1 / num_senses, abs=1e-15)
    assert read_linearly_by_others(vectors, senses) == pytest.approx(1 / num_senses, abs=1e-15)
    cosines = sense_cosines(vectors, senses)
    assert cosines.within == pytest.approx(1.0, abs=1e-14)
    assert cosines.between == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("find_senses", [nearest_senses, linear_senses])
def test_equal_vectors_are_all_given_the_same_sense(find_senses: object) -> None:
    assert callable(find_senses)
    assert find_senses(equal_vectors(6), [0, 1, 0, 1, 0, 1], equal_vectors(3)).tolist() == [0, 0, 0]


def test_equal_distances_count_as_the_most_frequent_sense() -> None:
    known = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 0.0]])
    assert nearest_senses(known, [7, 9, 9], np.array([[2.0, 1.0], [1.0, 0.0]])).tolist() == [9, 7]


def test_the_nearest_centroid_is_found() -> None:
    known = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 6.0], [2.0, 6.0]])  # centroids (1, 0) and (1, 6)
    tested = np.array([[9.0, 2.9], [9.0, 3.1], [1.0, -5.0]])
    assert nearest_senses(known, [0, 0, 1, 1], tested).tolist() == [0, 1, 0]


def test_one_vector_of_each_sense_is_left_out_at_a_time() -> None:
    vectors = np.array([[0.0], [1.0], [5.0], [3.0], [4.0], [4.5]])
    # Without 0 and 3, the centroids are 3 and 4.25; without 1 and 4, 2.5 and 3.75; without 5 and 4.5, 0.5 and 3.5.
    # All are nearer to their own one, except 3 and 5.
    assert read_by_others(vectors, [0, 0, 0, 1, 1, 1]) == pytest.approx(4 / 6)


def test_vectors_without_information_give_a_guess_and_not_less() -> None:
    random = np.random.default_rng(11)
    senses = [0] * 8 + [1] * 8
    shares = [read_by_others(random.normal(size=(16, 31)), senses) for _ in range(300)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.02)


def test_a_linear_map_ignores_a_direction_that_hides_the_sense_from_centroids() -> None:
    random = np.random.default_rng(2)
    senses = [0, 1] * 60
    vectors = np.stack([np.array(senses) * 1.0, 40.0 * random.normal(size=120)], axis=1)
    vectors[:, 0] += 0.05 * random.normal(size=120)
    vectors[:, 1] *= 0.1
    assert read_linearly_by_others(vectors, senses) > 0.95 > read_by_others(vectors, senses) + 0.05


def test_cosines_are_means_over_pairs_of_different_sentences() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [-1.0, 0.0]])
    cosines = sense_cosines(vectors, [0, 0, 1, 1])
    root = 0.5**0.5
    assert cosines.within == pytest.approx((0.0 - root) / 2)
    assert cosines.between == pytest.approx((root - 1.0 + root + 0.0) / 4)


@pytest.mark.parametrize("read", [read_by_others, read_linearly_by_others])
def test_senses_of_different_numbers_are_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(AssertionError, match="every sense needs the same number of vectors"):
        read(np.zeros((3, 2)), [0, 0, 1])
