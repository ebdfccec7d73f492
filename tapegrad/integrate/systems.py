"""Linear systems of implicit methods, whose matrices are a multiple of the identity minus the Jacobian of the slope.

The Jacobian of many states is mostly zeros: each depends on its neighbours, as on a line or a grid. Its pattern is
detected, states are numbered anew so that what depends on each other is near each other, and only the band of the
matrix is computed, eliminated and kept.

Reference: Cuthill, McKee, "Reducing the bandwidth of sparse symmetric matrices", Proc. 24th Nat. Conf. ACM, 1969.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tapegrad.autodiff.sparsity.pattern import Pattern, given_pattern
from tapegrad.errors import DensePatternError
from tapegrad.foreign import is_sparse
from tapegrad.frontend.functions.matrices.structured import band_solved
from tapegrad.frontend.functions.matrices.systems import inv, lu_factor, lu_solve
from tapegrad.implicit.equation import Equation, MatrixSystem, Residual, System
from tapegrad.implicit.recorded_root import implied
from tapegrad.integrate.method import RightSide, like
from tapegrad.transforms.jacobians.jacobian import jacfwd
from tapegrad.transforms.jacobians.sparse import detected_pattern, entries_of
from tapegrad.transforms.stop_gradient import stop_gradient

_MAX_INVERTED_ROWS = 8
_MIN_BANDED_ROWS = 32  # fewer are solved as fast with their zeros
_MAX_BAND_SHARE = 0.5  # of a matrix that is eliminated by its band

Solution = Callable[[Any], Any]


def of_equation(
    residual: Callable[..., Any], matrix: Callable[..., Any] | System, root: Any, operands: Sequence[Any]
) -> Any:
    """Return a root, which is a constant, of ``residual(root, *operands) == 0`` with its derivatives.

    `matrix` computes the Jacobian by the root. Where that is singular derivatives are nan: a step that is tried may not
    be accepted.
    """
    return implied(Equation("solve_ivp", residual, MatrixSystem(matrix)), root, operands, residual, True)


def of_stages(residual: Residual, system: System, root: Any, operands: Sequence[Any]) -> Any:
    """Return the stages of a method, which are constants, with their derivatives; `system` solves with the Jacobian."""
    return implied(Equation("solve_ivp", residual, system), root, operands, residual, True)


class SlopeJacobian(Protocol):
    """Jacobian of a slope by the state, and the linear systems that it is in."""

    def at_rest(self, slope: Any) -> Any:
        """Return zeros of the shape of the Jacobian."""
        ...

    def at(self, t: Any, y: Any) -> Any:
        """Return the Jacobian at a time and a state."""
        ...

    def system(self, jacobian: Any, shift: Any) -> Solution:
        """Return the solver of systems with a multiple of the identity minus the Jacobian."""
        ...

    def complex_system(
        self, jacobian: Any, real: Any, imaginary: Any
    ) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Return the solver for a complex multiple of the identity: of both parts of a right side."""
        ...

    def stage_system(self, weights: np.ndarray, jacobians: Callable[..., tuple[Any, ...]]) -> System:
        """Return the solver of systems with the identity minus `weights` times the Jacobians at the stages.

        `jacobians` takes the root and operands, and returns the size of the step and the Jacobian at each stage.
        """
        ...


def jacobian_of(fun: RightSide, t: Any, y: Any, sparsity: Any) -> SlopeJacobian:
    """Return the Jacobian of a slope: dense, or in a band.

    Parameters
    ----------
    fun
        The slope.
    t, y
        Time and state at the begin.
    sparsity
        Where entries may be other than zero, `None` to detect it, `False` for a dense matrix.
    """
    pattern = None
    if sparsity is None or sparsity is False:
        if sparsity is None and y.size >= _MIN_BANDED_ROWS:
            pattern = _detected(fun, *stop_gradient((t, y)))
    else:
        pattern = _stated(sparsity, y.size)
    banded = None if pattern is None else BandedJacobian(fun, pattern)
    if banded is None or (sparsity is None and not banded.is_narrow):
        return DenseJacobian(fun)
    return banded


