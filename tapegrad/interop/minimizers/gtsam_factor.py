"""`gtsam`: factors of graphs for GTSAM, with Jacobians by tangents of poses and rotations.

Reference: F. Dellaert, M. Kaess, "Factor Graphs for Robot Perception", Foundations and Trends in Robotics 6, 2017,
section 6 and appendix B: derivatives by a step in the tangent space, ``M exp(hat(step))`` at zero.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.functions.products.products import tensordot
from tapegrad.interop.minimizers.block_residuals import copied, replays
from tapegrad.interop.packages import needed

_STEP, _TOLERANCE = 1e-4, 1e-6  # of central differences of a retraction, whose error is about 1e-8


def gtsam(
    function: Callable[..., Any], keys: Sequence[int], noise_model: Any, *x0: Any, args: Sequence[Any] = ()
) -> Any:
    """Make a factor for a `gtsam.NonlinearFactorGraph`.

    Parameters
    ----------
    function : callable
        ``function(*values, *args)`` returns the error, a vector. Values are vectors and numbers, and the matrices of
        poses and rotations: (3, 3) of a `Pose2` or `Rot3`, (4, 4) of a `Pose3`, (2, 2) of a `Rot2`.
    keys : sequence of int
        The key of each value.
    noise_model : gtsam.noiseModel.Base
        The noise of the error.
    *x0 : arrays, floats, or objects of GTSAM's
        An example of each value: ``np.zeros(2)``, which stands for `Point2` as well, ``0.0`` for a double,
        ``gtsam.Pose2()``.
    args : sequence, optional
        Further arguments, such as a measurement: floats, and arrays, which are copied.

    Returns
    -------
    gtsam.CustomFactor
        With exact Jacobians by keys; those of poses and rotations are by GTSAM's tangents.

    Raises
    ------
    ModuleNotFoundError
        If GTSAM is not installed.
    TypeError
        For values of other types than vectors, numbers and matrix groups of which ``retract`` is the exponential to
        first order: `Unit3`, cameras, and calibrations.
    ValueError
        If there is another number of examples than of keys, or the noise is of another dimension than the error.

    Notes
    -----
    Many factors of one ``tg.jit(f)`` share its recordings: only the first one takes long to make.

    GTSAM accepts steps to where the error is nan. So an error that is not finite raises `FloatingPointError` from
    ``optimize``, as other exceptions of the function do: write ``tg.where`` for what is outside of its domain.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def odometry(a, b, measured):  # of poses a and b, matrices
    ...     step = np.linalg.inv(a) @ b
    ...     return np.stack([step[0, 2], step[1, 2], np.arctan2(step[1, 0], step[0, 0])]) - measured
    >>> noise, pose = gtsam.noiseModel.Unit.Create(3), gtsam.Pose2()  # doctest: +SKIP
    >>> factor = tg.interop.gtsam(odometry, [1, 2], noise, pose, pose, args=[np.array([1.0, 0, 0])])  # doctest: +SKIP
    >>> graph.add(factor)  # doctest: +SKIP
    """
    check_function("interop.gtsam", function)
    package = needed("gtsam", "gtsam")
    if len(keys) != len(x0) or not x0:
        raise ValueError(
            f"interop.gtsam: {len(keys)} keys, but {len(x0)} examples; pass one of each key's value"
        )
    kinds = [_value_kind(x) for x in x0]
    reads, moves = zip(*kinds, strict=True)
    residuals, linearized = replays(function, (None,) * len(x0), moves, False)
    name, args, of_keys = name_of(function), copied(args), list(zip(reads, keys, strict=True))

    def error(factor: Any, values: Any, jacobians: Any) -> np.ndarray:
        arrays = [read(values, key) for read, key in of_keys]
        if jacobians is None:
            return _finite(residuals(*arrays, *args), name, keys)
        found, *by_keys = linearized(*arrays, *args)
        for number, each in enumerate(by_keys):
            jacobians[number] = each.reshape(found.size, -1)
        return _finite(found, name, keys)

    size = linearized(*map(_array_of, x0), *args)[0].size
    if noise_model is not None and noise_model.dim() != size:
        raise ValueError(
            f"interop.gtsam: noise of dimension {noise_model.dim()}, but {name} returned {size} numbers"
        )
    return package.CustomFactor(noise_model, list(keys), error)


def _finite(error: np.ndarray, name: str, keys: Sequence[int]) -> np.ndarray:
    """Return an error whose squares are finite."""
    if not math.isfinite(error @ error):
        raise FloatingPointError(
            f"interop.gtsam: {name} is not finite at the values of the keys {list(keys)}"
        )
    return error


def _array_of(x: Any) -> Any:
    """Return a value as the function takes it."""
    if isinstance(x, int | float):
        return float(x)
    return np.asarray(x.matrix() if hasattr(x, "matrix") else x, float, order="C")


def _value_kind(x: Any) -> tuple[Callable[[Any, int], Any], Any]:
    """Return the function that reads a value like `x`, and the move of it, `None` for vectors and numbers."""
    if isinstance(x, int | float | np.floating):
        return (lambda values, key: values.atDouble(key)), None
    if isinstance(x, np.ndarray) and x.ndim == 1:
        # These two read vectors as well; atVector reads no points
        name = {2: "atPoint2", 3: "atPoint3"}.get(x.size, "atVector")
        return (lambda values, key: getattr(values, name)(key)), None
    kind: Any = type(x)
    move, name = _move_of(kind), f"at{kind.__name__}"
    # GTSAM's matrices are in Fortran order, with which a replay takes 80 us longer
    return (lambda values, key: np.ascontiguousarray(getattr(values, name)(key).matrix())), move


class GroupStep:
    """Step from an element of a matrix group: ``M + M @ hat(step)``, the first order of GTSAM's retraction.

    Attributes
    ----------
    size
        Number of elements of the step.
    """

    def __init__(self, basis: np.ndarray) -> None:
        self._basis, self.size = basis, len(basis)

    def __call__(self, matrix: Any, step: Any) -> Any:
        return matrix + matrix @ tensordot(step, self._basis, 1)


@functools.cache
def _move_of(kind: Any) -> GroupStep:
    """Return the step of a matrix group of GTSAM's, after a comparison with its retraction."""
    try:
        x = kind.Expmap(np.full(kind.Dim(), 0.1))
        axes, matrix = np.eye(x.dim()), x.matrix()
        basis = np.stack([kind.Hat(axis) for axis in axes])
        sides = [[x.retract(sign * _STEP * axis).matrix() for axis in axes] for sign in (1, -1)]
        slopes = (np.stack(sides[0]) - np.stack(sides[1])) / (2 * _STEP)
        is_known = np.allclose(slopes, matrix @ basis, rtol=0, atol=_TOLERANCE)
    except (AttributeError, TypeError, ValueError):  # no matrix group
        is_known = False
    if not is_known:
        raise TypeError(
            f"interop.gtsam: values of type {kind.__name__} have no derivatives here; pass vectors of shape (n,),"
            " floats, or Pose2, Pose3, Rot2, Rot3 and other matrix groups of gtsam>=4.3: f can make the value of these"
        )
    return GroupStep(basis)
