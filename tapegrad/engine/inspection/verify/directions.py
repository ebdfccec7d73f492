"""Random directions for checks of derivatives."""

from typing import Any

import numpy as np


def random_direction(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Return numbers near one with random signs, so that no element has a share that is lost in rounding."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))
