"""`odeint`: initial value problems with the arguments of SciPy's older function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.integrate.arguments import plain
from tapegrad.integrate.outputs import outputs, reached
from tapegrad.integrate.solve import integration_of
from tapegrad.loops.carry import leaf_of, real_leaf_of
from tapegrad.transforms.stop_gradient import stop_gradient

_TOLERANCE = 1.49012e-8  # SciPy's, the root of the rounding error


@hides_frames
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    tfirst: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    method: str = "RK45",
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)``, with the arguments of `scipy.integrate.odeint`.

    Parameters
    ----------
    func : callable
        Takes state, time and `args`; returns the slope.
    y0 : array_like or Tensor, shape (n,)
        The state at ``t[0]``; a number for one equation.
    t : array_like or Tensor, shape (m,)
        Times of the results, increasing or decreasing; they may be repeated. The first one is the begin.
    args : tuple, optional
        Further arguments of `func`.
    tfirst : bool, default False
        Whether `func` takes the time first.
    rtol, atol : float or array_like, shape (n,), optional
        Tolerances, by default 1.49012e-8.
    method : str, default "RK45"
        As in `solve_ivp`. SciPy's function changes between methods for stiff and other problems; for stiff
        ones write "Rodas5P" or "Radau".

    Returns
    -------
    array or Tensor, shape (m, n)
        The states. What was not reached is nan, as where a solution has no end; derivatives by it raise.

    See Also
    --------
    solve_ivp : The solver, with notes on its derivatives.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def fall(y, t, gravity):
    ...     return [y[1], -gravity]
    >>> tg.integrate.odeint(fall, [0.0, 10.0], np.array([0.0, 1.0, 2.0]), args=(9.81,))
    array([[ 0.   , 10.   ],
           [ 5.095,  0.19 ],
           [ 0.38 , -9.62 ]])
    """
    check_function("odeint", func)
    t, y0 = real_leaf_of(t, "odeint: t"), leaf_of(y0)
    if t.ndim != 1 or t.size == 0:
        raise ValueError(f"odeint: t has shape {t.shape}, but must have one dimension and an element")
    steps = np.diff(stop_gradient(t))
    if np.any(steps > 0) and np.any(steps < 0):
        raise ValueError("odeint: values of t must increase, or decrease; they may be repeated")
    y0 = y0.reshape(1) if y0.ndim == 0 else y0

    def fun(t: Any, y: Any, *args: Any) -> Any:
        return func(t, y, *args) if tfirst else func(y, t, *args)

    integration, times = integration_of(
        fun, (t[0], t[-1]), y0, method, t, args if isinstance(args, tuple) else (args,),
        _TOLERANCE if rtol is None else rtol, _TOLERANCE if atol is None else atol, may_repeat=True,
    )  # fmt: skip
    last, ys = outputs(integration, times)
    return plain(reached(times, ys, last))
