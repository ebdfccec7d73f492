"""Generator of unit vectors in place of normal numbers: what is made of them linearly shows its covariance exactly."""

from typing import Any

import numpy as np


class Units(np.random.RandomState):
    """Generator whose k-th draw of normal numbers is the k-th unit vector."""

    def standard_normal(self, size: Any = None) -> Any:
        return np.eye(*size)


def covariance(draw: Any, count: int) -> np.ndarray:
    """Return the covariance of ``draw(size=..., random_state=...)``, which is linear in `count` normal numbers."""
    drawn = draw(size=count, random_state=Units())
    return np.asarray(drawn.T @ drawn)
