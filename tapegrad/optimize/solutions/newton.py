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
    residual has become smaller, otherwise it is halved. The first step of a relative size up to `xtol` is the last one,
    and nothing is evaluated behind it: it leaves an error of the order of ``xtol**2``.
    """

    def improved(state: Any) -> Any:
        count, x, direction, scale, size, _ = state
        end = x - scale * direction
        residual = fun(end)
        own_size = np.max(abs(residual))
        with errstate("nan"):  # of a singular Jacobian: the search ends
            step = solve(jacobian(fun)(end), residual)
        accepted = own_size < size
        is_small = np.max(abs(step)) <= xtol * np.maximum(np.max(abs(end)), xtol)
        is_last = (accepted & is_small) | (own_size == 0)
        return (
            count + 1.0,
            np.where(is_last, end - np.where(own_size == 0, 0.0, step), np.where(accepted, end, x)),
            np.where(accepted, step, direction),
            np.where(accepted, 1.0, scale / 2),
            np.where(accepted, own_size, size),
            np.where(is_last, 1.0, 0.0),
        )

    def goes_on(state: Any) -> Any:
        count, _, direction, scale, _, found = state
        is_usable = (scale >= _MIN_SCALE) & np.isfinite(np.sum(direction))
        return (found == 0) & (count < maxiter) & is_usable

    zero = np.zeros(())
    begin = zero, x0, x0 * 0, zero + 1, zero + np.inf, zero
    count, x, _, _, _, found = repeated(goes_on, improved, begin)
    return x, {"success": found > 0, "nfev": count, "njev": count, "nit": count, "fun": fun(x)}
