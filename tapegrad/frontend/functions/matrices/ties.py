"""Equal eigenvalues and singular values in derivatives, and the parts of packed results.

The formulas of the derivatives are those of the kernels. Where the kernels find one undetermined, a sweep on Tensors
raises, or has nan, too.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import (
    adjoint,
    complex_of,
    imag_part,
    is_complex,
    pairs_of,
    part_dtype,
)
from tapegrad.frontend.functions.matrices.matrices import record
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.rules import Step, Value, state_transpose
from tapegrad.frontend.recording.shape import expand_dims, in_c_order, reshape
from tapegrad.frontend.tensor.modes import no_grad, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops.structural.control import DeterminedParams

TIE_ROUNDINGS = 1e4  # roundings up to which cotangents count as equal
_where = elementwise.where
absolute, maximum, minimum = (elementwise.FUNCTIONS[name] for name in ("absolute", "maximum", "minimum"))
_greater, _less_equal = (elementwise.FUNCTIONS[name] for name in ("greater", "less_equal"))


def column(x: Tensor) -> Tensor:
    return expand_dims(x, -1)


def row(x: Tensor) -> Tensor:
    return expand_dims(x, -2)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Return the parts of a packed result in order and its dtype, the last one of matrices row by row."""
    stack, dtype = parts[-1].shape[:-2], parts[-1].dtype
    lines = [reshape(each, (*stack, math.prod(each.shape[len(stack) :]))) for each in parts]
    return joining.concatenate([each if each.dtype == dtype else each.astype(dtype) for each in lines], -1)


def diagonal_matrix(x: Tensor) -> Tensor:
    return column(x) * np.eye(x.shape[-1], dtype=x.dtype)


def extent_of(x: Tensor) -> Tensor:
    """Return the largest absolute value of each matrix, in a shape that broadcasts against matrices."""
    return largest(absolute(x), (-1, -2), keepdims=True, initial=0.0)


def check_determined(values: Tensor, excess: Tensor) -> Tensor:
    """Return values, and fail if `excess` is not zero: raise, or return nan for the matrices where it is."""
    if thread.mode.nan_on_failure:
        return values * _nan_or_one(values, excess)
    if is_complex(values):
        return complex_of(check_determined(pairs_of(values), excess))
    wrong: Any = _greater(excess, 0.0)
    wrong = wrong if is_tensor(wrong) else from_array(np.ascontiguousarray(wrong), constant=True)
    values, wrong = in_c_order(values), in_c_order(wrong)
    return record(
        "determined", [values, wrong], values.shape, DeterminedParams(values.size, wrong.size), "backward"
    )


def _nan_or_one(values: Tensor, excess: Tensor) -> Tensor:
    """Return a factor for the values of each matrix: nan if an element of its excess is above zero.

    A factor, not a selection, makes higher derivatives nan as well.
    """
    stack = max(values.ndim, excess.ndim) - 2
    with no_grad():
        most = largest(excess, tuple(range(stack, excess.ndim)), initial=0.0)
        nan, one = (np.asarray(number, part_dtype(values.dtype)) for number in (np.nan, 1))
        factor = _where(_greater(most, 0.0), nan, one)
    return reshape(factor, (*most.shape, *(1,) * (values.ndim - stack)))


@state_transpose
def as_it_is(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose an identity: return the cotangent itself."""
    return {0: y_bar}


class Ties:
    """Ties among sorted values: masks and counts of equal values, without derivatives."""

    def __init__(self, values: Tensor, extent: int) -> None:
        self.slack = TIE_ROUNDINGS * float(np.finfo(values.dtype).eps) * values.shape[-1]
        self.values = values
        close = (
            8
            * extent
            * float(np.finfo(values.dtype).eps)
            * largest(absolute(values), -1, keepdims=True, initial=0.0)
        )
        self.close = column(close)
        real = part_dtype(values.dtype)
        self.one, self.zero = (np.asarray(number, real) for number in (1, 0))
        gaps = absolute(row(values) - column(values))
        self.tied = _where(_less_equal(gaps, self.close), self.one, self.zero)
        self.others = self.tied * (1 - np.eye(values.shape[-1], dtype=real))
        self.zeros = _where(_less_equal(column(absolute(values)), self.close), self.one, self.zero)

    def shared(self, x: Tensor) -> Tensor:
        """Return numbers, each replaced by the mean over its ties."""
        weights = self.tied / reductions.sum(self.tied, -1, keepdims=True)
        return reshape(matmul(weights, column(x)), x.shape)

    def determined(self, x: Tensor, has_vectors: bool, excess: Callable[[], Tensor]) -> Tensor:
        """Return numbers by value, checked by the excess of their ties; without vectors shared among these."""
        if not has_vectors:
            return self.shared(x)
        with no_grad():
            found = excess()
        return check_determined(x, found)

    def inverse(self, divisor: Tensor, is_zero: Tensor) -> Tensor:
        """Return reciprocals, and 0 where there is a tie."""
        return (1 - is_zero) / _where(is_zero, self.one, divisor)


def excess_of_phases(m: Tensor, bars: Sequence[Tensor], ties: Ties) -> Tensor:
    """Return the amount by which a function depends on the phases of complex vectors; see `depends_on_phases`."""
    own = absolute(imag_part(diagonal(m, 0, -2, -1)))
    extent = functools.reduce(maximum, map(extent_of, (m, *bars)))
    excess: Tensor = column(own) - ties.slack * extent
    return excess


def excess_of_pairs(diagonal_: Tensor, m: Tensor, ties: Ties) -> Tensor:
    """Return the amount by which equal values are told apart, for each pair; see `kernels.eigh.is_determined`."""
    of_values = ties.slack * extent_of(column(diagonal_))
    of_vectors = ties.slack * extent_of(m)
    own = diagonal(m, 0, -2, -1)
    apart = absolute(row(diagonal_) - column(diagonal_)) - of_values
    rotated = absolute(m - adjoint(m)) - of_vectors
    mixed = maximum(absolute(m), absolute(row(own) - column(own))) - of_vectors
    both = minimum(absolute(column(diagonal_)) - of_values, mixed)
    excess: Tensor = ties.others * maximum(maximum(apart, rotated), both)
    return excess