def _stated(sparsity: Any, count: int) -> Pattern:
    from scipy.sparse import csr_array

    if not (is_sparse(sparsity) or isinstance(sparsity, Pattern)):
        sparsity = csr_array(np.atleast_2d(np.asarray(sparsity) != 0).astype(float))
    if sparsity.shape != (count, count):
        raise ValueError(
            f"solve_ivp: jac_sparsity has shape {sparsity.shape}, but y0 has {count} elements: it must be"
            f" {(count, count)}"
        )
    return given_pattern(sparsity)


def _detected(fun: RightSide, t: Any, y: Any) -> Pattern | None:
    try:
        return detected_pattern(lambda y: fun(t, y), y)
    except DensePatternError:
        return None


# --- dense matrices ----------------------------------------------------------------------------------------------


class DenseJacobian:
    """Jacobian as a matrix of shape (n, n)."""

    def __init__(self, fun: RightSide) -> None:
        self._fun = fun

    def at_rest(self, slope: Any) -> Any:
        return np.zeros((slope.size, slope.size), slope.dtype)

    def at(self, t: Any, y: Any) -> Any:
        return jacfwd(lambda y: self._fun(t, y))(y)

    def system(self, jacobian: Any, shift: Any) -> Solution:
        return _LinearSystem(_shifted(jacobian, shift))

    def complex_system(
        self, jacobian: Any, real: Any, imaginary: Any
    ) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Return the solver by real matrices of twice the size."""
        count = jacobian.shape[0]
        middle, across = _shifted(jacobian, real), imaginary * np.eye(count, dtype=jacobian.dtype)
        rows = [np.concatenate([middle, -across], axis=1), np.concatenate([across, middle], axis=1)]
        system = _LinearSystem(np.concatenate(rows))

        def solved(right: Any, imaginary_right: Any) -> tuple[Any, Any]:
            both = system(np.concatenate([right, imaginary_right]))
            return both[:count], both[count:]

        return solved

    def stage_system(self, weights: np.ndarray, jacobians: Callable[..., tuple[Any, ...]]) -> System:
        def matrix(root: Any, *operands: Any) -> Any:
            h, *blocks = jacobians(root, *operands)
            blocks = [like(h, root) * block for block in blocks]
            rows = [
                np.concatenate([weight * block for weight, block in zip(row, blocks, strict=True)], axis=1)
                for row in weights.tolist()
            ]
            return np.eye(root.shape[0], dtype=root.dtype) - np.concatenate(rows)

        return MatrixSystem(matrix)


class _LinearSystem:
    """Systems with one matrix: by its inverse if it is small, otherwise by its factors.

    Columns times numbers are elementwise, and so in one segment with the rest of a step.
    """

    def __init__(self, matrix: Any) -> None:
        count = matrix.shape[0]
        self._is_small = count <= _MAX_INVERTED_ROWS
        if self._is_small:
            inverse = inv(matrix)
            # Here and not in the loops that solve: Tensors from outside have no views there
            self._parts = tuple(inverse[:, k] for k in range(count))
        else:
            self._parts = lu_factor(matrix)

    def __call__(self, right: Any) -> Any:
        """Return the solution for a right side."""
        if not self._is_small:
            return lu_solve((self._parts[0], self._parts[1]), right)
        solution = self._parts[0] * right[0]
        for k, column in enumerate(self._parts[1:], 1):
            solution = solution + column * right[k]
        return solution


def _shifted(matrix: Any, shift: Any) -> Any:
    """Return a multiple of the identity minus a matrix."""
    return shift * np.eye(matrix.shape[0], dtype=matrix.dtype) - matrix


# --- bands -------------------------------------------------------------------------------------------------------


class BandedJacobian:
    """Jacobian as the diagonals of a band, of shape (below + above + 1, n), of states in an order of its own.

    Parameters
    ----------
    fun
        The slope.
    pattern
        Where entries of its Jacobian may be other than zero.

    Attributes
    ----------
    below, above
        Numbers of diagonals below and above the main one.
    """

    def __init__(self, fun: RightSide, pattern: Pattern) -> None:
        self._fun, self._pattern, self._count = fun, pattern, pattern.shape[0]
        self._order = _order_of(pattern)
        self._places = np.argsort(self._order)  # of each state in that order
        rows, columns = self._places[pattern.rows], self._places[pattern.cols]
        self.below, self.above = (
            max(int(each.max(initial=0)), 0) for each in (rows - columns, columns - rows)
        )
        # of each element of the band its entry, of others a zero behind the last entry
        self._sources = np.full((self.below + self.above + 1, self._count), pattern.nnz)
        self._sources[self.above + rows - columns, columns] = np.arange(pattern.nnz)

    @property
    def is_narrow(self) -> bool:
        """True if the band is small beside the matrix."""
        return 2 * self.below + self.above + 1 <= _MAX_BAND_SHARE * self._count

    def at_rest(self, slope: Any) -> Any:
        return np.zeros(self._sources.shape, slope.dtype)

    def at(self, t: Any, y: Any) -> Any:
        entries = entries_of(lambda y: self._fun(t, y), y, self._pattern)
        return np.concatenate([entries, np.zeros(1, y.dtype)])[self._sources]

    def _main(self, dtype: Any) -> np.ndarray:
        """Return the band of the identity."""
        ones = np.zeros(self._sources.shape, dtype)
        ones[self.above] = 1
        return ones

    def system(self, jacobian: Any, shift: Any) -> Solution:
        bands = shift * self._main(jacobian.dtype) - jacobian
        return lambda right: band_solved(bands, right[self._order], self.below, self.above)[self._places]

    def complex_system(
        self, jacobian: Any, real: Any, imaginary: Any
    ) -> Callable[[Any, Any], tuple[Any, Any]]:
        bands = (real + 1j * imaginary) * self._main(jacobian.dtype) - jacobian

        def solved(right: Any, imaginary_right: Any) -> tuple[Any, Any]:
            both = (right + 1j * imaginary_right)[self._order]
            both = band_solved(bands, both, self.below, self.above)[self._places]
            return both.real, both.imag

        return solved

    def stage_system(self, weights: np.ndarray, jacobians: Callable[..., tuple[Any, ...]]) -> System:
        """Return the solver by bands of all stages of a state side by side."""
        stages = len(weights)
        below, above = (stages * each + stages - 1 for each in (self.below, self.above))
        sources, factors, identity = self._stage_band(weights, below, above)
        order = (np.arange(stages) * self._count + self._order[:, None]).reshape(-1)
        places = np.argsort(order)

        def solved(_: Residual, root: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
            h, *bands = jacobians(root, *operands)
            every = np.concatenate([*(each.reshape(-1) for each in bands), np.zeros(1, root.dtype)])
            matrix = identity.astype(root.dtype) - like(h, root) * (
                factors.astype(root.dtype) * every[sources]
            )
            return band_solved(matrix, right[order], below, above, transposed)[places]

        return solved

    def _stage_band(
        self, weights: np.ndarray, below: int, above: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sources of the elements among the bands of all stages, their factors, and the identity."""
        stages, (diagonals, count) = len(weights), self._sources.shape
        shape = below + above + 1, stages * count
        sources, factors, identity = (
            np.full(shape, stages * diagonals * count),
            np.zeros(shape),
            np.zeros(shape),
        )
        identity[above] = 1
        own = np.arange(diagonals * count).reshape(diagonals, count)
        for row in range(stages):
            for column in range(stages):
                at = above + stages * (np.arange(diagonals) - self.above) + row - column
                sources[at, column::stages] = own + column * diagonals * count
                factors[at, column::stages] = weights[row, column]
        return sources, factors, identity


def _order_of(pattern: Pattern) -> np.ndarray:
    """Return the states in an order in which the band is narrow: their own, or Cuthill's and McKee's reversed."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    own = np.arange(pattern.shape[0])
    order = reverse_cuthill_mckee(pattern.matrix(np.ones(pattern.nnz)))
    widths = [
        np.abs(np.argsort(each)[pattern.rows] - np.argsort(each)[pattern.cols]).max(initial=0)
        for each in (own, order)
    ]
    return order if widths[1] < widths[0] else own
