"""Ops of PyMC: splines of `Interpolated`, and of matrices what `pymc.math` has. Imported where PyMC is."""

from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.pytensor_graphs.dispatch import register_texts, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.generations import MovedNames
from tapegrad.interpolate import BSpline

_distributions: Any = MovedNames("pymc.distributions.dist_math")
_math: Any = MovedNames("pymc.math")
_multivariate: Any = MovedNames("pymc.distributions.multivariate")


def _log_determinant(a: Any) -> Any:
    return linalg.slogdet(a)[1]


def _diagonal_matrices(x: Any) -> Any:
    return x[..., None] * np.eye(np.shape(x)[-1])


def _is_positive_definite(a: Any) -> Any:
    with linalg.errstate("nan"):
        return np.all(np.isfinite(linalg.cholesky(a)))


register_texts(
    {
        _math.LogDet: "<logdet>({0})",
        _math.BatchedDiag: "<diagonals>({0})",
        _multivariate.PosDefMatrix: "<definite>({0})",
    },
    logdet=_log_determinant,
    diagonals=_diagonal_matrices,
    definite=_is_positive_definite,
)


@tapegrad_funcify.register(_distributions.SplineWrapper)
def _spline(op: Any, **_: Any) -> Any:
    """Return the function of SciPy's univariate spline; outside of its knots it is as `ext` says."""
    spline = op.spline
    t, c, k = spline._eval_args  # noqa: SLF001  FITPACK's knots, coefficients and degree, which have no public name
    curve, low, high, outside = BSpline(t, c, k), t[k], t[-k - 1], spline.ext
    if outside not in (0, 1, 3):
        raise NotImplementedError(
            f"tapegrad.interop: {op} has ext={outside}, which raises an error outside of the knots; a recording has no"
            " such errors: pass ext='zeros' or ext='const' to the spline"
        )

    def value(x: Any) -> Any:
        if outside == 0:
            return curve(x)
        found = curve(np.clip(x, low, high))
        return np.where((x >= low) & (x <= high), found, 0.0) if outside == 1 else found

    return value
