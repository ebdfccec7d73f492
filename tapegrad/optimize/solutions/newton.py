"""Newton's method with exact Jacobians, and shorter steps where the residual would grow, as one loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.tensor.modes import errstate
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.jacobians.jacobian import jacobian

_MIN_SCALE = 2.0**-20  # of a step, relative to Newton's

Function = Callable[[Any], Any]


def newton(fun: Function, x0: Any, xtol: float, maxiter: int) -> tuple[Any, dict[str, Any]]:
    """Return a root of a function of vectors, and a report.

    An iteration evaluates the function and its Jacobian at the end of a step. The step is accepted if the largest
    residual has become smaller, otherwise it is halved. A full step of a relative size up to `xtol` is the last one: it
    leaves an error of the order of ``xtol**2``.
    """

    def improved(state: Any) -> Any:
        count, x, r, direction, scale, size, _ = state
        step = scale * direction
        end = x - step
        own = fun(end)
        own_size = np.max(abs(own))
        with errstate("nan"):  # of a singular Jacobian: the search ends
            following = solve(jacobian(fun)(end), own)
        is_small = np.max(abs(step)) <= xtol * np.maximum(np.max(abs(end)), xtol)
        is_last = (own_size == 0) | (is_small & (scale == 1) & (count > 0) & np.isfinite(own_size))
        accepted = (own_size < size) | is_last
        return (
            count + 1.0,
            np.where(accepted, end, x),
            np.where(accepted, own, r),
            np.where(accepted, following, direction),
            np.where(accepted, 1.0, scale / 2),
            np.where(accepted, own_size, size),
            np.where(is_last, 1.0, 0.0),
        )

    def goes_on(state: Any) -> Any:
        count, _, _, direction, scale, _, found = state
        is_usable = (scale >= _MIN_SCALE) & np.isfinite(np.sum(direction))
        return (found == 0) & (count < maxiter) & is_usable

    none, zero = x0 * 0, np.zeros(())
    begin = zero, x0, none, none, zero + 1, zero + np.inf, zero
    count, x, r, _, _, _, found = repeated(goes_on, improved, begin)
    return x, {"success": found > 0, "nfev": count, "njev": count, "nit": count, "fun": r}
