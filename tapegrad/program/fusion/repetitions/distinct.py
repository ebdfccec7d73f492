"""Distinct rows of an integer matrix, found by a hash of each row that is checked against the row itself."""

import numpy as np

_SEED = 0x5EED  # fixed, so that a program is fused alike in all processes


def distinct(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each set of equal rows, in order, and for each row the number of its set.

    Parameters
    ----------
    matrix
        The rows, (n, k) int64.
    """
    first, number = _in_order(matrix @ _factors(matrix.shape[1]))  # wraps around
    if not np.array_equal(matrix[first[number]], matrix):  # two different rows have one hash
        _, found, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        first, number = _in_order(found[inverse.reshape(-1)])
    return first, number


def _factors(count: int) -> np.ndarray:
    return np.random.default_rng(_SEED).integers(1, 1 << 62, count) | 1


def _in_order(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct key comes first, in this order, and for each key which of these it is."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[inverse]
