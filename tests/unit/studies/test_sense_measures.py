"""Reading senses: exact numbers for static vectors, and golden ones for a few points in the plane."""

import numpy as np
import pytest

from clearhead.studies.sense_measures import linear_senses, nearest_senses, sense_cosines


def equal_vectors(number: int) -> np.ndarray:
    """Return the same float32 vector many times, with digits that are not exact in binary."""
    return np.tile(np.array([0.1, -1 / 3, 1e-3, 7.7], dtype=np.float32), (number, 1))


@pytest.mark.parametrize("num_senses", [2, 3])
def test_equal_vectors_have_cosines_of_1(num_senses: int) -> None:
    senses = [sense for sense in range(num_senses) for _ in range(13)]
    vectors = equal_vectors(len(senses))
    assert sense_cosines(vectors, senses) == pytest.approx((1.0, 1.0), abs=1e-14)


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


def test_cosines_are_means_over_pairs_of_different_sentences() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [-1.0, 0.0]])
    root = 0.5**0.5
    assert sense_cosines(vectors, [0, 0, 1, 1]) == pytest.approx(((0.0 - root) / 2, (root - 1.0 + root + 0.0) / 4))
