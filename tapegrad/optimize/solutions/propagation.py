"""`propagate`: uncertainties of results, given those of the values that they are computed from."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autodiff.sparsity.plan import plan_of
from tapegrad.errors import UnsupportedError, check_function
from tapegrad.foreign import is_sparse
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, taken_apart
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.implicit.known import recurring
from tapegrad.optimize.flat import FlatConstraints, flat_jit, layout_of, raveled_numbers
from tapegrad.program.recording.signature import has_tensor
from tapegrad.transforms.base import ConfiguredTransform, without_jit
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vmap.vmap import vmap

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MAX_DENSE_ENTRIES = 1_000_000  # of a Jacobian
_MAX_BATCH_ELEMENTS = 4_000_000  # of second derivatives that are computed together


class Propagation:
    """Results of a function with their uncertainties; made by `propagate`.

    Attributes
    ----------
    values : structure of numpy.ndarray
        The results; of second order their means.
    std : structure of numpy.ndarray
        Standard deviation of each result.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> result = tg.propagate(lambda x: np.stack([x[0] * x[1], x[0]]), [2.0, 3.0], std=[0.1, 0.2])
    >>> result
    values: array([6., 2.])
    std:    array([0.5, 0.1])
    >>> result.covariance
    array([[0.25, 0.03],
           [0.03, 0.01]])
    """

    def __init__(self, layout: LeafLayout, values: np.ndarray, factors: list[Any]) -> None:
        self._factors = factors
        self.values = layout.split(values)
        self.std = layout.split(np.sqrt(sum(_squares_of_rows(each) for each in factors)))

    @functools.cached_property
    def covariance(self) -> Any:
        """Covariance of all results, one after the other: (m, m), a `scipy.sparse.csr_array` if the Jacobian is one."""
        return sum(each @ each.T for each in self._factors[1:]) + self._factors[0] @ self._factors[0].T

    def __repr__(self) -> str:
        return f"values: {self.values!r}\nstd:    {self.std!r}"


@hides_frames
def propagate(
    function: Callable[..., Any],
    values: Any,
    covariance: Any = None,
    *,
    std: Any = None,
    order: int = 1,
    sparse: bool | None = None,
) -> Propagation:
    """Compute uncertainties of a function's results from those of its values.

    Parameters
    ----------
    function : callable
        Takes a structure like `values`; returns an array, or a structure of arrays. It is recorded, and its recordings
        are kept as those of `tapegrad.optimize.minimize`.
    values : array_like or structure of arrays
        The means: n numbers in all. A list of numbers is a vector.
    covariance : array_like or sparse matrix, shape (n, n), optional
        Their covariance, of the leaves one after the other, each in C order.
    std : array_like or structure of arrays, optional
        Their standard deviations instead, where they are independent: of the structure of `values`, or one number.
    order : {1, 2}, default 1
        Order of Taylor's polynomial around the means. Of second order, it is exact for quadratic functions of normal
        values: means are moved by half of the second derivatives, and variances have a second term.
    sparse : bool, optional
        Whether the Jacobian is sparse, with its pattern detected. By default from a million entries on.

    Returns
    -------
    Propagation
        With `values` and `std` in the structure of the results, and with the `covariance` of all of them, so that
        results can be propagated further.

    Raises
    ------
    ValueError
        If both or none of `covariance` and `std` are there, for other shapes, for negative deviations, and for a
        covariance that is not symmetric; of second order if it is not positive semidefinite.
    TypeError
        For complex values or results.
    UnsupportedError
        For Tensors among the arguments; of second order with a sparse Jacobian and a covariance.

    Notes
    -----
    With the Jacobian J and the Hessian H_i of each result, the covariance S gives J S J', the means move by
    tr(H_i S)/2, and tr(H_i S H_j S)/2 is added to the covariance of results i and j [1]_. Derivatives are exact.

    References
    ----------
    .. [1] *Evaluation of measurement data: Guide to the expression of uncertainty in measurement*, JCGM 100:2008,
       clause 5; the second order for normal values as in Athans, Wishner, Bertolini, "Suboptimal state estimation for
       continuous-time nonlinear systems from discrete noisy measurements", *IEEE Transactions on Automatic Control*
       13(5), 1968.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.propagate(lambda p: p["mass"] * p["speed"] ** 2 / 2, {"mass": 2.0, "speed": 4.0}, std=0.1)
    values: np.float64(16.0)
    std:    np.float64(1.1313708498984762)
    >>> covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    >>> tg.propagate(lambda x: x[0] * x[1], [2.0, 3.0], covariance, order=2).values
    np.float64(6.01)
    """
    check_function("propagate", function)
    if order not in (1, 2):
        raise ValueError(f"propagate: order={order!r}; it must be 1 or 2")
    if has_tensor((values, covariance, std), {}):
        raise UnsupportedError(
            "propagate: there is a Tensor among the arguments. To differentiate uncertainties write"
            " J = tg.jacobian(f)(x) and tg.sqrt(tg.einsum('ij,jk,ik->i', J, covariance, J))"
        )
    layout = layout_of(values)
    if layout.has_complex:
        raise TypeError(
            "propagate: values are complex; pass their real and imaginary parts, as z.view(float)"
        )
    recorded = recurring(function).recorded
    results = flat_jit(_Results, recorded, layout)
    x = raveled_numbers(values, layout)
    spread = _Spread(layout, covariance, std)
    means = results(x)
    is_large = len(means) * len(x) > _MAX_DENSE_ENTRIES
    by_entries = is_large if sparse is None else sparse
    first = jacobian(results, sparse=True)(x) if by_entries else jacobian(results)(x)
    factors = [spread.factor(first)]
    if order == 2:
        shift, further = _second_order(results, x, spread, first)
        means, factors = means + shift, [*factors, further]
    return Propagation(taken_apart(recorded(layout.split(x)), "propagate: result")[1], means, factors)


class _Results(FlatConstraints):
    """Results of a function, as one vector of float64."""

    _noun = "results"


class _Spread:
    """Covariance of the values, or their standard deviations if they are independent.

    Attributes
    ----------
    std
        Standard deviations, shape (n,); `None` if there is a covariance.
    """

    def __init__(self, layout: LeafLayout, covariance: Any, std: Any) -> None:
        if (covariance is None) == (std is None):
            raise ValueError("propagate: pass one of covariance and std, the standard deviations")
        self.std = None if std is None else _deviations(layout, std)
        self._covariance = None if covariance is None else _checked_covariance(covariance, layout.size)

    def factor(self, first: Any) -> Any:
        """Return a matrix whose product with its transpose is the covariance of the results, to first order."""
        if self.std is None:
            return first @ self.root
        return first.multiply(self.std).tocsr() if is_sparse(first) else first * self.std

    @functools.cached_property
    def root(self) -> np.ndarray:
        """A matrix R with R R' the covariance: by its eigenvectors, for it may be singular."""
        if self.std is not None:
            return np.diag(self.std)
        covariance = self._covariance
        assert covariance is not None
        eigenvalues, vectors = np.linalg.eigh(covariance)
        if eigenvalues[0] < -1e-8 * eigenvalues[-1]:
            raise ValueError(
                "propagate: the covariance is not positive semidefinite; its least eigenvalue is"
                f" {eigenvalues[0]:.3g}"
            )
        root: np.ndarray = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        return root


