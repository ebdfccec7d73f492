"""`ode`: right-hand sides of differential equations, with Jacobians, for SciPy and for solvers in C."""

from collections.abc import Callable
from typing import Any

from tapegrad.interop.c_function import CFunction
from tapegrad.transforms.compiled.compiled import compile
from tapegrad.transforms.jacobians.jacobian import jacobian


class RightHandSide:
    """The right-hand side of ``dy/dt = f(t, y, *args)``; made by `ode`.

    Attributes
    ----------
    compiled, jac
        It and its Jacobian by `y`, both compiled, which take ``(t, y, *args)``.
    """

    def __init__(self, function: Callable[..., Any], example: tuple[Any, ...]) -> None:
        self.compiled = compile(function, example)
        self.jac = compile(jacobian(function, 1), example)

    def __call__(self, t: float, y: Any, *args: Any) -> Any:
        return self.compiled(t, y, *args)

    def cfunc(self, signature: str = "numbalsoda") -> CFunction:
        """Make a C function pointer of it, as `Compiled.cfunc` does."""
        found: CFunction = self.compiled.cfunc(signature)
        return found


def ode(function: Callable[..., Any], t0: float, y0: Any, *args: Any) -> RightHandSide:
    """Compile the right-hand side of a differential equation and its Jacobian.

    Parameters
    ----------
    function : callable
        ``function(t, y, *args)``, which returns the derivative of `y`, an array of the same shape.
    t0 : float
        An example of the time.
    y0 : array
        An example of the state, a vector of float64.
    *args : arrays and floats
        Examples of further arguments, such as parameters.

    Returns
    -------
    RightHandSide
        A callable for `scipy.integrate.solve_ivp`, with its Jacobian as `jac`, and C pointers by `cfunc`: that of
        numbalsoda is ``.cfunc().address``. Keep the pointer as long as the address is used.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> from scipy.integrate import solve_ivp
    >>> decay = tg.interop.ode(lambda t, y, k: -k * y, 0.0, np.ones(2), 3.0)
    >>> solution = solve_ivp(decay, (0, 1), np.ones(2), "Radau", jac=decay.jac, args=(3.0,), rtol=1e-8, atol=1e-8)
    >>> np.round(solution.y[:, -1], 6)
    array([0.049787, 0.049787])
    """
    return RightHandSide(function, (float(t0), y0, *args))
