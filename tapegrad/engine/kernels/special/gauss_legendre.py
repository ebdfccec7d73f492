"""Gauss and Legendre's rule of 32 points on an interval.

Its error is 1e-14 for an integrand that falls smoothly, as an exponential does, by a factor of ``exp(NEGLIGIBLE)``.
"""

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
# The positive nodes on [-1, 1], and their weights
RULE: tuple[tuple[float, float], ...] = tuple(
    (float(node), float(weight)) for node, weight in zip(_NODES[16:], _WEIGHTS[16:], strict=True)
)
NEGLIGIBLE = 40.0  # the logarithm of what is left out
