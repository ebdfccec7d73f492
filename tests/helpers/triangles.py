"""Cotangents of symmetric matrices that are given by one triangle."""

import numpy as np


def folded(symmetric: np.ndarray, lower: bool = True) -> np.ndarray:
    """The cotangent of the triangle: its elements stand for their mirror images too, so both add up."""
    triangle = np.tril(symmetric) if lower else np.triu(symmetric)
    return 2 * triangle - symmetric * np.eye(symmetric.shape[-1], dtype=symmetric.dtype)
