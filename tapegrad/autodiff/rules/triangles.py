"""Symmetric matrices given by one triangle, in rules on Tensors."""

import numpy as np

from tapegrad.frontend.recording.record import apply
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES

_MASKED_MULTIPLY = CODES["masked_multiply"]


def half_of_triangle(x: Tensor, lower: bool) -> Tensor:
    """Return one triangle with half of the diagonal.

    Adding its transpose gives the symmetric matrix. Twice this part of a symmetric cotangent is the cotangent of the
    triangle.
    """
    ones = np.ones(x.shape[-2:])
    triangle = np.tril(ones) if lower else np.triu(ones)
    return apply(_MASKED_MULTIPLY, x, (triangle - np.eye(len(ones)) / 2).astype(x.dtype))