def _deviations(layout: LeafLayout, std: Any) -> np.ndarray:
    """Return standard deviations as a vector like the values."""
    if np.ndim(std) == 0 and not isinstance(std, dict):
        deviations = np.full(layout.size, real(std, "propagate: std"))
    else:
        deviations = raveled_numbers(std, layout)
    if not np.all(deviations >= 0):
        raise ValueError("propagate: std has elements that are negative or nan")
    return deviations


def _checked_covariance(covariance: Any, size: int) -> np.ndarray:
    dense = covariance.toarray() if is_sparse(covariance) else covariance
    matrix: np.ndarray = real(dense, "propagate: covariance")
    if matrix.shape != (size, size):
        hint = "; for standard deviations write std=" if matrix.ndim == 1 else ""
        raise ValueError(
            f"propagate: covariance has shape {matrix.shape}, but values have {size} elements{hint}"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ValueError("propagate: the covariance is not symmetric")
    return matrix


def _squares_of_rows(matrix: Any) -> np.ndarray:
    """Return the sum of squares of each row."""
    squares = matrix.multiply(matrix).sum(axis=1) if is_sparse(matrix) else np.sum(matrix**2, axis=1)
    return np.asarray(squares)


# --- second order ------------------------------------------------------------------------------------------------


class _SecondDerivative(ConfiguredTransform):
    """Second derivative of results along two directions."""

    name = "propagate"

    def __call__(self, x: Any, u: Any, v: Any) -> Any:
        function = without_jit(self.function)
        return jvp(lambda x: jvp(function, (x,), (u,))[1], (x,), (v,))[1]


def _second_order(
    results: Jit[..., Any], x: np.ndarray, spread: _Spread, first: Any
) -> tuple[np.ndarray, Any]:
    """Return what second derivatives add to the means, and a factor of what they add to the covariance."""
    if not is_sparse(first):
        directions, columns = spread.root.T, None
    elif spread.std is None:
        raise UnsupportedError(
            "propagate: order=2 of a sparse Jacobian is for independent values; pass std, or sparse=False"
        )
    else:
        colors, columns = _colored_columns(first)
        directions = np.where(colors == np.arange(columns.shape[1])[:, None], spread.std, 0.0)
    above, other = np.triu_indices(len(directions))
    second = vmap(_SecondDerivative(results), in_axes=(None, 0, 0))
    along = _in_batches(second, x, directions[above], directions[other], first.shape[0])
    shift = 0.5 * along[above == other].sum(axis=0)
    weighted = along * np.where(above == other, np.sqrt(0.5), 1.0)[:, None]
    return shift, weighted.T if columns is None else _by_pairs(weighted.T, columns, above, other, len(x))


def _in_batches(
    second: Callable[..., Any], x: np.ndarray, u: np.ndarray, v: np.ndarray, size: int
) -> np.ndarray:
    """Return second derivatives of `size` results, shape (k, size), some directions at a time."""
    count = max(1, _MAX_BATCH_ELEMENTS // max(1, size))
    parts = [second(x, u[k : k + count], v[k : k + count]) for k in range(0, len(u), count)]
    return np.concatenate(parts) if parts else np.zeros((0, size))


def _colored_columns(first: "csr_array") -> tuple[np.ndarray, np.ndarray]:
    """Return colors of the columns, such that those of one share no row, and the column by row and color, or -1."""
    colors = plan_of(first, symmetric=False, mode="forward").columns
    columns = np.full((first.shape[0], colors.max(initial=-1) + 1), -1)
    rows, entries = first.tocoo().coords
    columns[rows, colors[entries]] = entries
    return colors, columns


def _by_pairs(
    along: np.ndarray, columns: np.ndarray, above: np.ndarray, other: np.ndarray, size: int
) -> "csr_array":
    """Return second derivatives by pairs of directions with a column for each pair of values."""
    from scipy.sparse import csr_array

    one, two = columns[:, above], columns[:, other]
    rows, places = np.nonzero((one >= 0) & (two >= 0))
    low, high = np.minimum(one, two)[rows, places], np.maximum(one, two)[rows, places]
    pairs, numbers = np.unique(low * size + high, return_inverse=True)
    return csr_array((along[rows, places], (rows, numbers)), (len(along), len(pairs)))
